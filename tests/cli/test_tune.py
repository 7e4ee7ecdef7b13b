"""tacit plan tune: what it writes and prints; the runs themselves are made up."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import plan as plans
from tacit.runs import sweep
from tests.cli.made_up import PLAN, tacit
from tests.report import made_up


def test_a_table_a_page_and_a_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def carry_out(wanted, root, at_once, watch, cluster=None):
        nonlocal count
        outcomes = []
        for number, _ in enumerate(wanted):
            count += 1
            watch.report_start(number)
            outcomes.append(
                sweep.Outcome(
                    folder=made_up.folder(root, made_up.record(rounds=2), name=f"tiny-{count}")
                )
            )
            watch.report_end(number, outcomes[-1])
        return outcomes

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "carry_out", carry_out)
    Path("plan.toml").write_text(PLAN)
    said = tacit(capsys, "plan", "tune", "plan.toml")
    assert said.code == 0
    assert "On validation rows: the plan" in said.out
    tuned = plans.load(Path("plan-tuned.toml"))
    assert tuned == replace(plans.load(Path("plan.toml")), selected_by=tuned.selected_by)
    assert (
        tuned.selected_by
        == "tacit plan tune: the best of 15 runs by accuracy on 20% of the training rows, held out"
    )
    assert "this is a privacy loss that no epsilon covers" in said.out
    assert Path("tune.html").stat().st_size < 2_000_000
    assert (
        json.loads(tacit(capsys, "plan", "tune", "plan.toml", "--json", "--quiet").out)["plan"]
        == "plan-tuned.toml"
    )


def test_runs_that_fail_are_named_and_those_that_remain_have_as_many_clients_as_fit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def carry_out(wanted, root, at_once, watch, cluster=None):
        outcomes = []
        for number, plan in enumerate(wanted):
            asked.append(plan)
            watch.report_start(number)
            failed = plan.server.lr > 3
            folder = (
                None
                if failed
                else made_up.folder(root, made_up.record(rounds=2), name=f"tiny-{len(asked)}")
            )
            outcomes.append(
                sweep.Outcome(folder=folder, error="it diverged; lower server.lr" if failed else "")
            )
            watch.report_end(number, outcomes[-1])
        return outcomes

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "carry_out", carry_out)
    Path("my.csv").write_text("a,label\n" + "".join(f"{k % 9},{k % 2}\n" for k in range(50)))
    assert tacit(capsys, "init", "--from", "my.csv").code == 0
    said = tacit(capsys, "plan", "tune", "plan.toml", "-o", "server.lr=3", "--json", "--quiet")
    assert said.code == 1
    assert "it diverged; lower server.lr" in said.err
    assert {plan.data.clients for plan in asked} == {32}
    found = json.loads(said.out)
    assert found["clients_of_trials"] == 32
    assert {one["error"] for one in found["failed"]} == {"it diverged; lower server.lr"}
    assert "it diverged; lower server.lr" in Path("tune.html").read_text()
    assert plans.load(Path("plan-tuned.toml")).data.clients == 40
