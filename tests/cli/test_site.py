"""tacit site init and status: whose privacy is protected must be said, and everything that left is shown."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from tacit.deployment.site.site_folder import LEDGER, read_site_settings
from tacit.privacy.policy import Limits, PrivacyUnit, RowToRelease, SharePolicy, SiteLedger
from tests.cli.made_up import tacit

Capture = pytest.CaptureFixture[str]
INIT = ("site", "init", "hospital", "--data", "patients.csv", "--server", "localhost:1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    words = [
        "pain chest fever cough nausea",
        "stroke asthma ulcer gout lupus",
        "sepsis fracture rash cold flu",
    ]
    rows = {
        "patient_id": [f"p{number // 2}" for number in range(600)],
        "note": [f"{words[number % 3]} {words[number % 2]}" for number in range(600)],
        "age": [20 + number % 60 for number in range(600)],
        "ward": [f"w{number % 7}" for number in range(600)],
        "readmitted": [("yes", "no")[number // 7 % 2] for number in range(600)],
    }
    pl.DataFrame(rows).write_csv(tmp_path / "patients.csv")
    return tmp_path


@pytest.mark.parametrize("words", [(), ("--client", "patient_id", "--one-client")])
def test_who_a_client_is_must_be_said(capsys: Capture, words: tuple[str, ...]) -> None:
    said = tacit(capsys, *INIT, *words)
    assert said.code == 2
    assert "tacit site init takes either --client COLUMN" in said.err
    assert not Path("hospital").exists()


def test_it_is_written_into_the_settings(capsys: Capture) -> None:
    words = (
        "--client",
        "patient_id",
        "--quasi-identifier",
        "age",
        "--quasi-identifier",
        "ward",
        "--encoding",
        "cp1252",
        "--no-header",
    )
    assert tacit(capsys, *INIT, *words).code == 0
    settings = read_site_settings(Path("hospital"))
    assert settings.unit == PrivacyUnit(client="patient_id", quasi_identifiers=("age", "ward"))
    assert (settings.encoding, settings.header) == ("cp1252", False)
    assert (
        "the column that names the person a row is about" in Path("hospital/site.toml").read_text()
    )


def columns_filled_in(policy: Path) -> None:
    text = policy.read_text()
    for role, names in {
        "label": ["readmitted"],
        "text": ["note"],
        "numeric": ["age"],
        "categorical": ["ward"],
    }.items():
        text, count = re.subn(rf"(?m)^{role} = \[\]", f"{role} = {json.dumps(names)}", text)
        assert count == 1
    policy.write_text(text)


def test_a_careful_policy_allows_a_first_plan_once_columns_are_filled_in(capsys: Capture) -> None:
    """The promise of `tacit init` rests on the server; the policy allows it under a secure sum, or with the owner's word."""
    assert tacit(capsys, "init", "--from", "patients.csv").code == 0
    assert tacit(capsys, *INIT, "--client", "patient_id").code == 0
    check = ("site", "policy", "check", "hospital/policy.toml", "plan.toml")
    assert tacit(capsys, *check).code == 3
    columns_filled_in(Path("hospital/policy.toml"))
    refused = tacit(capsys, *check)
    assert refused.code == 3
    reasons = [line.strip() for line in refused.err.splitlines()][1:]
    assert (
        reasons[0]
        == "allow.trust_server = false: the plan's guarantee relies on trusting the server, and there is no [secure_aggregation]"
    )
    assert [reason.split(":")[0] for reason in reasons[1:]] == ["to change", "or"]
    secure = (
        *check,
        "-o",
        "secure_aggregation.helpers=2",
        "-o",
        "secure_aggregation.min_clients=100",
    )
    strangers = tacit(capsys, *secure)
    assert strangers.code == 3
    assert "[peers] names no other site" in strangers.err
    with Path("hospital/site.toml").open("a") as settings:
        settings.write(
            "".join(
                f'"{name}" = "{number:064x}"\n'
                for number, name in enumerate(("hospital-b", "hospital-c"), 1)
            )
        )
    allowed = tacit(capsys, *secure)
    assert allowed.code == 0, allowed.err


def test_check_names_the_file_and_the_key(capsys: Capture) -> None:
    tacit(capsys, "init", "--from", "patients.csv")
    tacit(capsys, *INIT, "--client", "patient_id")
    columns_filled_in(Path("hospital/policy.toml"))
    check = (
        "site",
        "policy",
        "check",
        "hospital/policy.toml",
        "plan.toml",
        "-o",
        "secure_aggregation.helpers=2",
    )
    other = tacit(
        capsys, *check, "-o", 'data.columns.client="ward"', "-o", "data.columns.categorical=[]"
    )
    assert other.code == 3
    assert "hospital/policy.toml does not allow the plan" in other.err
    assert "site.toml: client = 'patient_id': the plan uses the client column 'ward'" in other.err
    label = tacit(capsys, *check, "-o", 'data.columns.label="note"', "-o", "data.columns.text=[]")
    assert "columns.label = ['readmitted']: the plan uses the column 'note' as label" in label.err


def test_without_a_site_beside_it_a_check_says_what_it_did_not_look_at(capsys: Capture) -> None:
    tacit(capsys, "init", "--from", "patients.csv")
    tacit(capsys, "site", "policy", "init", "mine.toml", "--for", "plan.toml")
    said = tacit(capsys, "site", "policy", "check", "mine.toml", "plan.toml")
    assert said.code == 0
    assert "There is no site.toml next to mine.toml" in " ".join(said.out.split())


def test_status_shows_what_was_told_and_which_rows_left(capsys: Capture) -> None:
    tacit(capsys, *INIT, "--client", "patient_id")
    seen = {
        "classes": ["no", "yes"],
        "categories": {"ward": ["w1", "w2"]},
        "ranges": {"age": [20.0, 80.0]},
        "pixels": None,
    }
    with closing(SiteLedger(Path("hospital") / LEDGER, limits=Limits(), delta=1e-5)) as book:
        book.record_cleartext(
            "job-1",
            "client = 'patient_id'",
            {"clients": 300, "rows": 480, "test_rows": 120, "seen": seen},
        )
        rows = [
            RowToRelease(bytes([number]) * 16, bytes([number]) * 16, b"l" * 16, b"alike")
            for number in range(60)
        ]
        facts = {"run": "job-1", "plan": "x", "columns": ["age", "readmitted"], "key": ["age"]}
        book.disclose(rows, 600, facts, SharePolicy(min_l=1))
    said = tacit(capsys, "site", "status", "hospital")
    assert said.code == 0
    assert "client:                          patient_id" in said.out
    assert (
        "statistics sent in run job-1: 300 clients, 480 training rows, 120 test rows; classes no, yes;"
        " categories of ward: w1, w2; range of age: 20 to 80" in said.out
    )
    assert (
        "rows disclosed in run job-1: 60 of 600 in full (age, readmitted); in all runs 60 rows"
        in said.out
    )
    shown = json.loads(tacit(capsys, "site", "status", "hospital", "--json").out)
    assert [one["run"] for one in (*shown["told"], *shown["disclosed"])] == ["job-1", "job-1"]


def test_a_waiting_site_has_not_imported_what_a_run_needs() -> None:
    """A site waits for weeks; numba, SciPy and PyTorch are half of its memory."""
    pytest.importorskip("flwr", reason="needs tacit[site]")
    code = (
        "import sys, types; from tacit.cli.site import join;"
        " from tacit.deployment.site import site_folder;"
        " from tacit.deployment.transport.site import node;"
        " handle = join._handle_lazily(types.SimpleNamespace(warn=lambda *_: None));"
        " assert not {'numba', 'scipy', 'torch'} & set(sys.modules);"
        " assert handle(b'no message') == b'' and 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
