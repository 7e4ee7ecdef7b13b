"""Where people stumbled who tried Tacit for the first time, one test each; what is tested in its own room is not repeated here."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from tacit.report.figures import summarise
from tacit.report.pages.charts import build_charts
from tacit.report.sweeps.charts import _scale
from tests.cli.made_up import tacit
from tests.report import made_up

Capture = pytest.CaptureFixture[str]
TABLE = "said,mood\n" + "".join(
    f"the day was {('schön', 'übel')[k % 2]} number {k},{('good', 'bad')[k % 2]}\n"
    for k in range(60)
)
QUICK = ("-o", "server.rounds=1", "-o", "baselines=[]", "--quiet", "--no-report")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_packed_with_zstandard(here: Path, capsys: Capture) -> None:
    with pa.CompressedOutputStream(str(here / "a.csv.zst"), "zstd") as file:
        file.write(TABLE.encode())
    assert tacit(capsys, "init", "--from", "a.csv.zst").code == 0
    run = tacit(capsys, "run", "plan.toml", *QUICK)
    assert run.code == 0, run.err
    assert len(pl.read_csv(tacit(capsys, "predict", "a-1", "a.csv.zst").out.encode())) == 60


def test_an_encoding_that_is_said_is_not_guessed_and_kept_in_the_plan(
    here: Path, capsys: Capture
) -> None:
    (here / "a.csv").write_bytes(TABLE.encode("cp1252"))
    made = tacit(capsys, "init", "--from", "a.csv", "--encoding", "cp1252")
    assert made.code == 0, made.err
    assert "a guess" not in made.out
    assert 'encoding = "cp1252"' in (here / "plan.toml").read_text(encoding="utf-8")
    assert tacit(capsys, "run", "plan.toml", *QUICK).code == 0
    assert "schön" in tacit(capsys, "predict", "a-1", "a.csv").out


def test_show_says_when_a_run_is_not_intact_and_when_it_is_gone(
    here: Path, capsys: Capture
) -> None:
    (here / "a.csv").write_text(TABLE, encoding="utf-8")
    tacit(capsys, "init", "--from", "a.csv")
    assert tacit(capsys, "run", "plan.toml", *QUICK).code == 0
    assert "NOT INTACT" not in tacit(capsys, "runs", "show", "a-1").out
    model = here / "runs" / "a-1" / "model.safetensors"
    model.write_bytes(model.read_bytes() + b"x")
    assert (
        "finished, but NOT INTACT\n! model.safetensors:" in tacit(capsys, "runs", "show", "a-1").out
    )
    shutil.rmtree(here / "runs" / "a-1")
    gone = tacit(capsys, "runs", "show", "a-1")
    assert gone.code == 6
    assert len(gone.err.splitlines()) == 1


def test_ticks_differ_however_near_the_values_are() -> None:
    drawn = build_charts(summarise(made_up.record(), name="a"))["metric"]["accuracy"]
    assert drawn["layout"]["yaxis"]["tickformat"] == "~%", (
        "whole percents say 91 %, 91 %, 91 % where a run hardly moves"
    )
    for values in ([0.5, 0.501, 0.502], [1000.0, 1001.5, 1003.0], [1e6, 1.002e6]):
        said = _scale(values)["ticktext"]
        assert len(set(said)) == len(said)


def test_a_site_is_admitted_by_a_request_that_is_there(capsys: Capture) -> None:
    said = tacit(capsys, "server", "admit", "site-a.request")
    assert said.code == 5
    assert "site-a.request cannot be read (No such file or directory); give the file" in said.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [(("--epsilon", "1"), "-o privacy.epsilon=VALUE"), (("--rounds=3",), "-o server.rounds=VALUE")],
)
def test_a_setting_as_an_option_is_told_where_it_belongs(
    capsys: Capture, words: tuple[str, ...], hint: str
) -> None:
    said = tacit(capsys, "run", "plan.toml", *words)
    assert said.code == 2
    assert hint in said.err
    assert "--json" not in said.err


def test_a_key_without_its_table_is_told_which(here: Path, capsys: Capture) -> None:
    tacit(capsys, "init")
    assert (
        "Did you mean 'privacy.epsilon'?"
        in tacit(capsys, "check", "plan.toml", "-o", "epsilon=1").err
    )
    assert (
        "Did you mean 'server.rounds'?"
        in tacit(capsys, "check", "plan.toml", "-o", "local.rounds=1").err
    )


def test_none_takes_a_key_out_of_the_plan(here: Path, capsys: Capture) -> None:
    tacit(capsys, "init")
    assert (
        "epsilon 8 per run"
        in tacit(
            capsys, "check", "plan.toml", "-o", "privacy.epsilon=2", "-o", "privacy.epsilon=none"
        ).out
    )
    assert "VALUE none removes it" in " ".join(
        tacit(capsys, "run", "--help").out.replace("\u2502", " ").split()
    )


def test_nobody_is_told_to_remove_privacy(here: Path, capsys: Capture) -> None:
    tacit(capsys, "init")
    said = tacit(capsys, "plan", "sweep", "plan.toml", "--over", "codec.epsilon=0.5,1,2")
    assert said.code == 2
    assert "change privacy.epsilon" in said.err
    assert "none" not in said.err


def test_an_excel_sheet_without_its_package_is_told_what_to_install(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModuleNotFoundError(
            "required package 'fastexcel' not found."
        )  # as polars says it, without a name

    monkeypatch.setattr("polars.read_excel", fail)
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    said = tacit(capsys, "init", "--from", str(tmp_path / "a.xlsx"))
    assert said.code == 2
    assert "pip install 'tacit[excel]'" in said.err
