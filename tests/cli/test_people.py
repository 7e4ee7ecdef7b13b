"""People on other machines by their commands: connect, admit, list, revoke, renew; and what a role may not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from tests.cli.made_up import PLAN, tacit
from tests.deployment.access.people_of_a_server import Server, running_server

Capture = pytest.CaptureFixture[str]
FINGERPRINT = re.compile(r"((?:[0-9a-f]{4} ){15}[0-9a-f]{4})")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("people")) as made:
        yield made


@pytest.fixture
def here(server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(server.base)
    return server.base


def connect(server: Server, capsys: Capture, name: str, role: str, by: str = "server") -> None:
    """Let a person get access by the commands of both sides."""
    words = ("--role", role, "--folder", by, "--address", server.place.address)
    said = tacit(capsys, "server", "invite", name, *words)
    assert said.code == 0, said.err
    (own,) = FINGERPRINT.findall(said.out)
    wrong = tacit(capsys, "server", "connect", f"{name}.invite", "--fingerprint", "0" * 64)
    assert wrong.code == 5
    assert not Path(name).exists()
    said = tacit(capsys, "server", "connect", f"{name}.invite", "--fingerprint", own)
    assert said.code == 0, said.err
    theirs = FINGERPRINT.findall(said.out)[-1]
    words = (f"{name}/{name}.request", "--folder", by, "--fingerprint", theirs)
    said = tacit(capsys, "server", "admit", *words)
    assert (said.code, "is admitted" in said.out) == (0, True), said.err


def test_people_by_their_commands(server: Server, here: Path, capsys: Capture) -> None:
    connect(server, capsys, "olga", "operator")
    connect(server, capsys, "ana", "coordinator", by="olga")
    connect(server, capsys, "udo", "auditor", by="olga")
    listed = json.loads(tacit(capsys, "server", "people", "olga", "--json").out)
    assert {one["name"]: one["role"] for one in listed["people"]} == {
        "olga": "operator",
        "ana": "coordinator",
        "udo": "auditor",
    }
    assert json.loads(tacit(capsys, "server", "people", "--json").out) == listed
    assert json.loads(tacit(capsys, "server", "sites", "udo", "--json").out)["sites"] == []
    assert json.loads(tacit(capsys, "server", "runs", "udo", "--json").out)["runs"] == []
    assert tacit(capsys, "server", "certs", "renew", "udo", "--own").code == 0
    assert "kept" in tacit(capsys, "server", "certs", "renew", "olga").out
    doctor = tacit(capsys, "server", "doctor", "udo", "--json")
    states = {one["subject"]: one["state"] for one in json.loads(doctor.out)["findings"]}
    assert states["admission"] == states["client.crt"] == states["server"] == "ok"


def test_what_a_role_may_not(server: Server, here: Path, capsys: Capture) -> None:
    server.admit("noa", "auditor")
    server.admit("cem", "coordinator")
    (here / "plan.toml").write_text(PLAN)
    for words in (
        ("deploy", "run", "plan.toml", "--folder", "noa", "--quiet"),
        ("deploy", "stop", "r-1", "--folder", "noa"),
        ("server", "admit", "noa/noa.request", "--folder", "cem", "--fingerprint", "0" * 64),
        ("server", "revoke", "noa", "--folder", "cem"),
        ("server", "people", "cem"),
        ("server", "certs", "renew", "cem"),
    ):
        said = tacit(capsys, *words)
        assert said.code == 5, (words, said.err)
    assert not (here / "runs").exists() or not list((here / "runs").iterdir())
    said = tacit(capsys, "server", "people", "noa", "--json")
    error = json.loads(said.out)["error"]
    assert error["kind"] == "AccessError"
    assert error["message"] == "this needs the role operator; noa is admitted as auditor"


def test_revoke_and_restore(server: Server, here: Path, capsys: Capture) -> None:
    server.admit("rob", "auditor")
    assert tacit(capsys, "server", "revoke", "rob").code == 0
    said = tacit(capsys, "server", "runs", "rob")
    assert (said.code, "was revoked on" in said.err) == (5, True)
    assert tacit(capsys, "server", "restore", "rob").code == 0
    assert tacit(capsys, "server", "runs", "rob").code == 0
    log = server.read_log()
    assert "server's machine (operator) from this machine: revoke rob allowed" in log
    assert "rob (auditor) from 127.0.0.1: list-runs refused, the access of rob was revoked" in log


def test_an_invitation_of_a_person_is_not_for_a_site(
    server: Server, here: Path, capsys: Capture
) -> None:
    assert tacit(capsys, "server", "invite", "pia", "--role", "auditor").code == 0
    (here / "rows.csv").write_text("a,b\n1,2\n")
    words = ("--invite", "pia.invite", "--data", "rows.csv", "--one-client")
    said = tacit(capsys, "site", "init", "pia", *words)
    assert (said.code, "tacit server connect" in said.err) == (5, True)
    assert tacit(capsys, "server", "invite", "x", "--role", "king").code == 2
