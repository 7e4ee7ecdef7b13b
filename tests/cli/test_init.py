"""Plans written for tables of all sorts: what is guessed, and that what is written can run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from tacit import plan as plans
from tests.cli.made_up import tacit

Capture = pytest.CaptureFixture[str]
WORDS = ("gut", "schlecht", "the", "case", "phone", "🙂", 'said "no"', "a,b", "naïve")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(number: int) -> str:
    return " ".join(WORDS[(number * 7 + k * k) % len(WORDS)] for k in range(8))


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.mark.parametrize("name", ['a "quoted" name', "dots.in.it", "emoji 💬", "back\\slash", "'", "#", "[x]"])
def test_odd_names_survive_toml(here: Path, capsys: Capture, name: str) -> None:
    pl.DataFrame({name: [k / 7 for k in range(60)], "label": [0, 1] * 30}).write_parquet(here / "t.parquet")
    assert tacit(capsys, "init", "--from", "t.parquet").code == 0
    assert plans.load(Path("plan.toml")).data.columns.numeric == (name,)


def test_example_passes_check_and_is_not_overwritten(capsys: Capture) -> None:
    assert tacit(capsys, "init").code == 0
    assert tacit(capsys, "check", "plan.toml").code == 0
    refused = tacit(capsys, "init")
    assert refused.code == 2
    assert "--force" in refused.err
    assert tacit(capsys, "init", "--force").code == 0


@pytest.mark.parametrize("name", ["missing.csv", "notes.txt"])
def test_tables_that_are_none(here: Path, capsys: Capture, name: str) -> None:
    (here / "notes.txt").write_text("hello")
    said = tacit(capsys, "init", "--from", name)
    assert said.code == 2
    assert not (here / "plan.toml").exists()


def test_from_an_odd_table_to_a_report(here: Path, capsys: Capture) -> None:
    header = ["Nr.", "Käufer.id 🛒", 'was er "sagte"', "Größe; cm", "is it good?"]
    rows = [
        (
            k,
            f"k{k % 6}",
            f"{words(k)} {'gut' if k % 2 else 'schlecht'}" if k % 11 else "",
            150 + k % 40 if k % 5 else "",
            ("no", "yes 💯")[k % 2],
        )
        for k in range(240)
    ]
    write_csv(here / "odd table.csv", header, rows)
    said = tacit(capsys, "init", "--from", "odd table.csv")
    assert said.code == 0
    assert "because" in said.out
    assert tacit(capsys, "check", "plan.toml").code == 0
    plan = plans.load(Path("plan.toml"))
    assert plan.data.columns.label == "is it good?"
    assert plan.features.text == "binary"  # words of several languages, and emoji
    less = ("server.rounds=3", "baselines=[]")
    done = tacit(capsys, "run", "plan.toml", *(part for one in less for part in ("-o", one)), "--quiet")
    assert done.code == 0, done.err
    page = (here / "runs" / "odd-table-1" / "report.html").read_text(encoding="utf-8")
    assert "yes 💯" in page
    assert tacit(capsys, "privacy", "odd-table-1").code == 0
