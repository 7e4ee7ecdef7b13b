"""Columns as channels: exact bounds and middles, tokens without an order, and settings that cannot work."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tacit.errors import DataError, PlanError
from tacit.features import Fitted, count_inputs, encode, fit
from tacit.features.quantise import list_midpoints, list_tokens
from tacit.plan import Columns, Features, Quantise

SECRET = bytes(range(16))
FRAME = pl.DataFrame(
    {
        "age": [0, 24, 25, 99, 100, None],
        "pay": [1, 2, 3, 4, 5, 6],
        "word": list("abcdef"),
        "y": list("nynyny"),
    }
)
COLUMNS = Columns(numeric=("age", "pay"), label="y")
AGREED = {"age": (0.0, 100.0), "pay": (0.0, 8.0)}


def features(**settings) -> Features:
    return Features(ranges=AGREED, missing=(), quantise=Quantise(**settings))


def inputs(
    settings: Features,
    frame: pl.DataFrame = FRAME,
    columns: Columns = COLUMNS,
    secret: bytes = SECRET,
) -> np.ndarray:
    rows = encode(frame, columns, settings, fit(FRAME, columns, settings, secret), secret).inputs
    if hasattr(rows, "matrix"):
        return rows.matrix
    full = np.zeros((len(rows), rows.width), np.float32)
    full[np.repeat(np.arange(len(rows)), np.diff(rows.starts)), rows.columns] = rows.values
    return full


def test_a_value_becomes_the_middle_of_its_channel_and_a_lower_bound_belongs_to_its_channel() -> (
    None
):
    made = inputs(features(levels=2))
    assert made[:, 0].tolist() == [
        0.125,
        0.125,
        0.375,
        0.875,
        0.875,
        0.5,
    ]  # a missing number is the middle of the range
    assert made[:, 1].tolist() == [0.125, 0.375, 0.375, 0.625, 0.625, 0.875]
    beyond = pl.DataFrame({"age": [-5.0, 1e300], "pay": [0.0, math.nan], "y": ["n", "y"]})
    assert inputs(features(levels=2), beyond).tolist() == [[0.125, 0.125], [0.875, 0.5]]


@pytest.mark.parametrize("levels", [1, 5, 8, 16])
def test_no_value_is_off_by_more_than_half_a_channel(levels: int) -> None:
    values = np.random.default_rng(levels).uniform(0, 100, 2000)
    frame = pl.DataFrame({"age": values, "pay": values / 12.5, "y": ["n", "y"] * 1000})
    made = inputs(features(levels=levels), frame)
    assert np.abs(made - values[:, None] / 100).max() <= 0.5**levels / 2 + 1e-7
    assert len(np.unique(made[:, 0])) <= 2**levels


def test_agreed_ranges_are_not_read_from_rows() -> None:
    assert fit(FRAME, COLUMNS, features()).released == ()
    one = fit(
        FRAME, COLUMNS, Features(ranges={"age": (0.0, 100.0)}, missing=(), quantise=Quantise())
    )
    assert one.released == ("smallest and largest value of pay",)
    assert one.ranges == {"age": (0.0, 100.0), "pay": (1.0, 6.0)}


def test_only_the_named_columns_are_quantised() -> None:
    made = inputs(features(levels=1, columns=("age",)))
    assert made[:, 0].tolist() == [0.25, 0.25, 0.25, 0.75, 0.75, 0.5]
    assert made[:, 1].tolist() == [1 / 8, 2 / 8, 3 / 8, 4 / 8, 5 / 8, 6 / 8]


def test_tokens_are_one_input_per_channel_and_keep_equality_only() -> None:
    settings = features(levels=3, trained_on="tokens")
    made = inputs(settings)
    assert made.shape == (6, 16)
    assert count_inputs(COLUMNS, settings, fit(FRAME, COLUMNS, settings, SECRET)) == 16
    assert made.sum(axis=1).tolist() == [2, 2, 2, 2, 2, 1]  # no token for the missing number
    said = inputs(replace(settings, missing=("age",)))
    assert said[:, 16].tolist() == [0, 0, 0, 0, 0, 1]
    np.testing.assert_array_equal(said[:, :16], made)
    middles = inputs(features(levels=3))
    for column, block in ((0, made[:5, :8]), (1, made[:5, 8:])):
        equal = middles[:5, column, None] == middles[None, :5, column]
        assert ((block @ block.T > 0) == equal).all()


def test_another_secret_permutes_the_inputs_of_each_column_and_changes_nothing_else() -> None:
    settings = features(levels=4, trained_on="tokens")
    frame = pl.DataFrame(
        {"age": np.arange(100), "pay": np.arange(100) / 12.5, "y": ["n", "y"] * 50}
    )
    ours, other = inputs(settings, frame), inputs(settings, frame, secret=b"another")
    assert not (ours == other).all()
    for block in (slice(0, 16), slice(16, 32)):
        one, two = ({tuple(column) for column in made[:, block].T} for made in (ours, other))
        assert one == two


def test_nobody_reads_the_order_of_channels_off_tokens_and_a_twin_that_adds_a_secret_number_is_caught() -> (
    None
):
    settings, size, columns = Quantise(levels=6, trained_on="tokens"), 64, 300
    channels = np.arange(size)
    seen = [
        np.corrcoef(channels, list_tokens(f"column {n}", settings, SECRET))[0, 1]
        for n in range(columns)
    ]
    assert abs(np.mean(seen)) < 4 / math.sqrt(columns * (size - 1))
    assert np.std(seen) == pytest.approx(
        1 / math.sqrt(size - 1), rel=0.2
    )  # as for a uniform permutation
    steps = [
        (np.diff(list_tokens(f"column {n}", settings, SECRET)) == 1).mean() for n in range(columns)
    ]
    assert np.mean(steps) < 2 / size
    twin = (channels + 17) % size
    assert (np.diff(twin) == 1).mean() > 0.9


def test_coins_choose_the_level_of_each_finest_channel() -> None:
    settings = Quantise(levels=10, selection="subset", mean_level=6.0)
    read = list_midpoints("age", settings, SECRET).astype(np.float64)
    finest = (np.arange(1024) + 0.5) / 1024
    level = np.array(
        [next(at for at in range(11) if (value * 2**at) % 1 == 0.5) for value in read]
    )  # a middle tells its level
    assert abs(level.mean() - 6) < 4 * math.sqrt(10 * 0.6 * 0.4 / 1024)
    assert (np.abs(read - finest) <= 0.5 ** (level + 1)).all()
    assert (list_midpoints("pay", settings, SECRET) != read).any(), (
        "each column has coins of its own"
    )
    told = list_tokens("age", settings, SECRET)
    assert len(np.unique(told)) == len(np.unique(read))
    assert all(len(np.unique(read[told == one])) == 1 for one in np.unique(told)), (
        "a token stands for one channel"
    )


def test_rows_are_encoded_alike_whatever_stands_beside_them() -> None:
    for settings in (
        features(levels=3, trained_on="tokens"),
        features(levels=6, selection="last_head", mean_level=3.0),
    ):
        assert (inputs(settings)[2:4] == inputs(settings, FRAME[2:4])).all()


def test_what_was_fitted_is_kept_and_refuses_another_secret_without_showing_the_right_one() -> None:
    settings = features(levels=3, trained_on="tokens")
    fitted = fit(FRAME, COLUMNS, settings, SECRET)
    kept = json.dumps(fitted.to_dict())
    assert SECRET.hex() not in kept
    again = Fitted.from_dict(json.loads(kept))
    assert again == fitted
    assert encode(FRAME, COLUMNS, settings, again, SECRET).inputs.width == 16
    with pytest.raises(DataError, match="not the secret it was fitted with"):
        encode(FRAME, COLUMNS, settings, again, b"another")
    with pytest.raises(
        DataError, match="uses the clients' secret for tokens and random bits, and none is given"
    ):
        fit(FRAME, COLUMNS, settings)
    assert fit(FRAME, COLUMNS, features()).secret_check == "", (
        "mid-points of the finest channels need none"
    )


@pytest.mark.parametrize(
    ("settings", "columns", "match"),
    [
        (
            Features(quantise=Quantise(columns=("word",))),
            COLUMNS,
            "features.quantise.columns names word, but the numeric columns are",
        ),
        (
            Features(quantise=Quantise()),
            Columns(text=("word",), label="y"),
            "features.quantise requires a numeric column",
        ),
        (
            Features(ranges={"word": (0.0, 1.0)}),
            COLUMNS,
            "features.ranges names word, but the numeric columns are age, pay",
        ),
    ],
)
def test_columns_without_numbers_are_refused(
    settings: Features, columns: Columns, match: str
) -> None:
    with pytest.raises(PlanError, match=match):
        fit(FRAME, columns, settings)
