from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given as cases
from hypothesis import strategies as st

from tacit.column_statistics.statistics import sort_naturally
from tacit.data import load
from tacit.data.roles.roles import merge_roles
from tacit.errors import DataError
from tacit.plan import GIVEN, Columns, Data
from tacit.randomness import Draws

TEXT = Columns(text=("text",), label="label")


def rows(count: int = 20) -> list[dict[str, object]]:
    return [
        {
            "text": f"t{number}",
            "label": number % 2,
            "age": number,
            "town": "Bern" if number % 3 else "Rom",
        }
        for number in range(count)
    ]


def plan(columns: Columns = TEXT, **settings: object) -> Data:
    return Data(source=GIVEN, columns=columns, **settings)  # type: ignore[arg-type]


def test_random_hold_out_is_exact_and_repeatable(draws: Draws) -> None:
    first, second = load(plan(test=0.25), draws, rows()), load(plan(test=0.25), draws, rows())
    assert (first.train.height, first.test.height) == (15, 5)
    assert first.train.equals(second.train)
    assert set(first.train["text"]) | set(first.test["text"]) == {
        f"t{number}" for number in range(20)
    }
    assert not first.train.equals(load(plan(test=0.25), Draws.seeded(8), rows()).train)


def test_validation_takes_train_rows_and_puts_the_test_rows_aside(draws: Draws) -> None:
    whole, chosen = (
        load(plan(test=0.25), draws, rows()),
        load(plan(test=0.25, validation=0.2), draws, rows()),
    )
    assert (chosen.train.height, chosen.test.height) == (12, 3)
    assert not set(chosen.test["text"]) & set(whole.test["text"])
    assert set(chosen.train["text"]) | set(chosen.test["text"]) == set(whole.train["text"])
    assert "test rows are not used" in chosen.source


def test_no_hold_out(draws: Draws) -> None:
    table = load(plan(test=0.0), draws, rows())
    assert (table.train.height, table.test.height) == (20, 0)


@pytest.mark.parametrize(
    ("marks", "train", "test"),
    [
        (["train", "Test", "dev", "train"], 2, 1),
        (["train", "dev", "dev", "train"], 2, 2),
        (["train"] * 4, 3, 1),
    ],
)
def test_split_column(draws: Draws, marks: list[str], train: int, test: int) -> None:
    given = [{"text": "x", "label": number // 2, "part": mark} for number, mark in enumerate(marks)]
    table = load(plan(Columns(text=("text",), label="label", split="part")), draws, given)
    assert (table.train.height, table.test.height) == (train, test)


def test_split_without_train_is_refused(draws: Draws) -> None:
    with pytest.raises(DataError, match=r"marks no rows as train \(2 other marks\)") as refusal:
        load(plan(Columns(text=("text",), label="label", split="town")), draws, rows())
    assert "bern" not in str(refusal.value).lower()


def test_limit_cuts_both_halves(draws: Draws) -> None:
    table = load(plan(test=0.5, limit=6), draws, rows())
    assert (table.train.height, table.test.height) == (6, 6)
    assert "at most 6 rows" in table.source


def test_what_is_held_out_of_an_owner_s_rows_depends_on_no_other_owner(draws: Draws) -> None:
    columns = Columns(text=("text",), label="label", client="who")
    rest = [
        {"text": f"t{number}", "label": number % 2, "who": f"w{number % 9}"}
        for number in range(900)
    ]
    more = [{"text": "x", "label": 0, "who": "v"} for _ in range(77)]
    tables = [
        load(plan(columns, partition="client", test=0.3), draws, given)
        for given in (rest, [*more, *rest], rest[:899])
    ]
    kept = [
        table.train.filter((pl.col("who") != "v") & (pl.col("text") != "t899"))["text"].to_list()
        for table in tables
    ]
    assert kept[0] == kept[1] == kept[2]
    assert 0.2 < tables[0].test.height / 900 < 0.4
    alone = load(
        plan(columns, partition="client", test=0.9),
        draws,
        [*rest[:2], {"text": "y", "label": 0, "who": "only"}],
    )
    assert "only" in alone.train["who"].to_list(), "an owner keeps a row"


def test_only_columns_with_a_role_are_kept(draws: Draws) -> None:
    assert set(load(plan(), draws, rows()).train.columns) == {"text", "label"}


def test_what_is_missing_is_named_or_dropped_and_counted(draws: Draws) -> None:
    given = [
        {"text": None, "label": "a", "age": 1.0, "town": None},
        {"text": "x", "label": "b", "age": None, "town": "Rom"},
        {"text": "x", "label": None, "age": 50.0, "town": "Rom"},
        {"text": "x", "label": " ", "age": 50.0, "town": "Rom"},
        {"text": "x", "label": "b", "age": math.nan, "town": ""},
        {"text": "x", "label": "a", "age": 3.0, "town": "Bern"},
        {"text": "x", "label": "a", "age": 8.0, "town": "Bern"},
    ]
    table = load(
        plan(
            Columns(text=("text",), label="label", numeric=("age",), categorical=("town",)),
            test=0.0,
        ),
        draws,
        given,
    )
    assert table.train["text"].to_list() == ["", "x", "x", "x", "x"]
    assert table.train["age"].to_list() == [1, None, None, 3, 8]
    assert table.train["town"].to_list() == ["(missing)", "Rom", "(missing)", "Bern", "Bern"]
    assert "2 rows without a label were dropped" in table.source
    assert "2 cells of 'age' have no number and count as the middle of its range" in table.source


def test_a_column_may_lack_most_numbers_but_not_hold_other_words(draws: Draws) -> None:
    columns = Columns(numeric=("x",), label="label")
    sparse = [
        {"x": value, "label": number % 2}
        for number, value in enumerate(["", None, "NA", "n/a", "7", "8"])
    ]
    assert load(plan(columns, test=0.0), draws, sparse).train["x"].to_list() == [
        None,
        None,
        None,
        None,
        7,
        8,
    ]
    for cells in (["", "low", "high", "7"], ["", "", "", ""]):
        with pytest.raises(DataError, match=r"'x' has no number in [34] of 4 cells"):
            load(
                plan(columns, test=0.0),
                draws,
                [{"x": cell, "label": number % 2} for number, cell in enumerate(cells)],
            )


def test_numbers_written_as_text(draws: Draws, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;label\n1,5;a\n-2,25;b\n n/a ;a\n4;b\n")
    table = load(
        Data(source=str(path), columns=Columns(numeric=("x",), label="label"), test=0.0), draws
    )
    assert table.train["x"].to_list() == [1.5, -2.25, None, 4.0]
    assert "numbers in 'x' were read with a decimal comma" in table.source


def test_thousands_marks(draws: Draws) -> None:
    given = [
        {"x": value, "label": number % 2}
        for number, value in enumerate(["1,234", "12,345,678.5", "7"])
    ]
    table = load(plan(Columns(numeric=("x",), label="label"), test=0.0), draws, given)
    assert table.train["x"].to_list() == [1234, 12_345_678.5, 7]
    assert "commas in 'x' were read as thousands separators" in table.source


def test_words_in_a_numeric_column_are_refused(draws: Draws) -> None:
    with pytest.raises(DataError, match="categorical"):
        load(plan(Columns(numeric=("text",), label="label")), draws, rows())


def test_label_classes_stand_in_natural_order(draws: Draws) -> None:
    given = [{"text": "x", "label": label} for label in (10, 2, 10, 1, 2, 1)]
    label = load(plan(test=0.0), draws, given).train["label"]
    assert label.dtype == pl.Enum(["1", "2", "10"])
    assert label.to_physical().to_list() == [2, 1, 2, 0, 1, 0]


def test_every_class_has_train_rows(draws: Draws) -> None:
    given = [
        {"text": "x", "label": label, "part": part}
        for label, part in zip("abca", ("train", "train", "test", "test"), strict=True)
    ]
    table = load(plan(Columns(text=("text",), label="label", split="part")), draws, given)
    assert table.test["label"].to_list() == ["a"]
    assert table.test["label"].dtype == pl.Enum(["a", "b"])
    assert "1 test rows of classes without train rows" in table.source


def test_whole_floats_are_classes(draws: Draws) -> None:
    given = [{"text": "x", "label": label} for label in (1.0, 0.0, None, 1.0)]
    assert load(plan(test=0.0), draws, given).train["label"].to_list() == ["1", "0", "1"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([None, None, None], "column is empty"),
        (["a", "a", "a"], "two classes"),
        ([0.1, 0.2, 0.3], "decimal"),
        ([f"id{number}" for number in range(300)], "are not classes"),
        ([[1], [2], [1]], "one plain value"),
    ],
)
def test_labels_nothing_can_be_learnt_from(draws: Draws, labels: list[object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        load(plan(), draws, [{"text": "x", "label": label} for label in labels])


def test_missing_column_names_those_that_exist(draws: Draws) -> None:
    with pytest.raises(
        DataError,
        match=(
            r"data\.columns\.label = 'lable': there is no such column; the columns are text, label.* Did you mean"
            r" 'label'"
        ),
    ):
        load(plan(Columns(text=("text",), label="lable")), draws, rows())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"columns": Columns(text=("text",))}, "column to predict"),
        ({"columns": Columns(label="label")}, "to learn from"),
        ({"columns": TEXT, "partition": "client"}, r"data\.columns\.client"),
        ({"columns": TEXT, "partition": "quantile", "by": "agee"}, "Did you mean 'age'"),
    ],
)
def test_plans_that_do_not_fit_the_columns(
    draws: Draws, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        load(Data(source=GIVEN, **settings), draws, rows())  # type: ignore[arg-type]


def test_unknown_source_lists_the_known_ones(draws: Draws) -> None:
    with pytest.raises(DataError, match=r"imdb.* Did you mean 'newsgroups20'"):
        load(Data(source="newsgroup20"), draws)


def test_rows_without_an_owner_are_dropped(draws: Draws) -> None:
    given = [
        {"text": "x", "label": number % 2, "who": None if number == 3 else number}
        for number in range(6)
    ]
    table = load(
        plan(Columns(text=("text",), label="label", client="who"), partition="client", test=0.0),
        draws,
        given,
    )
    assert table.train.height == 5


def test_images_as_lists(draws: Draws) -> None:
    given = [{"image": [number, 0, 255, 7], "label": number % 2} for number in range(6)]
    table = load(plan(Columns(image="image", label="label")), draws, given)
    assert table.train["image"].dtype == pl.Array(pl.UInt8, 4)
    with pytest.raises(DataError, match="one size"):
        load(
            plan(Columns(image="image", label="label")), draws, [*given, {"image": [1], "label": 0}]
        )


def test_plan_roles_stand_over_the_sets_own() -> None:
    default = Columns(text=("a", "b"), label="y", numeric=("n",), split="s", quasi=("n",))
    roles = merge_roles(default, Columns(categorical=("n",), label="b"))
    assert roles == Columns(text=("a",), label="b", categorical=("n",), split="s", quasi=("n",))


def test_natural_order_of_odd_words_is_alphabetical() -> None:
    assert (
        sort_naturally(["nan", "1", "inf"])
        == sort_naturally(["inf", "nan", "1"])
        == ["1", "inf", "nan"]
    )


@cases(st.lists(st.integers(-1000, 1000), unique=True))
def test_natural_order_of_numbers_is_by_value(numbers: list[int]) -> None:
    assert sort_naturally([str(number) for number in numbers]) == [
        str(number) for number in sorted(numbers)
    ]


def test_test_rows_may_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}).write_csv(tmp_path / "train.csv")
    pl.DataFrame({"y": ["a", "b"], "x": [9, 8], "more": ["p", "q"]}).write_csv(
        tmp_path / "test.csv"
    )
    data = Data(
        source=str(tmp_path / "train.csv"), test_source=str(tmp_path / "test.csv"), columns=Columns(numeric=("x",), label="y"),
    )  # fmt: skip
    found = load(data, Draws.seeded(0))
    assert found.train["x"].to_list() == [1, 2, 3, 4]
    assert found.test["x"].to_list() == [9, 8]
    assert "test rows are those of" in found.source
    pl.DataFrame({"y": ["a", "b"]}).write_csv(tmp_path / "test.csv")
    with pytest.raises(DataError, match=r"lacks columns of data\.source: 'x'"):
        load(data, Draws.seeded(0))
