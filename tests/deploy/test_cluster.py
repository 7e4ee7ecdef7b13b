"""The examples for Ray clusters: a token everywhere, no open port, and scripts that parse and run."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.dockerfile import ROOT

FOLDER = ROOT / "deploy" / "cluster"
KUBERAY: dict[str, dict[str, Any]] = {
    each["kind"]: each for each in yaml.safe_load_all((FOLDER / "kuberay.yaml").read_text())
}


def list_pods() -> list[dict[str, Any]]:
    spec = KUBERAY["RayCluster"]["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    assert all(one["template"]["metadata"]["labels"] == {"app": "tacit-cluster"} for one in groups)
    return [one["template"]["spec"] for one in groups]


def test_the_cluster_has_a_token_and_no_dashboard() -> None:
    spec = KUBERAY["RayCluster"]["spec"]
    assert spec["authOptions"] == {"mode": "token"}
    assert tuple(map(int, spec["rayVersion"].split("."))) >= (2, 52, 0)
    assert spec["headGroupSpec"]["rayStartParams"]["include-dashboard"] == "false"


def test_only_pods_of_the_cluster_and_the_operator_reach_it() -> None:
    policy = KUBERAY["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == {"app": "tacit-cluster"}
    (rule,) = policy["ingress"]
    assert [set(one) for one in rule["from"]] == [
        {"podSelector"},
        {"namespaceSelector", "podSelector"},
    ]


def test_pods_have_no_rights_and_as_many_cores_as_ray_is_told() -> None:
    spec = KUBERAY["RayCluster"]["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for pod, group in zip(list_pods(), groups, strict=True):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"]
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["resources"]["limits"]["cpu"] == group["rayStartParams"]["num-cpus"]
        names = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == names
        rows = next(mount for mount in container["volumeMounts"] if mount["name"] == "rows")
        assert rows["readOnly"]


STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $* mode=${RAY_AUTH_MODE:-} token=$(cat "${RAY_AUTH_TOKEN_PATH:-/dev/null}" | wc -c)" >>"$LOG"
"""
SRUN = """#!/usr/bin/env bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""


def write_command(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_slurm_script_starts_each_node_with_one_token_and_resumes(tmp_path: Path) -> None:
    commands, venv, log = tmp_path / "commands", tmp_path / "venv" / "bin", tmp_path / "log"
    for name in ("ray", "tacit"):
        write_command(venv, name, STUB)
    write_command(venv, "python", '#!/usr/bin/env bash\nprintf "%064d" 1\n')
    write_command(commands, "srun", SRUN)
    write_command(commands, "scontrol", "#!/usr/bin/env bash\nprintf 'n1\\nn2\\nn3\\n'\n")
    write_command(commands, "hostname", "#!/usr/bin/env bash\necho 10.0.0.1\n")
    write_command(commands, "sleep", "#!/usr/bin/env bash\n/bin/sleep 0.1\n")
    environment = {
        **os.environ,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LOG": str(log),
        "TACIT_VENV": str(venv.parent),
        "TACIT_RUNS": str(tmp_path / "runs"),
        "SLURM_JOB_NODELIST": "n[1-3]",
        "SLURM_CPUS_PER_TASK": "16",
    }
    run = [str(FOLDER / "slurm.sh"), "plan.toml"]
    subprocess.run(run, env=environment, check=True, cwd=tmp_path)
    lines = sorted(log.read_text().splitlines())
    assert all(line.endswith("mode=token token=64") for line in lines)
    assert lines[0].startswith("ray start --address=10.0.0.1:6379 --num-cpus=16")
    assert lines[1].startswith("ray start --head --node-ip-address=10.0.0.1 --port=6379")
    assert "tacit run plan.toml" in lines[2]
    assert "--cluster 10.0.0.1:6379" in lines[2]
    assert not list(tmp_path.glob(".tacit-ray-*")), "the token is gone"
    (tmp_path / "runs" / "plan-1").mkdir(parents=True)
    subprocess.run(run, env=environment, check=True, cwd=tmp_path)
    assert f"tacit resume {tmp_path}/runs/plan-1 --cluster" in log.read_text()
