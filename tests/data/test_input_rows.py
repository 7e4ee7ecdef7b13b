from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tacit.data.input_rows import from_hub, from_input_rows
from tacit.data.load import load
from tacit.errors import DataError
from tacit.plan import GIVEN, Columns, Data
from tacit.randomness import Draws

ROWS = [{"text": "good", "label": 1}, {"text": "bad", "label": 0}]


def test_polars_and_lazy() -> None:
    frame = pl.DataFrame(ROWS)
    assert from_input_rows(frame)[0].equals(frame)
    assert from_input_rows(frame.lazy())[0].equals(frame)


def test_arrow() -> None:
    frame = pl.DataFrame(ROWS)
    assert from_input_rows(frame.to_arrow())[0].equals(frame)


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    assert from_input_rows(pandas.DataFrame(ROWS))[0].to_dicts() == ROWS


def test_iterables_of_dicts() -> None:
    assert from_input_rows(row for row in ROWS)[0].to_dicts() == ROWS
    assert from_input_rows({"text": ["good", "bad"], "label": [1, 0]})[0].to_dicts() == ROWS


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, "rows must be a DataFrame, .* or an iterable of dicts, got NoneType; pass the rows"),
        (7, "rows must be a DataFrame, .* or an iterable of dicts, got int; pass the rows"),
        ("text", "rows must be a table, got a text; for a file"),
        ([1, 2], "row 1 is int and has no column names; pass dicts or a DataFrame"),
        ([], "rows is empty; pass at least a few"),
        (
            {"a": [1, 2], "b": [1]},
            r"rows must have columns of plain values and equal length \(ShapeError\)",
        ),
    ],
)
def test_what_is_no_table_is_refused(given: Any, error: str) -> None:
    with pytest.raises(DataError, match=error):
        from_input_rows(given)


def test_dataset_and_its_parts(tmp_path: Path, draws: Draws) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
    )
    part = datasets.Dataset.from_list([*ROWS, {"text": "?", "label": -1}], features=features)
    assert from_input_rows(part)[0]["label"].to_list() == [1, 0, None]
    assert from_input_rows(part.select([1]))[0]["text"].to_list() == ["bad"]
    both = datasets.DatasetDict({"train": part, "test": part.select([0])})
    both.save_to_disk(tmp_path / "saved")
    columns = Columns(text=("text",), label="label")
    for data, given in (
        (Data(source=GIVEN, columns=columns), both),
        (Data(source=f"hf:{tmp_path / 'saved'}", columns=columns), None),
    ):
        table = load(data, draws, given)
        assert (table.train.height, table.test.height) == (2, 1)
        assert "1 rows without a label" in table.source


def test_a_split_column_of_ones_own_is_not_overwritten() -> None:
    datasets = pytest.importorskip("datasets")
    part = datasets.Dataset.from_list(
        [{**row, "split": f"mine {number}"} for number, row in enumerate(ROWS)]
    )
    frame, split = from_input_rows(datasets.DatasetDict({"train": part, "test": part}))
    assert frame["split"].to_list() == ["mine 0", "mine 1"] * 2
    assert frame[split or ""].to_list() == ["train", "train", "test", "test"]


def test_column_names_with_control_characters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"the table of rows: the column name '\\x00client' has a control character",
    ):
        from_input_rows([{"\0client": 1}])
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list([{"\x1bclient": 1}]).save_to_disk(tmp_path / "saved")
    with pytest.raises(DataError, match="has a control character"):
        from_hub(str(tmp_path / "saved"))


def test_pictures_of_a_dataset(draws: Draws) -> None:
    datasets, image = pytest.importorskip("datasets"), pytest.importorskip("PIL.Image")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    rows = [
        {"image": image.new("RGB", (4, 4), (shade, 0, 0)), "label": shade % 2} for shade in range(6)
    ]
    table = load(
        Data(source=GIVEN, columns=Columns(image="image", label="label")),
        draws,
        datasets.Dataset.from_list(rows, features=features),
    )
    assert table.train["image"].dtype == pl.Array(pl.UInt8, 48)


def test_hub_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"tacit\[hf\]"):
        from_hub("anything")
