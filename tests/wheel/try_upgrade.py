"""Two versions of Tacit, each from its wheel, as server and as sites of each other. `make test-upgrade` runs this.

The newer one is a copy of this repository with a higher version, one more plan key and, in one case, another default. Each
case runs over TLS between separate processes: it trains a model, or ends with one clear sentence. Nothing is downloaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.network import Machine
from tests.deploy.three_sites import PLAN, provision
from tests.deploy.walk import Walk, WalkError

ROOT = Path(__file__).resolve().parents[2]
NEWER = "99.0.0"
SHORT = PLAN.replace("900", "600")
CENTRAL = SHORT.partition("[secure_aggregation]")[0]
USING = SHORT + "\n[ledger]\nnovelty = 3\n"
_KEY = '    novelty: int = 0\n    """Not known to older versions."""\n'


@dataclass(frozen=True)
class Case:
    """Who runs which version, with which plan, and what is printed in the end (empty: a model is trained)."""

    title: str
    server: str
    sites: str
    plan: str
    says: str = ""


CASES = [
    Case("old server, new sites", "old", "new", CENTRAL),
    # Sites agree on every setting before they aggregate securely, and an older server does not state all.
    Case("old server, new sites, secure aggregation", "old", "new", SHORT, f"Tacit {NEWER} here"),
    Case("new server, old sites", "new", "old", SHORT),
    Case("new server, old sites, a new key", "new", "old", USING, f"Tacit {NEWER} needed"),
    Case("old server, new sites, a new key", "old", "new", USING, "ledger.novelty: unknown key"),
    Case("another default at the server", "changed", "old", SHORT, f"Tacit {NEWER} needed"),
]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path} has changed: this script looks for {old!r}"
    path.write_text(text.replace(old, new, 1))


def copy_sources(folder: Path) -> Path:
    """Copy what a wheel is made of."""
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copytree(
        ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    return folder


def make_newer(folder: Path, *, other_default: bool) -> Path:
    """Copy the repository and give it a higher version and one more plan key, or another default."""
    source = copy_sources(folder)
    version = next(
        line
        for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.startswith("version")
    )
    edit(source / "pyproject.toml", version, f'version = "{NEWER}"')
    tables = source / "src" / "tacit" / "plan" / "tables"
    edit(tables / "ledger.py", "    delta: ", f"{_KEY}    delta: ")
    if other_default:
        edit(tables / "ledger.py", "= 1e-5", "= 1e-6")
    return source


def install(source: Path, target: Path) -> None:
    """Build the wheel of a copy and unpack it into a folder; what it needs comes from this environment."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels = source.parent / f"wheel-{source.name}"
    words = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source)]
    subprocess.run([*pip, *words], check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)


def try_case(case: Case, installed: dict[str, Path], folder: Path, port: int) -> bool:
    """Return whether a case ends as it should, and print it."""
    names = ["hospital-a", "hospital-b"]
    machines = {name: Machine(name, folder / name) for name in ("server", *names)}
    for machine in machines.values():
        machine.folder.mkdir(parents=True)
    walk = Walk(quiet=True)
    walk.environment = {
        "server": {"PYTHONPATH": str(installed[case.server])},
        "": {"PYTHONPATH": str(installed[case.sites])},
    }
    server = machines["server"]
    try:
        provision(walk, server, [machines[name] for name in names], "127.0.0.1", port)
        (server.folder / "plan.toml").write_text(case.plan)
        said = walk.run(
            server, "coordinator", "deploy", "run", "plan.toml", "--quiet", "--no-report"
        )
    except WalkError as error:
        said = str(error)
    finally:
        walk.stop()
    is_trained = (server.folder / "runs" / "readmissions-1" / "model.safetensors").exists()
    is_right = (case.says in said and not is_trained) if case.says else is_trained
    print(
        f"{'ok  ' if is_right else 'FAIL'} {case.title}: {'a model' if is_trained else said.strip().splitlines()[-1]}",
        flush=True,
    )
    if not is_right:
        print(said)
    return is_right


def main() -> int:
    """Try every case; return 1 if one ends otherwise."""
    with tempfile.TemporaryDirectory(prefix="tacit-upgrade-") as name:
        root = Path(name)
        sources = {
            "old": copy_sources(root / "old"),
            "new": make_newer(root / "new", other_default=False),
            "changed": make_newer(root / "changed", other_default=True),
        }
        installed = {version: root / f"installed-{version}" for version in sources}
        for version, source in sources.items():
            install(source, installed[version])
        found = [
            try_case(case, installed, root / f"case-{number}", 18_500 + number)
            for number, case in enumerate(CASES)
        ]
    return int(not all(found))


if __name__ == "__main__":
    sys.exit(main())
