"""Public rows: some of the train rows, or those of another source."""

from pathlib import Path

import polars as pl
import pytest

from tacit.data import load, set_aside
from tacit.errors import DataError
from tacit.plan import Columns, Data, Public
from tacit.randomness import Draws

COLUMNS = Columns(text=("text",), label="label")


def table(folder: Path):
    rows = pl.DataFrame(
        {
            "text": [f"row {n}" for n in range(100)],
            "label": ["no", "yes"] * 50,
            "user": list(range(100)),
        }
    )
    rows.write_csv(folder / "own.csv")
    return load(Data(source=str(folder / "own.csv"), columns=COLUMNS), Draws.seeded(1))


def test_rows_of_another_file_leave_the_table_as_it_is(tmp_path):
    own = table(tmp_path)
    pl.DataFrame(
        {"label": ["yes", "no"] * 20, "text": [f"public {n}" for n in range(40)]}
    ).write_csv(tmp_path / "other.csv")
    left, public = set_aside(
        own, Public(source=str(tmp_path / "other.csv"), share=0.5), Draws.seeded(2)
    )
    assert left is own
    assert public.height == 20  # half of all rows: nothing is held out of a public file
    assert public["text"].str.starts_with("public").all()
    assert public.schema["label"] == own.train.schema["label"]


def test_a_share_of_the_train_rows_is_taken_from_clients(tmp_path):
    own = table(tmp_path)
    left, public = set_aside(own, Public(share=0.25), Draws.seeded(2))
    assert sorted([*left.train["text"], *public["text"]]) == sorted(own.train["text"])
    assert public.height == 20


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            {"words": ["a", "b"] * 5, "label": ["no", "yes"] * 5},
            "data.columns.text = 'text': there is no such column",
        ),
        (
            {"text": ["a", "b"] * 5, "label": ["no", "perhaps"] * 5},
            "has labels that the clients do not have: perhaps; rename them to no, yes",
        ),
    ],
)
def test_other_columns_and_classes_are_refused(tmp_path, rows, said):
    own = table(tmp_path)
    pl.DataFrame(rows).write_csv(tmp_path / "other.csv")
    with pytest.raises(DataError, match=said):
        set_aside(own, Public(source=str(tmp_path / "other.csv"), share=1.0), Draws.seeded(2))
