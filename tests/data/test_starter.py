"""A plan to start from for a table: from a file, and from rows in Python."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tacit
from tacit.data.roles.starter import build_starter
from tacit.errors import DataError

ROWS = [
    {"review": f"{word} film number {n}, seen", "opinion": word, "age": n % 60}
    for n in range(100)
    for word in ("good", "bad")
]


def test_a_file_and_its_rows_get_the_same_settings(tmp_path: Path) -> None:
    file = tmp_path / "my reviews.csv"
    pl.DataFrame(ROWS).write_csv(file)
    ours, theirs = tacit.starter_plan(file), tacit.starter_plan(ROWS)
    assert ours.name == "my-reviews"
    assert (ours.data.source, theirs.data.source) == (str(file), "given")
    assert (
        ours.data.columns
        == theirs.data.columns
        == tacit.Columns(text=("review",), numeric=("age",), label="opinion")
    )
    assert ours.codec == theirs.codec
    assert ours.data.clients == 160
    assert (ours.codec.name, ours.codec.epsilon, ours.codec.delta) == ("dp_sum", 8.0, 1e-5)


def test_the_label_can_be_named() -> None:
    assert tacit.starter_plan(ROWS, label="age").data.columns.label == "age"
    with pytest.raises(DataError, match="no such column"):
        tacit.starter_plan(ROWS, label="opinions")


def test_the_starter_plan_runs(tmp_path: Path) -> None:
    from dataclasses import replace

    plan = tacit.starter_plan(ROWS)
    (tmp_path / "words.txt").write_text("good\nbad\nfilm\n")
    words = replace(plan.features, list=str(tmp_path / "words.txt"))
    small = replace(
        plan, baselines=(), server=replace(plan.server, rounds=1, evaluate_every=1), features=words
    )
    assert tacit.run(small, rows=ROWS, folder=tmp_path).metrics.height == 1


def test_each_guess_has_a_reason() -> None:
    assert all(guess.why for guess in build_starter(ROWS).guesses)


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match="unknown file type"):
        build_starter("notes.docx")


def test_a_named_data_set_is_named_in_a_plan() -> None:
    with pytest.raises(DataError, match=r"adult is a named data set.*source = 'adult'"):
        build_starter("adult")


def test_text_of_any_script_and_columns_with_outliers_get_settings_that_read_them() -> None:
    english, russian = (
        tacit.starter_plan(ROWS),
        tacit.starter_plan(
            [{**row, "review": f"хороший фильм номер {n}, смотрел"} for n, row in enumerate(ROWS)]
        ),
    )
    assert (english.features.words, english.features.text, english.features.numeric) == (
        "unicode",
        "listed",
        "robust",
    )
    assert (russian.features.words, russian.features.text) == ("unicode", "binary")
