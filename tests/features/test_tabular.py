import math
from functools import partial

import numpy as np
import polars as pl
import pytest

from tacit.errors import DataError, PlanError
from tacit.features import Fitted, count_inputs, encode, fit, list_blocks
from tacit.plan import Columns, Features

ADULT = pl.DataFrame(
    {
        "age": [17, 90, 53, 17],
        "hours": [0, 3, 1, 2],
        "race": ["White", "Black", "Asian-Pac-Islander", "White"],
        "sex": ["Male", "Female", "Male", "Female"],
        "text": ["cats and", "", "dogs", "dog dog"],
        "income": ["<=50K", ">50K", ">50K", "<=50K"],
    }
)
COLUMNS = Columns(numeric=("age", "hours"), categorical=("race", "sex"), label="income")
MIXED = Columns(
    text=("text",), numeric=("age", "hours"), categorical=("race", "sex"), label="income"
)
All = partial(Features, category_clients=1)  # these tables have a handful of rows
E1, E2 = All(categorical="codes"), All(categorical="onehot")


def encoded(frame, columns, settings, train=ADULT):
    return encode(frame, columns, settings, fit(train, columns, settings))


def full(sparse):
    matrix = np.zeros((len(sparse), sparse.width), np.float32)
    rows = np.repeat(np.arange(len(sparse)), np.diff(sparse.starts))
    matrix[rows, sparse.columns] = sparse.values
    return matrix


def test_e1_integer_codes_scaled():
    rows = encoded(ADULT, COLUMNS, E1)
    assert rows.inputs.matrix.dtype == np.float32
    expected = [[0, 0, 1, 1], [1, 1, 0.5, 0], [36 / 73, 1 / 3, 0, 1], [0, 2 / 3, 1, 0]]
    np.testing.assert_allclose(rows.inputs.matrix, expected, rtol=1e-6)
    assert rows.labels.tolist() == [0, 1, 1, 0]
    assert rows.labels.dtype == np.int32
    assert rows.classes == ("<=50K", ">50K")


def test_e2_one_hot():
    inputs = encoded(ADULT, COLUMNS, E2).inputs
    assert inputs.width == 2 + 3 + 2
    assert inputs.matrix[:, 2:].tolist() == [
        [0, 0, 1, 0, 1],
        [0, 1, 0, 1, 0],
        [1, 0, 0, 0, 1],
        [0, 0, 1, 1, 0],
    ]


@pytest.mark.parametrize("settings", [E1, E2])
def test_categories_that_say_nothing_are_zero_and_missing_numbers_the_middle(settings):
    odd = ADULT.head(1).with_columns(
        age=pl.lit(None, pl.Int64),
        hours=pl.lit(math.nan),
        race=pl.lit("Martian"),
        sex=pl.lit(None, pl.String),
    )
    matrix = encoded(odd, COLUMNS, settings).inputs.matrix
    assert matrix[:, :2].tolist() == [[0.5, 0.5]]
    assert not matrix[:, 2:].any()


HOLES = ADULT.with_columns(hours=pl.Series([0, None, 1, None]))


@pytest.mark.parametrize(
    ("numeric", "values"), [("minmax", [0, 0.5, 1, 0.5]), ("robust", [-1, 0, 1, 0]), ("raw", [0, 0, 1, 0])]
)  # fmt: skip
def test_a_missing_number_is_a_fixed_value_and_one_more_input_says_that_it_is_missing(
    numeric, values
):
    settings = All(numeric=numeric, categorical="codes")
    rows = encoded(HOLES, COLUMNS, settings, train=HOLES)
    assert rows.inputs.matrix[:, 1].tolist() == values
    assert rows.inputs.matrix[:, 2].tolist() == [
        0,
        1,
        0,
        1,
    ], "after all numbers, before the categories"
    assert rows.inputs.width == count_inputs(COLUMNS, settings, fit(HOLES, COLUMNS, settings)) == 5
    found = list_blocks(COLUMNS, settings, fit(HOLES, COLUMNS, settings))
    assert [(one.kind, one.name, one.start) for one in found[1:4]] == [
        ("number", "hours", 1), ("missing", "hours", 2), ("number", "race", 3),
    ]  # fmt: skip


def test_the_plan_may_say_in_which_columns_numbers_are_missing():
    agreed = All(ranges={"age": (0.0, 100.0), "hours": (0.0, 10.0)}, missing=("age",))
    fitted = fit(HOLES, Columns(numeric=("age", "hours"), label="income"), agreed)
    assert fitted.missing == ("age",)
    assert fitted.released == (), "nothing is read of rows"
    with pytest.raises(
        PlanError, match=r"features\.missing names race, but the numeric columns are"
    ):
        fit(HOLES, COLUMNS, All(missing=("race",)))


def test_outside_the_range_is_clamped_and_a_constant_is_zero():
    odd = ADULT.head(2).with_columns(age=pl.Series([-5, 500]))
    assert encoded(odd, COLUMNS, E1).inputs.matrix[:, 0].tolist() == [0, 1]
    constant = ADULT.with_columns(age=pl.lit(7))
    assert not encoded(ADULT, COLUMNS, E1, train=constant).inputs.matrix[:, 0].any()


def test_huge_numbers_scale_without_overflow():
    frame = ADULT.with_columns(age=pl.Series([-1.7e308, 1.7e308, 0.0, 0.0]))
    assert encoded(frame, COLUMNS, E1, train=frame).inputs.matrix[:, 0].tolist() == [0, 1, 0.5, 0.5]
    with pytest.raises(DataError, match="exceeds float32"):
        encoded(frame, COLUMNS, All(numeric="raw"), train=frame)


def test_raw_numbers_stay_and_text_that_spells_numbers_is_read():
    frame = ADULT.with_columns(age=pl.Series([" 17", "9e1", "", "-2.5"]))
    assert encoded(frame, COLUMNS, All(numeric="raw"), train=frame).inputs.matrix[
        :, 0
    ].tolist() == [17, 90, 0, -2.5]


def test_infinite_values_are_refused():
    frame = ADULT.with_columns(age=pl.Series([1.0, math.inf, 2.0, 3.0]))
    with pytest.raises(DataError, match=r"an infinite value in row 1"):
        fit(frame, COLUMNS, E1)


@pytest.mark.parametrize("settings", [E1, E2])
def test_mixed_rows_are_text_then_the_others(settings):
    inputs = encoded(ADULT, MIXED, settings).inputs
    text = encoded(ADULT, Columns(text=("text",), label="income"), settings).inputs
    other = encoded(ADULT, COLUMNS, settings).inputs
    assert inputs.width == 5000 + other.width
    assert inputs.columns.dtype == np.int32
    assert inputs.values.dtype == np.float32
    assert (inputs.values != 0).all()
    matrix = full(inputs)
    np.testing.assert_array_equal(matrix[:, 5000:], other.matrix)
    for i in range(len(ADULT)):
        assert (
            np.flatnonzero(matrix[i, :5000]).tolist()
            == text.columns[text.starts[i] : text.starts[i + 1]].tolist()
        )
        assert (np.diff(inputs.columns[inputs.starts[i] : inputs.starts[i + 1]]) > 0).all()


def test_sequences_stand_beside_the_others():
    settings = All(text="sequence", length=3)
    inputs = encoded(ADULT, MIXED, settings).inputs
    np.testing.assert_array_equal(
        inputs.dense.matrix, encoded(ADULT, COLUMNS, settings).inputs.matrix
    )
    text = encoded(ADULT, Columns(text=("text",), label="income"), settings).inputs
    np.testing.assert_array_equal(inputs.tokens.matrix, text.matrix)
    assert (len(inputs), inputs.width) == (len(ADULT), 5001)
    assert inputs.take(np.array([2])).dense.matrix.tolist() == inputs.dense.matrix[2:3].tolist()


@pytest.mark.parametrize("columns", [COLUMNS, MIXED, Columns(text=("text",), label="income")])
def test_order_width_empty_tables_and_determinism(columns):
    for settings in (E1, E2):
        fitted = fit(ADULT, columns, settings)
        rows = encode(ADULT, columns, settings, fitted)
        assert rows.inputs.width == count_inputs(columns, settings, fitted)
        turned = encode(ADULT.reverse(), columns, settings, fitted).take(np.array([3, 2, 1, 0]))
        again = encode(ADULT, columns, settings, fitted)
        for other in (turned, again):
            assert other.labels.tolist() == rows.labels.tolist()
            for name, value in vars(rows.inputs).items():
                np.testing.assert_array_equal(vars(other.inputs)[name], value)
        assert (
            len(encode(ADULT.clear(), columns, settings, fitted))
            == len(encode(ADULT.clear(), columns, settings, fitted).inputs)
            == 0
        )


def test_an_unknown_label_is_named():
    with pytest.raises(
        DataError,
        match=(r"'1M' in row 0 \(1 such rows\) is none of the training classes <=50K, >50K"),
    ):
        encoded(ADULT.head(1).with_columns(income=pl.lit("1M")), COLUMNS, E1)
    with pytest.raises(DataError, match="an empty cell in row 0"):
        encoded(ADULT.head(1).with_columns(income=pl.lit("")), COLUMNS, E1)


def test_a_fit_of_another_plan_is_refused():
    fitted = Fitted(classes=("<=50K", ">50K"), ranges={}, categories={})
    with pytest.raises(DataError, match="fit with the same plan"):
        encode(ADULT, COLUMNS, E1, fitted)


def test_a_robust_range_is_not_stretched_by_a_few_values():
    frame = pl.DataFrame(
        {"pressure": [*range(100, 200), 16_000, -5, None], "label": ["a", "b"] * 51 + ["a"]}
    )
    columns, robust = Columns(numeric=("pressure",), label="label"), Features(numeric="robust")
    fitted = fit(frame, columns, robust)
    values = encode(frame, columns, robust, fitted).inputs.matrix[:, 0]
    assert fitted.ranges == {"pressure": (100.0, 199.0)}
    assert fitted.released[0] == "1st and 99th percentile of pressure"
    assert values[[0, 99, 100, 101, 102]].tolist() == [-1, 1, 1, -1, 0]
    agreed = Features(numeric="robust", ranges={"pressure": (0.0, 400.0)}, missing=())
    assert fit(frame, columns, agreed).released == ()


def test_a_column_that_hardly_varies_keeps_its_whole_range():
    frame = pl.DataFrame({"gain": [0] * 300 + [5], "label": ["a"] * 300 + ["b"]})
    columns, robust = Columns(numeric=("gain",), label="label"), Features(numeric="robust")
    assert fit(frame, columns, robust).ranges == {"gain": (0.0, 5.0)}
