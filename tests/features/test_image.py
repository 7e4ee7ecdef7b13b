import numpy as np
import polars as pl
import pytest

from tacit.errors import DataError
from tacit.features import count_inputs, encode, fit
from tacit.plan import Columns, Features

COLUMNS = Columns(image="image", label="digit")
PIXELS = np.arange(12, dtype=np.uint8).reshape(2, 2, 3) * 23


def frame(series):
    return pl.DataFrame({"image": series, "digit": [3, 10]})


@pytest.mark.parametrize(
    "series",
    [
        pl.Series(PIXELS),
        pl.Series(PIXELS.reshape(2, 6)),
        pl.Series(PIXELS.reshape(2, 6).tolist(), dtype=pl.List(pl.UInt8)),
        pl.Series(PIXELS.tolist(), dtype=pl.List(pl.List(pl.Int64))),
    ],
)
def test_bytes_become_brightness(series):
    fitted = fit(frame(series), COLUMNS, Features())
    rows = encode(frame(series), COLUMNS, Features(), fitted)
    assert rows.inputs.width == count_inputs(COLUMNS, Features(), fitted) == fitted.pixels == 6
    assert rows.inputs.matrix.dtype == np.float32
    np.testing.assert_array_equal(
        rows.inputs.matrix, PIXELS.reshape(2, 6).astype(np.float32) / np.float32(255)
    )
    assert rows.classes == ("3", "10")
    assert fitted.released == ()
    assert encode(frame(series).clear(), COLUMNS, Features(), fitted).inputs.matrix.shape == (0, 6)


@pytest.mark.parametrize(
    "values",
    [
        [[1, 2], [3]],
        [[1, 2], None],
        [[1, None], [1, 2]],
        [[1, 256], [1, 2]],
        [[-1, 2], [1, 2]],
        [[0.5, 1.0], [0.0, 0.0]],
        [[], []],
        ["a", "b"],
    ],
)
def test_what_is_no_image_is_refused(values):
    series = frame(pl.Series(values, strict=False))
    with pytest.raises(DataError, match=r"features\(image='image'\): the column must hold"):
        encode(series, COLUMNS, Features(), fit(series, COLUMNS, Features()))


def test_another_size_than_in_training_is_refused():
    fitted = fit(frame(pl.Series([[1, 2], [3, 4]])), COLUMNS, Features())
    with pytest.raises(
        DataError, match="must hold 2 values per image, as in training, but it has 3"
    ):
        encode(frame(pl.Series([[1, 2, 3], [3, 4, 5]])), COLUMNS, Features(), fitted)
