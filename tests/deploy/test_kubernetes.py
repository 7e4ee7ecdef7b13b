"""The Kubernetes manifests: they parse, refer to what they define, and ask for no rights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.deploy.dockerfile import ROOT, read_stages
from tests.deploy.test_files import has_command

FOLDER = ROOT / "deploy" / "kubernetes"
ALL: list[dict[str, Any]] = [
    each for path in sorted(FOLDER.glob("*.yaml")) for each in yaml.safe_load_all(path.read_text())
]
VERSIONS = {
    "Service": "v1",
    "Pod": "v1",
    "PersistentVolumeClaim": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "StatefulSet": "apps/v1",
}


def list_pods() -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Name and specification of each pod, with the claims that its template makes."""
    for each in ALL:
        if each["kind"] == "Pod":
            yield each["metadata"]["name"], each["spec"], []
        elif each["kind"] == "StatefulSet":
            spec = each["spec"]
            yield (
                each["metadata"]["name"],
                spec["template"]["spec"],
                spec.get("volumeClaimTemplates", []),
            )


PODS = {name: (spec, claims) for name, spec, claims in list_pods()}


@pytest.mark.parametrize("each", ALL, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_kinds_and_versions(each: dict[str, Any]) -> None:
    assert each["apiVersion"] == VERSIONS[each["kind"]]
    assert set(each) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(each["metadata"]) <= {"name", "labels"}


def test_names_are_unique() -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in ALL]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_no_rights(name: str) -> None:
    spec, _ = PODS[name]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "fsGroup": 10001,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


@pytest.mark.parametrize("name", PODS)
def test_every_volume_is_defined_and_none_is_of_the_node(name: str) -> None:
    spec, claims = PODS[name]
    defined = {each["name"]: each for each in spec["volumes"]}
    assert not any("hostPath" in each for each in defined.values())
    known = set(defined) | {each["metadata"]["name"] for each in claims}
    (container,) = spec["containers"]
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert {each["name"] for each in mounts.values()} == known
    assert {*read_stages()["site"].volumes, "/tmp"} <= set(mounts)
    assert all(mounts[place].get("readOnly") for place in mounts if place.endswith("/data"))


@pytest.mark.parametrize("name", ["tacit-server", "tacit-site"])
def test_services_start_and_are_probed_with_commands_that_exist(name: str) -> None:
    spec, _ = PODS[name]
    (container,) = spec["containers"]
    assert has_command([str(word) for word in container["args"]])
    probes = [container[key] for key in ("startupProbe", "livenessProbe")]
    commands = [probe["exec"]["command"] for probe in probes if "exec" in probe]
    assert commands
    for command in commands:
        assert command[0] == "tacit"
        assert command[-1] == "--quick"
        assert has_command(command[1:])
    ports = {each["name"]: each["containerPort"] for each in container.get("ports", [])}
    assert all(probe["tcpSocket"]["port"] in ports for probe in probes if "tcpSocket" in probe)


def test_selectors_find_their_pods() -> None:
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in ALL
        if each["kind"] == "StatefulSet"
    }
    for each in ALL:
        spec, wanted = each["spec"], labels.get(each["metadata"]["name"])
        if each["kind"] in ("Service", "StatefulSet", "NetworkPolicy"):
            selector = spec.get("podSelector", spec.get("selector"))
            assert selector.get("matchLabels", selector) == wanted


def test_one_process_owns_a_folder() -> None:
    sets = [each["spec"] for each in ALL if each["kind"] == "StatefulSet"]
    assert all(spec["replicas"] <= 1 for spec in sets)


def test_a_site_accepts_no_connection() -> None:
    (policy,) = [
        each["spec"]
        for each in ALL
        if each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == "tacit-site"
    ]
    assert policy["ingress"] == []
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}


def test_the_servers_certificate_is_for_the_name_of_its_service() -> None:
    spec, _ = PODS["tacit-server"]
    words = spec["containers"][0]["args"]
    assert words[words.index("--name") + 1] == "tacit-server"
