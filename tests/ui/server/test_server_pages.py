"""The pages of a server: sites, deployments, stragglers, refusals; and attacks on them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from tacit.deployment.access.run_registry import CoordinatedRun
from tacit.runs.record import Prepared, Refused, SiteMissing
from tacit.ui.server.pages import build_server_pages
from tests.report import made_up
from tests.ui.served import FORM, build_client

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}"
SECRET = "a secret of another folder"


def write_record(root: Path, name: str, *, evil: str = "north") -> Path:
    """A deployment of three rounds in which a site was late twice."""
    entries = [
        replace(one, sites=3) if isinstance(one, Prepared) else one
        for one in made_up.record(rounds=3)
    ]
    late = SiteMissing(
        arm="run", round_no=2, exchange="train", site=evil, cause="late", reason=evil, seconds=4.0
    )
    odd = replace(late, cause=evil)
    refused = Refused(arm="run", round_no=1, exchange="train", sender="south", reason=evil)
    return made_up.folder(root, [*entries, late, late, odd, refused], name)


def write_coordinated(
    server: Path, name: str, coordinator: str = "ana", *, evil: str = "north"
) -> None:
    folder = write_record(server / "coordinated_runs", name, evil=evil)
    one = CoordinatedRun(
        run=name, coordinator=coordinator, opened="2026-11-18T10:00:00Z",
        changed="2026-11-18T11:00:00Z", state="open",
    )  # fmt: skip
    (folder / "run.json").write_bytes(msgspec.json.encode(one))


@pytest.fixture
def server(tmp_path: Path) -> Path:
    folder = tmp_path / "server"
    folder.mkdir()
    facts = {"public_key": "ssh-key A", "node_id": "7"}
    registry = {
        "north": facts,
        "south": {**facts, "node_id": "8", "revoked": "2026-11-01T00:00:00Z"},
    }
    (folder / "sites.json").write_text(json.dumps(registry))
    write_coordinated(folder, "sepsis-1")
    own = write_record(tmp_path / "runs", "own-1")
    (own / "deployment.json").write_text("{}")
    write_record(tmp_path / "runs", "simulated-1")
    return folder


def connect(server: Path) -> TestClient:
    return build_client(build_server_pages(server, server.parent / "runs"))[0]


def test_sites_deployments_rounds_stragglers_and_refusals(server: Path) -> None:
    client = connect(server)
    page = client.get("/").text
    for words in (
        "north",
        "revoked",
        "sepsis-1",
        "ana",
        "own-1",
        "this machine",
        "3 of 3",
        "late 4",
    ):
        assert words in page, words
    assert "simulated-1" not in page, "a simulation is no deployment"
    assert f"tacit server sites {server}" in page
    assert 'role="alert"' in page, "the server does not run, and the page says so"
    for place, name in (("server", "sepsis-1"), ("here", "own-1")):
        shown = client.get(f"/deployments/{place}/{name}")
        assert shown.status_code == 200
        assert "Refused messages and missing sites" in shown.text
        assert "/resume" not in shown.text


def test_names_in_records_are_text(server: Path) -> None:
    write_coordinated(server, "evil-1", EVIL, evil=EVIL)
    client = connect(server)
    for path in ("/", "/deployments/server/evil-1"):
        text = client.get(path).text
        for wrong in ("<script>alert", "<img", "49<", "onerror=alert(1)>{"):
            assert wrong not in text, (path, wrong)


@pytest.mark.parametrize(
    "path",
    [
        *("server/..%2f..%2fsecret", "server/%2e%2e", "here/simulated-1", "here/.hidden"),
        *("elsewhere/sepsis-1", "server/a%00b", "server/linked", "here/" + "a" * 5000),
    ],
)
def test_no_path_leads_to_anything_but_deployments(server: Path, path: str) -> None:
    outside = write_record(server.parent / "outside", "other")
    (outside / "plan.toml").write_text(SECRET)
    (server / "coordinated_runs" / "linked").symlink_to(outside)
    client = connect(server)
    for page in ("", "/events"):
        answer = client.get(f"/deployments/{path}{page}")
        assert answer.status_code == 404, path
        assert SECRET not in answer.text


def test_the_pages_change_nothing(server: Path) -> None:
    client = connect(server)
    before = {one: one.stat().st_mtime_ns for one in server.parent.rglob("*") if one.is_file()}
    for path in ("/", "/deployments/server/sepsis-1", "/deployments/here/own-1"):
        assert client.get(path).status_code == 200
        assert client.post(path, headers=FORM, data={"a": "1"}).status_code == 405
    after = {one: one.stat().st_mtime_ns for one in server.parent.rglob("*") if one.is_file()}
    assert before == after
    stranger, _, _ = build_client(build_server_pages(server, server.parent / "runs"), log_in=False)
    assert stranger.get("/").status_code == 303
    assert stranger.get("/", headers={"host": "evil.example"}).status_code == 421
