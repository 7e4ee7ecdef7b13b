"""What each command prints where, and the exit code it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tacit import report
from tacit.cli import app
from tacit.cli.progress import LineProgress
from tacit.errors import BudgetError, RunError, TacitError, WireError
from tacit.runs import run_folder
from tests.cli.made_up import PLAN, pretend_engine, tacit
from tests.report import made_up

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def two_runs(here: Path) -> Path:
    made_up.folder(here / "runs", made_up.record(rounds=4), name="news-1")
    made_up.folder(here / "runs", made_up.record(rounds=4, stop=2), name="news-2")
    return here / "runs"


def test_run_prints_the_table_and_writes_the_report(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    pretend_engine(monkeypatch)
    said = tacit(capsys, "run", "plan.toml")
    assert said.code == 0
    assert "this run" in said.out
    assert "epsilon 200,040 per update" in said.out
    assert f"report: {Path('runs') / 'tiny-1' / 'report.html'}" in said.out
    assert (here / "runs" / "tiny-1" / "report.html").exists()
    assert "round 4/4" in said.err
    assert "epsilon 2 per bit, 200,040 per update" in said.err


def test_run_json_is_one_object_and_nothing_else(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_engine(monkeypatch)
    said = tacit(capsys, "run", "plan.toml", "--json", "--quiet")
    found = json.loads(said.out)
    assert {
        "run",
        "model_sha256",
        "rounds",
        "metrics",
        "bytes",
        "privacy",
        "seconds",
        "baselines",
        "report",
        "folder",
    } <= set(found)
    assert set(found["metrics"]) == {"auc", "accuracy", "f1", "loss"}
    assert found["bytes"] == {"up": 12_620, "down": 400_200}
    assert found["privacy"]["totals"][0] == {
        "unit": "bit",
        "epsilon": 2.0,
        "delta": 0.0,
        "basis": "exact",
    }
    assert found["privacy"]["statement"].startswith("Owners are simulated")
    assert made_up.STATEMENT in found["privacy"]["statement"]
    assert set(found["baselines"]) == {"fedavg", "central"}
    assert {"rounds", "metrics", "bytes"} <= set(found["baselines"]["fedavg"])
    assert said.err == ""


def test_fetching_is_shown_in_lines_too(capsys: Capture) -> None:
    observer = LineProgress()
    for done in (1_000_000, 2_000_000):
        observer.fetched("newsgroups20", done, 38_000_000)
    assert (
        capsys.readouterr().err == "fetching newsgroups20: 1.00 MB of 38.0 MB\n"
    )  # the second comes too soon


def test_run_without_report(capsys: Capture, monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    pretend_engine(monkeypatch)
    assert (
        json.loads(
            tacit(capsys, "run", "plan.toml", "--json", "--no-report", "--runs", "other").out
        )["report"]
        is None
    )
    assert not list((here / "other").glob("*/report.html"))


def test_stopping_says_how_to_go_on(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_engine(monkeypatch, error=KeyboardInterrupt(), stop=3)
    said = tacit(capsys, "run", "plan.toml")
    assert said.code == 130
    assert said.err.rstrip().endswith(
        "stopped after round 3 of 4; nothing is lost, continue with: tacit resume tiny-1"
    )
    assert said.out == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunError("a"), 6),
        (WireError("b"), 5),
        (BudgetError("c"), 4),
        (TacitError("d"), 1),
        (ValueError("e"), 70),
    ],
)
def test_errors_are_one_paragraph_with_a_code(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    pretend_engine(monkeypatch, error=error)
    said = tacit(capsys, "run", "plan.toml", "--quiet", "--json")
    assert said.code == code
    assert json.loads(said.out)["error"]["exit_code"] == code
    assert "Traceback" not in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [("--debug", "run", "plan.toml"), ("run", "plan.toml", "--debug")]
)
def test_debug_shows_the_traceback(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    pretend_engine(monkeypatch, error=ValueError("e"))
    assert "Traceback" in tacit(capsys, *words).err


def test_a_missing_extra_is_named_with_the_way_to_get_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_engine(monkeypatch, ModuleNotFoundError("No module named 'torch'", name="torch"))
    said = tacit(capsys, "run", "plan.toml", "--quiet")
    assert said.code == 2
    assert "pip install 'tacit[torch]'" in said.err


def test_check_says_ok_and_what_it_would_promise(capsys: Capture) -> None:
    said = tacit(capsys, "check", "plan.toml", "-o", "codec.epsilon=0.5")
    assert said.code == 0
    assert said.out.startswith("plan.toml: ok\n")
    assert "epsilon 0.5 per bit" in said.out
    found = json.loads(tacit(capsys, "check", "plan.toml", "--json").out)
    assert found["ok"] is True
    assert "per bit" in found["summary"]["privacy"]


def test_check_states_epsilon_in_the_codecs_own_unit(capsys: Capture) -> None:
    found = json.loads(
        tacit(
            capsys,
            "check",
            "plan.toml",
            "-o",
            "codec.name=rr_sampled",
            "-o",
            "codec.epsilon=4",
            "--json",
        ).out
    )["summary"]
    assert "epsilon 4 per update" in found["privacy"]
    assert "epsilon 4 per update" in found["codec"]
    said = tacit(capsys, "check", "plan.toml", "-o", "codec={name='plain'}")
    assert "sent in the clear" in said.out


def test_check_asks_for_rows_to_measure_on(capsys: Capture, here: Path) -> None:
    table = '[data]\nsource = "t.csv"\n[data.columns]\nnumeric = ["x"]\nlabel = "y"\n'
    (here / "own.toml").write_text(table, encoding="utf-8")
    refused = tacit(capsys, "check", "own.toml", "-o", "data.test=0")
    assert refused.code == 2
    assert "data.test must be greater than 0" in refused.err
    for other in ("data.test=0.1", "data.validation=0.1", "data.columns.split=half"):
        assert tacit(capsys, "check", "own.toml", "-o", "data.test=0", "-o", other).code == 0


def test_schema_prints_what_editors_read(capsys: Capture) -> None:
    made = json.loads(tacit(capsys, "plan", "schema").out)
    assert made["properties"]["codec"]["oneOf"]
    assert "per bit" in made["$defs"]["RR"]["properties"]["epsilon"]["description"]


def test_check_lists_all_problems(capsys: Capture, here: Path) -> None:
    (here / "bad.toml").write_text('[codec]\nname = "rrr"\n[server]\nround = 3\n')
    said = tacit(capsys, "check", "bad.toml")
    assert said.code == 2
    assert "2 problems" in said.err
    assert "Did you mean 'rounds'?" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "plan.toml", "--nope"),
        ("nope",),
        ("runs", "compare"),
        ("check", "missing.toml"),
        ("run", "missing.toml"),
    ],
)
def test_bad_usage_is_code_2(capsys: Capture, words: tuple[str, ...]) -> None:
    said = tacit(capsys, *words)
    assert said.code == 2
    assert "Traceback" not in said.err
    assert said.err


def test_runs_lists_every_state(capsys: Capture, two_runs: Path) -> None:
    (two_runs / "hurt-1").mkdir()
    (two_runs / "hurt-1" / "record.jsonl").write_text("no json\n")
    (two_runs / "young-1").mkdir()
    (two_runs / "young-1" / "plan.toml").write_text(PLAN)
    said = tacit(capsys, "runs")
    for text in (
        "news-1",
        "finished",
        "news-2",
        "stopped after round 2 of 4",
        "damaged record",
        "stopped before round 1",
    ):
        assert text in said.out
    found = json.loads(tacit(capsys, "runs", "--json").out)["runs"]
    assert {one["run"] for one in found} == {"news-1", "news-2", "hurt-1", "young-1"}
    assert all("when" in one for one in found)


def test_a_live_run_is_listed_as_running(capsys: Capture, two_runs: Path) -> None:
    with run_folder.lock(two_runs / "news-2"):
        said = tacit(capsys, "runs")
        assert "running, 2 of 4 rounds done" in said.out
        assert "stopped" not in said.out
        assert (
            json.loads(tacit(capsys, "runs", "show", "news-2", "--json").out)["state"]
            == "running, 2 of 4 rounds done"
        )
    assert "stopped after round 2 of 4" in tacit(capsys, "runs").out


def test_looking_at_runs_loads_nothing_that_trains(two_runs: Path) -> None:
    heavy = {"numba", "torch", "sklearn", "plotly"}
    code = (
        f"import sys, tacit.cli as cli; cli.execute(['runs']); print(sorted({heavy} &"
        " set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_no_runs_yet(capsys: Capture) -> None:
    assert tacit(capsys, "runs").code == 0
    assert tacit(capsys, "runs", "show", "x").code == 6


def test_unknown_run_gets_the_closest_name(capsys: Capture, two_runs: Path) -> None:
    said = tacit(capsys, "runs", "show", "newz-1")
    assert said.code == 6
    assert "Did you mean 'news-1'?" in said.err
    assert "news-2" in said.err


def test_show_agrees_with_the_report(capsys: Capture, two_runs: Path) -> None:
    page = report.write(two_runs / "news-1").read_text(encoding="utf-8")
    said = tacit(capsys, "runs", "show", str(two_runs / "news-1"))
    for arm in report.summarise(made_up.record(rounds=4)).arms:
        for text in report.list_cells(arm):
            assert text in said.out
            assert text in page


def test_compare_shows_settings_that_differ(capsys: Capture, two_runs: Path) -> None:
    made_up.folder(two_runs, made_up.record(rounds=3), name="news-3")
    said = tacit(capsys, "runs", "compare", "news-1", "news-3")
    assert "server.rounds" in said.out
    assert "codec.epsilon" not in said.out
    found = json.loads(tacit(capsys, "runs", "compare", "news-1", "news-3", "--json").out)
    assert found["differences"] == {"server.rounds": {"news-1": 4, "news-3": 3}}
    assert "the plans are identical" in tacit(capsys, "runs", "compare", "news-1", "news-2").out


def test_compare_draws_a_page(capsys: Capture, two_runs: Path) -> None:
    said = tacit(
        capsys, "runs", "compare", "news-1", "news-2", "--page", str(two_runs / "two.html")
    )
    assert said.code == 0
    assert "two.html" in said.out
    page = (two_runs / "two.html").read_text(encoding="utf-8")
    assert 'id="chart-metric"' in page
    assert '"name": "news-2"' in page
    assert len(page) < 2_000_000


def test_privacy_says_the_sentence_and_its_terms(capsys: Capture, two_runs: Path) -> None:
    said = tacit(capsys, "runs", "privacy", "news-1")
    assert said.out.startswith("Owners are simulated")
    assert made_up.STATEMENT in said.out
    for text in (
        "2 per bit",
        "200,040 per update",
        "replace all rows of one client",
        "Not protected",
    ):
        assert text in said.out
    found = json.loads(tacit(capsys, "runs", "privacy", "news-1", "--json").out)
    assert {total["unit"]: total["epsilon"] for total in found["totals"] if not total["delta"]}[
        "update"
    ] == 200_040
    assert found["not_protected"]
    said = tacit(capsys, "runs", "privacy", "news-1", "--shuffle", "1000")
    assert "Nothing in this run shuffles" in said.out
    found = json.loads(
        tacit(capsys, "runs", "privacy", "news-1", "--shuffle", "1000", "--json").out
    )
    assert found["if_shuffled"]["clients"] == 1000
    assert found["if_shuffled"]["pieces"] == 1
    split = json.loads(
        tacit(capsys, "runs", "privacy", "news-1", "--shuffle", "1000", "--pieces", "--json").out
    )["if_shuffled"]
    assert split["pieces"] > 1000
    assert split["shuffled_epsilon"] < found["if_shuffled"]["shuffled_epsilon"]
    assert "--shuffle N" in tacit(capsys, "runs", "privacy", "news-1", "--pieces").err


def test_data_list_and_where(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    assert "newsgroups20" in tacit(capsys, "data", "list").out
    assert {"name", "where"} <= set(
        json.loads(tacit(capsys, "data", "list", "--json").out)["sets"][0]
    )
    said = tacit(capsys, "data", "where", "newsgroups20")
    assert (said.code, said.out) == (1, "")
    assert tacit(capsys, "data", "where", "newsgroop").code == 2


def test_every_command_has_examples(capsys: Capture) -> None:
    root = typer.main.get_command(app)
    names = [(name,) for name in root.commands]  # type: ignore[attr-defined]
    names += [("data", name) for name in root.commands["data"].commands]  # type: ignore[attr-defined]
    assert len(names) >= 12
    for words in names:
        said = tacit(capsys, *words, "--help")
        assert said.code == 0
        assert "Example" in said.out
        assert f"tacit {' '.join(words)}" in said.out
    top = " ".join(tacit(capsys, "--help").out.split())
    assert "Exit codes: 0 ok, 1 a check failed, 2 bad plan" in top


def test_help_loads_nothing_heavy() -> None:
    heavy = {
        "numba",
        "polars",
        "plotly",
        "sklearn",
        "torch",
        "scipy",
        "pydantic",
        "numpy",
        "pyarrow",
        "jinja2",
    }
    code = (
        f"import sys, tacit.cli as cli; cli.execute(['-h']); print(sorted({heavy} &"
        " set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_as_a_process_without_colour(here: Path, two_runs: Path) -> None:
    code = "from tacit.cli import main; main()"
    environment = {**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, "runs", "show", "news-1"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0
    assert "\x1b[3" not in done.stdout
    assert (
        subprocess.run(
            [sys.executable, "-c", code, "runs", "show", "nope"], capture_output=True, check=False
        ).returncode
        == 6
    )
    assert subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True
    ).stdout.startswith("tacit ")
