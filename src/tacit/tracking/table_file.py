"""One file of figures: CSV or Parquet, a row for each figure."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, assert_never

import polars as pl

from tacit.errors import DiskError
from tacit.tracking.figures import FigureBatch
from tacit.tracking.tracker import RunLabel

_COLUMNS = {"run": pl.String, "arm": pl.String, "round": pl.Int64, "name": pl.String}


class TableFileTracker:
    """Collects figures and writes them to a file at the end."""

    def __init__(self, kind: Literal["csv", "parquet"], place: str) -> None:
        self._kind, self._path = kind, Path(place).expanduser()
        self._run, self._batch = "", FigureBatch()

    def begin(self, label: RunLabel, past: FigureBatch) -> None:
        """Collect the figures of a run."""
        self._run, self._batch = label.name, past

    def write(self, batch: FigureBatch) -> None:
        """Collect more figures."""
        self._batch.add(batch)

    def close(self, *, is_finished: bool) -> None:
        """Write the file."""
        rows = [
            (self._run, one.arm, one.round_no, one.name, one.value) for one in self._batch.figures
        ]
        table = pl.DataFrame(rows, schema={**_COLUMNS, "value": pl.Float64}, orient="row")
        try:
            match self._kind:
                case "csv":
                    table.write_csv(self._path)
                case "parquet":
                    table.write_parquet(self._path)
                case _:
                    assert_never(self._kind)
        except OSError as error:
            raise DiskError(f"{self._path}: cannot be written ({error.strerror})") from None
