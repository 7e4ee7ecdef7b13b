"""Read a table to ask about: who owns its rows, and how many owners there are."""

from __future__ import annotations

import re
from pathlib import Path

from tacit import data
from tacit.data.load import read_source
from tacit.data.read import is_file_source
from tacit.errors import DataError, did_you_mean
from tacit.plan import GIVEN, Data
from tacit.plan.presets.asked import AskedTable


def read_asked_table(table: object, owner: str | None = None) -> AskedTable:
    """Count the owners of a table: the path of a file, or rows in Python. Without `owner` each row
    has an owner of its own.
    """
    is_path = isinstance(table, str | Path)
    source, name = (str(table), _name_after(str(table))) if is_path else (GIVEN, "asked")
    if is_path and not is_file_source(source):
        raise DataError(f"{source}: unknown file type; name a table such as visits.csv")
    frame = read_source(Data(source=source), None if is_path else table, guess=True).frame
    if owner is None:
        return AskedTable(source=source, owner=None, owners=max(1, frame.height), name=name)
    if owner not in frame.columns:
        raise DataError(
            f"client = {owner!r}: there is no such column.{did_you_mean(owner, frame.columns)}"
        )
    owners = data.normalise_names(frame[owner]).drop_nulls().n_unique()
    return AskedTable(source=source, owner=owner, owners=max(1, owners), name=name)


def _name_after(source: str) -> str:
    stem = Path(source).name.partition(".")[0]
    return f"ask-{re.sub(r'[^0-9A-Za-z_-]+', '-', stem).strip('-')[:50] or 'table'}"
