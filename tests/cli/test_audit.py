"""tacit audit: what its commands print, write and refuse; tests/audit says whether the attacks are
right.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.plan import to_toml
from tests.cli.made_up import tacit

pytest.importorskip("torch")
from tests.audit.test_tokens import hurry, small_run
from tests.audit.words.test_reconstruct import WIDTH, made_up_vectors, write_texts
from tests.simulation.worded import worded_plan

Capture = pytest.CaptureFixture[str]
QUICK = ("--texts", "1", "--batches", "1", "--per-bit", "1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from tacit.assembly import token_rows

    monkeypatch.setattr(token_rows, "load_vectors", made_up_vectors)
    monkeypatch.chdir(tmp_path)
    job = worded_plan(
        write_texts(tmp_path / "texts.csv"),
        model={"name": "bilstm", "hidden": [16], "embedding": WIDTH},
    )
    (tmp_path / "plan.toml").write_text(to_toml(job))
    return tmp_path


def test_the_table_and_the_page(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", *QUICK, "--page", "audit.html")
    assert said.code == 0, said.err
    for text in (
        "Share of words recovered (recall)",
        "FedAvg: shared public table",
        "knows the table",
        "page: audit.html",
    ):
        assert text in said.out
    assert "attacking: FedAvg: shared public table" in said.err
    assert "<script" not in (here / "audit.html").read_text()


def test_texts_are_written_only_with_rows(capsys: Capture, here: Path) -> None:
    quiet = (
        "audit",
        "reconstruct",
        "plan.toml",
        *QUICK,
        "--quiet",
        "--page",
        "audit.html",
        "--json",
    )
    silent = json.loads(tacit(capsys, *quiet).out)
    assert silent["examples"] == []
    assert "Side by side" not in (here / "audit.html").read_text()
    told = json.loads(tacit(capsys, *quiet, "--rows").out)
    words = told["examples"][0]["original"]
    assert len(words) == 8
    assert all(word in (here / "audit.html").read_text() for word in words)


def test_json_is_one_object_and_nothing_else(capsys: Capture) -> None:
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", *QUICK, "--json", "--quiet")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    assert found["texts"] == 1
    assert {"setting", "seen", "batch", "attacker", "score"} <= set(found["lines"][0])


def test_bad_lists_and_options_of_another_attack_are_refused(capsys: Capture) -> None:
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", "--batches", "none")
    assert (
        said.code,
        "--batches must be positive numbers separated by commas, such as 1,2,4,8, got none"
        in said.err,
    ) == (2, True)
    assert tacit(capsys, "audit", "reconstruct", "missing.toml").code == 2
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", "--clients", "3")
    assert (said.code, "--clients cannot be used with features.text = 'words'" in said.err) == (
        2,
        True,
    )


def test_findings_enter_the_record_and_the_report_of_a_finished_run_without_any_text(
    capsys: Capture, here: Path
) -> None:
    from tacit.runs import record

    assert (
        tacit(
            capsys,
            "run",
            "plan.toml",
            "-o",
            "server.rounds=1",
            "-o",
            "server.evaluate_every=1",
            "-q",
        ).code
        == 0
    )
    assert (
        tacit(
            capsys, "audit", "reconstruct", "plan.toml", *QUICK, "--into", "small-1", "--quiet"
        ).code
        == 0
    )
    folder = here / "runs" / "small-1"
    (found,) = record.select_entries(list(record.read(folder / "record.jsonl")), record.Audited)
    assert found.name == "reconstruct"
    assert "examples" not in found.findings
    assert "Positive control" in found.findings["sentences"][0]
    assert "Audit: reconstruct" in (folder / "report.html").read_text()
    assert tacit(capsys, "resume", "small-1", "-q").code == 0, (
        "a finished run with an audit is still whole"
    )


def test_findings_go_into_no_run_that_is_not_there(capsys: Capture) -> None:
    said = tacit(
        capsys, "audit", "reconstruct", "plan.toml", *QUICK, "--into", "nowhere-1", "--quiet"
    )
    assert said.code == 6


def test_tokens_of_a_run_are_attacked_and_the_last_findings_stand_in_its_report(
    capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.runs import record

    hurry(monkeypatch)
    folder = small_run(here)
    said = tacit(capsys, "audit", "tokens", "small-1", "--json", "--quiet")
    assert (said.code, said.err) == (0, "")
    assert {"seriation", "searches", "insiders", "collisions", "falsified", "sentences"} <= set(
        json.loads(said.out)
    )
    said = tacit(capsys, "audit", "tokens", str(folder))
    assert said.code == 0, said.err
    for text in (
        "From one client's static tokens",
        "Falsified histograms",
        "… if weights differ",
        "report: ",
    ):
        assert text in said.out
    assert "attacking: false histograms" in said.err
    found = record.select_entries(list(record.read(folder / "record.jsonl")), record.Audited)
    assert [one.name for one in found] == ["tokens", "tokens"]
    page = (folder / "report.html").read_text()
    assert page.count("Audit: tokens") == 1
    assert page.count('id="chart-rebuilt"') == 1
    assert tacit(capsys, "resume", "small-1", "-q").code == 0, (
        "a finished run with an audit is still whole"
    )


def test_tokens_are_only_in_runs_of_hashcomb(capsys: Capture, here: Path) -> None:
    assert tacit(capsys, "audit", "tokens", "small-1").code == 6
    small_run(here, codec={"name": "plain"})
    said = tacit(capsys, "audit", "tokens", "small-1", "--json")
    assert said.code == json.loads(said.out)["error"]["exit_code"] == 6
    assert "name a run of the codec 'hashcomb'" in said.err
    small_run(here, codec={"name": "hashcomb", "x_min": [-0.1] * 3, "x_max": [0.1] * 3})
    said = tacit(capsys, "audit", "tokens", "small-2")
    assert (said.code, "each layer has its own range" in said.err) == (6, True)
