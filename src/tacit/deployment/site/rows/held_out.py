"""Which of a site's rows are held out, decided by the site alone: a row that was held out in one
run is trained on in none.

A keyed hash over the whole row, with the site's own secret, maps each row to a number between 0 and
1; a plan that holds out a share gets the rows below it. Neither the plan, its seed nor the run's
name change this. The largest share that any run held out is stored, and no later run trains on a
row below it.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.load import Split, read_marks
from tacit.errors import RunError
from tacit.files import replace_file
from tacit.plan import Columns, Data

FILE = "held_out.json"
MARK, LOCAL = "\x00mark", "\x00held out by its client"
"""Columns that a table has while it is read; no file has columns of these names."""
Marks = NDArray[np.uint64]
_WHOLE = 1 << 64


@dataclass(frozen=True)
class HeldOut:
    """The rows that a site never trains on again: marks below the largest share so far, and test
    rows by any split column that a run named.
    """

    folder: Path
    secret: bytes

    def split(self, data: Data) -> Split:
        """A function that divides the site's table, which has a column of marks, into train and
        test rows for a plan.

        Rows that a client holds out for itself (`data.local_test`) stay among the train rows, with
        a column that says so. A split column decides alone, row by row: what one client's rows say
        must not change which rows of others are held out.
        """

        def divide(
            frame: pl.DataFrame, columns: Columns, wanted: list[str]
        ) -> tuple[pl.DataFrame, pl.DataFrame, str]:
            marks = frame[MARK].to_numpy()
            share = 0.0 if columns.split else data.test
            first, last = _end(share), _end(1 - (1 - share) * (1 - data.local_test))
            tested, local = marks < first, (marks >= first) & (marks < last)
            reserved = self._reserve(last, columns.split, frame, marks)
            trained = ~reserved | local
            if columns.split:
                train, test = (one.to_numpy() for one in read_marks(frame, columns.split))
                tested, trained = test, trained & train
            trained &= ~tested
            kept = frame.select(wanted).with_columns(pl.Series(LOCAL, local))
            how = "held-out rows were chosen by this site's secret, the same in every run"
            return kept.filter(pl.Series(trained)), kept.filter(pl.Series(tested)), how

        return divide

    def marks(self, frame: pl.DataFrame) -> Marks:
        """A keyed hash of each row, over all columns of the file in their order."""
        key = hmac.digest(self.secret, b"tacit held-out rows", "sha256")
        parts = [_written(frame[name]) for name in frame.columns]
        digests = (
            hmac.digest(key, b"".join(row), "sha256")[:8] for row in zip(*parts, strict=True)
        )
        return np.frombuffer(b"".join(digests), "<u8").copy() if parts else np.zeros(0, np.uint64)

    def _reserve(
        self, below: int, split: str | None, frame: pl.DataFrame, marks: Marks
    ) -> NDArray[np.bool_]:
        """Extend the held-out rows to what a plan requires, on disk, and return which rows no plan
        trains on.
        """
        path = self.folder / FILE
        most, columns = _read(path)
        asked, named = max(most, below), sorted({*columns, *([split] if split else [])})
        if (asked, named) != (most, columns):
            replace_file(path, json.dumps({"below": asked, "split_columns": named}).encode())
        reserved: NDArray[np.bool_] = marks < asked
        for column in named:
            reserved |= _marked_test(frame, column)
        return reserved


def _end(share: float) -> int:
    return min(_WHOLE - 1, int(share * _WHOLE))


def _read(path: Path) -> tuple[int, list[str]]:
    if not path.exists():
        return 0, []
    try:
        kept = json.loads(path.read_bytes())
        return int(kept["below"]), sorted(map(str, kept["split_columns"]))
    except (ValueError, KeyError, TypeError):
        raise RunError(
            f"{path} is damaged; restore it from a backup: it lists the rows that must not be used"
            " for training"
        ) from None


def _marked_test(frame: pl.DataFrame, column: str) -> NDArray[np.bool_]:
    """Rows that the split column of some run marks as test rows; none if the file no longer has the
    column.
    """
    if column not in frame.columns or frame[column].dtype.is_nested():
        return np.zeros(frame.height, np.bool_)
    found: NDArray[np.bool_] = read_marks(frame, column)[1].to_numpy()
    return found


def _written(column: pl.Series) -> list[bytes]:
    """Each cell as bytes, prefixed by their length. Numbers count by value: a first decimal in a
    column must not move its rows.
    """
    if isinstance(column.dtype, pl.Array):
        cells = [row.tobytes() for row in column.to_numpy()]
    elif column.dtype == pl.Binary:
        cells = [value or b"" for value in column.to_list()]
    elif column.dtype.is_nested():
        cells = [repr(value).encode() for value in column.to_list()]
    else:
        text = column.cast(pl.String)
        number = text.cast(pl.Float64, strict=False).cast(pl.String)
        cells = [
            value.encode()
            for value in pl.select(pl.coalesce(number, text).fill_null("")).to_series().to_list()
        ]
    return [len(cell).to_bytes(4, "little") + cell for cell in cells]
