"""tacit plan sweep: what it prints where, and its exit codes; the runs themselves are made up."""

import json
from pathlib import Path

import pytest

from tacit.runs import sweep
from tests.cli.made_up import PLAN, tacit
from tests.report import made_up

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list:
    """Pretend that each run finishes at once, but for those with epsilon 3, and return what was asked for."""
    wanted = []

    def carry_out(plans, root, at_once, watch, cluster=None):
        outcomes = []
        for number, plan in enumerate(plans):
            wanted.append((plan, at_once))
            watch.report_start(number)
            if getattr(plan.codec, "epsilon", 0) == 3:
                outcome = sweep.Outcome(error="it diverged; lower local.lr")
            else:
                folder = made_up.folder(root, made_up.record(rounds=2), name=f"tiny-{len(wanted)}")
                outcome = sweep.Outcome(folder=folder)
            watch.report_end(number, outcome)
            outcomes.append(outcome)
        return outcomes

    monkeypatch.setattr(sweep, "carry_out", carry_out)
    return wanted


def test_a_table_a_page_and_a_line_for_each_run(capsys: Capture, asked: list, here: Path) -> None:
    said = tacit(
        capsys,
        "plan",
        "sweep",
        "plan.toml",
        "--over",
        "codec.epsilon=1,2",
        "--over",
        "data.clients=10,20",
        "--seeds",
        "1,2",
    )
    assert said.code == 0
    assert said.out.count("± ") >= 4
    assert "page:   sweep.html" in said.out
    assert (here / "sweep.html").stat().st_size < 2_000_000
    # Eight runs; FedAvg once per number of clients and seed, central training too.
    assert len(asked) == 8 + 4 + 4
    assert "16/16 runs after" in said.err
    assert "codec.epsilon=2, data.clients=20, seed 2 done" in said.err


def test_json_is_one_object_and_nothing_else(capsys: Capture, asked: list) -> None:
    said = tacit(
        capsys,
        "plan",
        "sweep",
        "plan.toml",
        "--over",
        "codec.epsilon=1,2",
        "--json",
        "--quiet",
        "--jobs",
        "3",
    )
    assert [point["settings"] for point in json.loads(said.out)["points"]] == [
        {"codec.epsilon": "1"},
        {"codec.epsilon": "2"},
    ]
    assert said.err == ""
    assert {at_once for _, at_once in asked} == {3}


def test_runs_to_choose_from_say_so_and_so_does_the_page(
    capsys: Capture, asked: list, here: Path
) -> None:
    said = tacit(
        capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=1,2", "--seeds", "1,2"
    )
    text = (
        "tacit plan sweep: one of 4 runs over codec.epsilon on the same rows, to choose from by their"
        " figures"
    )
    assert [plan.selected_by for plan, _ in asked if plan.codec.name == "rr"] == [text] * 4
    assert text in (here / "sweep.html").read_text()
    assert (
        "choosing settings by their results is a privacy loss that no epsilon here covers"
        in said.out
    )
    assert (
        "no epsilon"
        in json.loads(
            tacit(capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=1,2", "--json").out
        )["choice"]
    )


def test_a_single_run_is_no_choice(capsys: Capture, asked: list) -> None:
    tacit(capsys, "plan", "sweep", "plan.toml", "-o", "baselines=[]")
    assert [plan.selected_by for plan, _ in asked] == [None]


def test_a_run_that_fails_is_named_and_leaves_1(capsys: Capture, asked: list, here: Path) -> None:
    said = tacit(
        capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=1,3,2", "-o", "baselines=[]"
    )
    assert said.code == 1
    assert "1 of 3 runs failed\n  codec.epsilon=3: it diverged; lower local.lr" in said.err
    assert "codec.epsilon=3, seed 0 failed: it diverged; lower local.lr" in said.err
    assert "0 of 1" in said.out
    assert (here / "sweep.html").exists()


def test_a_baseline_that_fails_is_named_everywhere_and_leaves_1(
    capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(plans, root, at_once, watch, cluster=None):
        outcomes = []
        for number, plan in enumerate(plans):
            watch.report_start(number)
            failed = plan.codec.name == "plain" and plan.regime == "federated"
            folder = (
                None
                if failed
                else made_up.folder(
                    root, made_up.record(rounds=2), name=f"tiny-{number}-{plan.regime}"
                )
            )
            outcomes.append(
                sweep.Outcome(folder=folder, error="it diverged; lower local.lr" if failed else "")
            )
            watch.report_end(number, outcomes[-1])
        return outcomes

    monkeypatch.setattr(sweep, "carry_out", carry_out)
    said = tacit(capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=1,2")
    assert said.code == 1
    assert "baselines of 2 of 2 combinations failed" in said.err
    assert "FedAvg, unprotected (codec.epsilon=1): it diverged; lower local.lr" in said.err
    assert said.out.count("failed") == 2
    assert "it diverged; lower local.lr" in (here / "sweep.html").read_text()
    for folder in (here / "runs").iterdir():
        folder.rename(here / folder.name)
    points = json.loads(
        tacit(
            capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=1,2", "--json", "--quiet"
        ).out
    )["points"]
    assert [point["failed_baselines"] for point in points] == [
        {"fedavg": ["it diverged; lower local.lr"]}
    ] * 2


def test_the_plan_of_init_sweeps_as_the_readme_says(
    capsys: Capture, asked: list, here: Path
) -> None:
    (here / "my.csv").write_text("a,label\n" + "".join(f"{k % 9},{k % 2}\n" for k in range(50)))
    tacit(capsys, "init", "--from", "my.csv", "--force")
    assert (
        tacit(
            capsys,
            "plan",
            "sweep",
            "plan.toml",
            "--over",
            "privacy.epsilon=1,2,8",
            "-o",
            "baselines=[]",
            "--quiet",
        ).code
        == 0
    )
    assert [plan.codec.epsilon for plan, _ in asked] == [1, 2, 8]
    assert {plan.data.clients for plan, _ in asked} == {40}


def test_more_clients_than_a_file_has_room_for_start_nothing(
    capsys: Capture, asked: list, here: Path
) -> None:
    (here / "my.csv").write_text("a,label\n" + "".join(f"{k % 9},{k % 2}\n" for k in range(50)))
    tacit(capsys, "init", "--from", "my.csv", "--force")
    said = tacit(capsys, "plan", "sweep", "plan.toml", "--over", "data.clients=10,40,41")
    assert said.code == 2
    assert "1 of 3 combinations cannot run, so no run was started" in said.err
    assert "set data.clients to 40 or less" in said.err
    assert asked == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--over", "codec.epsilo=1,2"], "codec.epsilo: unknown key"),
        (["--over", "codec.epsilon=1,-2"], "(codec.epsilon=-2)"),
        (
            ["--seeds", "1,two"],
            "--seeds must be integers separated by commas, such as 1,2,3, got 1,two",
        ),
        (["--over", "codec.epsilon=1,2", "--jobs", "0"], "--jobs must be at least 1, got 0"),
    ],
)
def test_nothing_starts_if_anything_is_refused(
    capsys: Capture, asked: list, words: list[str], sentence: str
) -> None:
    said = tacit(capsys, "plan", "sweep", "plan.toml", *words)
    assert said.code == 2
    assert sentence in said.err
    assert asked == []


def test_a_stop_says_how_to_go_on(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "carry_out", stopped)
    said = tacit(
        capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=1,2", "-o", "baselines=[]"
    )
    assert said.code == 130
    assert "stopped with 0 of 2 runs finished; repeat the command to continue" in said.err
