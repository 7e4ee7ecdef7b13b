"""What the doctor says without a server: every fault is named, with what to do about it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from tacit.cli import execute
from tacit.deployment.doctor import (
    diagnose_machine,
    diagnose_server,
    diagnose_server_quickly,
    diagnose_site,
    diagnose_site_quickly,
    finding,
)
from tacit.deployment.site.site_folder import LEDGER, POLICY, SETTINGS, SiteSettings, create_site
from tacit.deployment.transport import certificates
from tacit.privacy.policy import Limits, SiteLedger
from tacit.privacy.policy.starter import render_policy

NOBODY = "127.0.0.1:9"


@pytest.fixture
def site(tmp_path) -> Path:
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n")
    rows.chmod(0o600)
    folder = tmp_path / "a"
    create_site(folder, SiteSettings(name="a", data=str(rows), server=NOBODY, client="a"))
    (folder / POLICY).write_text(render_policy(POLICY, None))
    SiteLedger(folder / LEDGER, limits=Limits(), delta=1e-5).close()
    return folder


def states(found) -> dict[str, str]:
    return {one.subject: one.state for one in found}


def test_a_site_that_is_well_but_alone(site) -> None:
    found = states(diagnose_site(site))
    assert {what for what, state in found.items() if state == "problem"} == {"server"}
    assert {what for what, state in found.items() if state == "warning"} <= {
        "clock",
        "joined",
        "disk",
        "peers",
    }


def test_a_site_that_knows_no_other_site_hears_what_it_refuses(site) -> None:
    alone = next(one for one in diagnose_site(site) if one.subject == "peers")
    assert (
        alone.state,
        "refuses plans with secure aggregation" in alone.detail,
        "tacit site confirm" in alone.remedy,
    ) == ("warning", True, True)
    with (site / SETTINGS).open("a") as file:
        file.write(f'b = "{"0" * 64}"\n')
    assert (
        next(one for one in diagnose_site(site) if one.subject == "peers").detail
        == "knows the keys of b"
    )
    text = (site / SETTINGS).read_text()
    (site / SETTINGS).write_text('helpers = ["b", "z"]\n' + text)
    strange = next(one for one in diagnose_site(site) if one.subject == "peers")
    assert (strange.state, "names z, which [peers] lacks" in strange.detail) == ("problem", True)


FAULTS = {
    "node.key": lambda site: (site / "node.key").chmod(0o644),
    "secret": lambda site: (site / "secret").unlink(),
    "policy": lambda site: (site / POLICY).unlink(),
    "clients": (
        lambda site: (site / "site.toml").write_text(
            (site / "site.toml").read_text().replace("client =", "# client =")
        )
    ),
    "rows": lambda site: (site.parent / "rows.csv").unlink(),
    "ledger": lambda site: (site / LEDGER).write_bytes(b"no ledger at all" * 100),
    "settings": lambda site: (site / "site.toml").write_text("name = 3"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_faults_of_a_site(site, what) -> None:
    FAULTS[what](site)
    told = [one for one in diagnose_site(site) if one.subject == what and one.state == "problem"]
    assert told
    assert all(one.remedy for one in told)


def test_a_server_that_was_not_started(tmp_path) -> None:
    certificates.make_authority(tmp_path)
    certificates.make_server_certificate(tmp_path, ["tacit.example.org"])
    found = list(diagnose_server(tmp_path))
    assert not [one for one in found if one.state == "problem" and one.subject != "disk"]
    assert any("tacit.example.org" in one.detail for one in found if one.subject == "chain")
    (tmp_path / "ca.key").unlink()
    certificates.make_authority(tmp_path)
    assert states(diagnose_server(tmp_path))["chain"] == "problem"
    (tmp_path / "server.crt").unlink()
    assert states(diagnose_server(tmp_path))["server.crt"] == "problem"


def test_a_server_whose_process_is_gone(tmp_path) -> None:
    certificates.make_authority(tmp_path)
    certificates.make_server_certificate(tmp_path, [])
    (tmp_path / "link.json").write_text(
        json.dumps({"host": "127.0.0.1", "port": 9, "tls": True, "pid": 2**22 + 1})
    )
    found = states(diagnose_server(tmp_path))
    assert (found["port"], found["response"], found["clock"]) == ("problem", "problem", "warning")


def test_certificates_end(tmp_path, monkeypatch) -> None:
    certificates.make_authority(tmp_path)

    now = datetime.now(UTC)
    for days, state in (
        (0, "ok"),
        (5 * 365 - 5, "warning"),
        (5 * 365 + 1, "problem"),
        (-1, "problem"),
    ):
        then = SimpleNamespace(now=lambda _, days=days: now + timedelta(days=days))
        monkeypatch.setattr(finding, "datetime", then)
        assert finding.check_certificate(tmp_path / "ca.crt", "make it anew")[1].state == state


def test_clocks() -> None:
    assert [finding.check_clock(offset).state for offset in (None, 0.4, -3.0, 60.0)] == [
        "warning",
        "ok",
        "warning",
        "problem",
    ]


def test_versions(monkeypatch) -> None:
    from tacit.deployment.doctor import machine

    assert states(diagnose_machine())["python"] == "ok"
    monkeypatch.setattr(machine, "version", lambda package: "1.0.0")
    monkeypatch.setattr(
        machine, "requires", lambda package: ["numpy>=2", "flwr==1.41.0; extra == 'site'"]
    )
    (one,) = [one for one in diagnose_machine() if one.subject == "flwr"]
    assert (one.state, one.detail) == ("problem", "version 1.41.0 is required, 1.0.0 is installed")


def test_the_command(site, capsys) -> None:
    assert execute(["site", "doctor", str(site), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {one["of"] for one in found["findings"]} == {"machine", "site"}
    assert found["error"]["kind"] == "Missed"
    assert found["error"]["exit_code"] == 1
    assert execute(["site", "doctor", str(site)]) == 1
    assert "cannot be reached" in capsys.readouterr().out


def test_quick_is_a_problem_only_if_nothing_runs(site, monkeypatch) -> None:
    from tacit.deployment.doctor import site as module

    found = states(diagnose_site_quickly(site))
    assert found["joined"] == "problem"
    assert not {"server", "ledger", "rows", "policy"} & set(found)
    monkeypatch.setattr(module, "find_joined_process", lambda folder: 7)
    assert set(states(diagnose_site_quickly(site)).values()) <= {"ok", "warning"}
    (site / "secret").chmod(0o644)
    assert states(diagnose_site_quickly(site))["secret"] == "problem"


def test_quick_of_a_server_that_was_not_started(tmp_path) -> None:
    certificates.make_authority(tmp_path)
    certificates.make_server_certificate(tmp_path, [])
    found = states(diagnose_server_quickly(tmp_path))
    assert found["port"] == "problem"
    assert not {"response", "clock", "sites"} & set(found)
