"""Plans written for tables of all sorts: what is guessed, and that what is written can run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from tacit import plan as plans
from tacit.cli.guess import guess
from tacit.cli.plan_text import clients_for, quoted
from tacit.errors import DataError
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


def roles(frame: pl.DataFrame, label: str | None = None) -> dict[str, str]:
    return {one.column: one.role for one in guess(frame, label)}


def test_reviews_with_owners() -> None:
    frame = pl.DataFrame(
        {
            "review_id": [f"r{k}" for k in range(100)],
            "userId": [f"u{k % 9}" for k in range(100)],
            "body": [f"{words(k)} {k}" for k in range(100)],
            "sentiment": [("pos", "neg")[k % 2] for k in range(100)],
            "age": [str(20 + k % 50) if k % 7 else "n/a" for k in range(100)],
            "country": [("DE", "FR", None)[k % 3] for k in range(100)],
            "written": [f"2024-01-{1 + k % 28:02d}" for k in range(100)],
            "same": ["x"] * 100,
            "nothing": [None] * 100,
        }
    )
    assert roles(frame) == {
        "review_id": "left out",
        "userId": "client",
        "body": "text",
        "sentiment": "label",
        "age": "numeric",
        "country": "categorical",
        "written": "left out",
        "same": "left out",
        "nothing": "left out",
    }


def test_label_is_the_last_column_with_few_values() -> None:
    frame = pl.DataFrame({"a": [k / 7 for k in range(60)], "blood type": ["A", "B", "0"] * 20, "good?": ["y", "n"] * 30})
    assert roles(frame) == {"a": "numeric", "blood type": "categorical", "good?": "label"}
    assert roles(frame, "blood type")["blood type"] == "label"


def test_an_echo_of_the_label_is_left_out() -> None:
    frame = pl.DataFrame({"x": [k / 7 for k in range(60)], "label": [0, 1, 2] * 20, "label name": ["a", "b", "c"] * 20})
    assert roles(frame)["label name"] == "left out"


def test_a_split_column_is_found() -> None:
    frame = pl.DataFrame({"x": [k / 7 for k in range(60)], "y": [0, 1] * 30, "part": ["train"] * 40 + ["test"] * 20})
    assert roles(frame)["part"] == "split"


def test_owners_unique_in_each_row_are_no_clients() -> None:
    frame = pl.DataFrame({"patient_id": range(60), "x": [k / 7 for k in range(60)], "y": [0, 1] * 30})
    assert roles(frame)["patient_id"] == "left out"


def test_a_column_that_numbers_the_rows_teaches_nothing() -> None:
    frame = pl.DataFrame({"№": [str(k + 1) for k in range(60)], "x": [k / 7 for k in range(60)], "y": [0, 1] * 30})
    assert roles(frame) == {"№": "left out", "x": "numeric", "y": "label"}


def test_an_id_that_repeats_is_left_out_with_the_way_to_make_it_the_owner() -> None:
    frame = pl.DataFrame({"Käufer id": [f"k{k % 9}" for k in range(60)], "x": [k / 7 for k in range(60)], "y": [0, 1] * 30})
    found = {one.column: one for one in guess(frame)}["Käufer id"]
    assert found.role == "left out"
    assert "client column" in found.why


def test_a_label_that_says_it_is_missing_is_pointed_out() -> None:
    frame = pl.DataFrame({"x": [k / 7 for k in range(60)], "label": ["yes", "no", "N/A"] * 20})
    assert "N/A counts as a class" in {one.column: one.why for one in guess(frame)}["label"]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"x": [k / 7 for k in range(60)]}),
        pl.DataFrame({"label": [0, 1] * 30}),
        pl.DataFrame({"label": [0, 1] * 30, "id": range(60)}),
    ],
)
def test_hopeless_tables_are_refused(frame: pl.DataFrame) -> None:
    with pytest.raises(DataError):
        guess(frame)


@pytest.mark.parametrize(
    "name", ['a "quoted" name', "dots.in.it", "emoji 💬", "tab\there", "back\\slash", "'", "del\x7f", "#", "[x]"]
)
def test_odd_names_survive_toml(here: Path, capsys: Capture, name: str) -> None:
    pl.DataFrame({name: [k / 7 for k in range(60)], "label": [0, 1] * 30}).write_parquet(here / "t.parquet")
    assert tacit(capsys, "init", "--from", "t.parquet").code == 0
    assert plans.load(Path("plan.toml")).data.columns.numeric == (name,)


def test_quoted_keeps_every_character() -> None:
    import tomllib

    text = "".join(map(chr, range(1, 0x300))) + "💬"
    assert tomllib.loads(f"x = {quoted(text)}")["x"] == text


def test_clients_hold_twenty_rows_at_least() -> None:
    assert [clients_for(rows) for rows in (10, 100, 1000, 10**6)] == [2, 4, 40, 100]


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
    done = tacit(capsys, "run", "plan.toml", "-o", "server.rounds=3", "-o", "features.buckets=50", "-o", "baselines=[]", "--quiet")
    assert done.code == 0, done.err
    page = (here / "runs" / "odd-table-1" / "report.html").read_text(encoding="utf-8")
    assert "yes 💯" in page
    assert tacit(capsys, "privacy", "odd-table-1").code == 0
