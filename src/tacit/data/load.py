"""Load `data.source` as a clean table with train and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.clean import clean, drop_incomplete_rows, keep_known_classes
from tacit.data.download.fetch import Progress
from tacit.data.download.store import read_data_set, read_entry
from tacit.data.held_out import hold_out_rows
from tacit.data.input_rows import from_hub, from_input_rows
from tacit.data.named.catalogue import get_entry, load_own_data_set
from tacit.data.named.entry import NamedDataSet
from tacit.data.personal.detect import check_personal
from tacit.data.read import TextFormat, is_file_source, read_file
from tacit.data.roles.roles import check_roles, merge_roles
from tacit.data.row_reader import RowReader, SiteFile
from tacit.data.table import Table
from tacit.errors import DataError
from tacit.extensions import Reference
from tacit.plan import GIVEN, Columns, Data, Schema
from tacit.plan.tables.rows.schema import agree_values
from tacit.randomness import Draws

Mark = Callable[[pl.DataFrame], pl.DataFrame]
Split = Callable[[pl.DataFrame, Columns, list[str]], tuple[pl.DataFrame, pl.DataFrame, str]]
"""Divides a whole table into train and test rows, with the wanted columns and perhaps more; also
returns a phrase that says how.
"""

_OTHER_TESTS = ("dev", "valid", "validation", "val", "eval")


class MarkedRows(NamedTuple):
    """The rows that a split column marks as train and as test rows, and the mark."""

    train: NDArray[np.bool_]
    test: NDArray[np.bool_]
    by: str


def load(
    data: Data,
    draws: Draws,
    input_rows: object | None = None,
    *,
    progress: Progress | None = None,
    least_classes: int = 2,
    mark: Mark | None = None,
    split: Split | None = None,
    site: SiteFile | None = None,
    schema: Schema | None = None,
    learns: bool = True,
) -> Table:
    """Load the rows of `data.source`, split into train and test, cleaned, and limited to
    `data.limit`.

    Rows without a label are dropped, missing text becomes "", a missing number stays null, a
    missing category becomes "(missing)"; test rows of a class without train rows are dropped. Each
    of these is counted in `source`. With a split column, rows marked test are the test set (dev
    rows only if none is marked test); without one, a share `data.test` is held out at random. With
    `data.validation` a share of the train rows replaces the test rows. One site of several may have
    rows of fewer classes: `least_classes` is the minimum. `mark` may change rows after reading, or
    add columns, which are kept. `split` divides the rows, if given. At a site nothing is guessed
    that one client's rows could change for all others: `site` holds the owner's statements about
    the file. With a `schema`, cells become what it says, and rows that do not fit are left out or
    refused, before anything is split. Rows that no model learns from need no label (`learns`).
    """
    frame, columns, sentence, public = read_source(data, input_rows, progress, guess=site is None)
    check_roles(frame, columns, data, learns=learns)
    if (
        learns and site is None and not public
    ):  # a site reports only what enough of its clients have
        check_personal(frame, columns)
    wanted = [name for name in frame.columns if name in _select_columns(columns, data)]
    if mark is not None:
        there, frame = set(frame.columns), mark(frame)
        wanted += [name for name in frame.columns if name not in there]
    reader = RowReader(data, columns, schema, site)
    frame, left_out = reader.read(frame)
    dropped = list[str]()
    if split is not None:
        train, test, how = split(frame, columns, wanted)
    else:
        train, test, how, dropped = _divide_rows(
            frame.select(wanted), reader, draws, in_one_place=site is None
        )
    if data.validation > 0:
        train, test = _hold_out(
            train, data.validation, columns, data, draws.at("validation"), in_one_place=site is None
        )
        how = (
            f"{how}; the model is evaluated on a share {data.validation:g} of the train rows; the"
            " test rows are not used"
        )
    # A site that refuses a query would say something about the rows; noise covers what it answers.
    refuses = learns or site is None
    train, test, repairs, habits = clean(
        train, test, columns, data.partition == "client", reader.decimal, refuses=refuses
    )
    train, test, cut = _limit_rows(train, test, data, draws)
    _check_classes(train, columns, data, least_classes)
    strangers = list[str]()
    if columns.label is not None:
        classes = agree_values(schema, columns).classes
        train, test, strangers = keep_known_classes(train, test, columns.label, classes)
    counts = f"{train.height:,} train and {test.height:,} test rows"
    notes = [counts, how, *left_out, *dropped, *repairs, *cut, *strangers]
    return Table(
        train=train,
        test=test,
        columns=columns,
        source=f"{sentence}: {'; '.join(notes)}.",
        habits=habits,
        public=public,
        left_out=tuple(left_out),
    )


def _divide_rows(
    rows: pl.DataFrame, reader: RowReader, draws: Draws, *, in_one_place: bool
) -> tuple[pl.DataFrame, pl.DataFrame, str, list[str]]:
    """Divide rows into train and test rows; also return how, and notes on dropped rows."""
    data, columns = reader.data, reader.columns
    if data.test_source:
        return _from_test_file(rows, reader)
    # Before the split, so that the number of train rows does not depend on the seed.
    complete, dropped = drop_incomplete_rows(rows, columns, data.partition == "client")
    return *_split(complete, columns, data, draws, in_one_place=in_one_place), dropped


def resolve_columns(data: Data, *, import_code: bool) -> Columns:
    """Merge the column roles of the plan and of a named data set, without reading rows.

    The roles of a data set of an installed package are known only with `import_code`; the caller
    then has permission to run the code.
    """
    if isinstance(data.source, Reference):
        found = load_own_data_set(data.source) if import_code else None
        known = found.columns if isinstance(found, NamedDataSet) else None
    else:
        known = get_entry(data.source).columns if is_named_source(data.source) else None
    return merge_roles(known, data.columns) if known else data.columns


def is_named_source(source: str) -> bool:
    """Whether a data source is a named public data set of Tacit."""
    return not (
        source == GIVEN
        or source.startswith("hf:")
        or isinstance(source, Reference)
        or is_file_source(source)
    )


class SourceRows(NamedTuple):
    """Rows as read, their column roles, where they are from, and whether they are a named public
    data set.
    """

    frame: pl.DataFrame
    columns: Columns
    sentence: str
    public: bool = False


def read_source(
    data: Data,
    input_rows: object | None = None,
    progress: Progress | None = None,
    *,
    guess: bool,
) -> SourceRows:
    """Read the rows of `data.source` as they are; without `guess`, a file that is not UTF-8 is refused."""
    source = data.source
    if input_rows is not None or source == GIVEN:
        frame, split = from_input_rows(input_rows)
        return SourceRows(frame, _set_split_column(data.columns, split), "Rows passed in Python")
    if isinstance(source, Reference):
        return _read_own(source, data.columns, progress)
    if source.startswith("hf:"):
        name = source.removeprefix("hf:")
        frame, split = from_hub(name)
        return SourceRows(
            frame, _set_split_column(data.columns, split), f"Hugging Face data set {name}"
        )
    if is_file_source(source):
        frame, note = read_file(
            source, TextFormat(encoding=data.encoding, header=data.header, guess=guess)
        )
        return SourceRows(frame, data.columns, f"File {source}{note}")
    columns = merge_roles(get_entry(source).columns, data.columns)
    frame, sentence = read_data_set(source, progress)
    return SourceRows(frame, columns, sentence, public=True)


def _read_own(source: Reference, columns: Columns, progress: Progress | None) -> SourceRows:
    """Read a data set of the user's own; the caller has permission to run the code."""
    found = load_own_data_set(source)
    if isinstance(found, NamedDataSet):
        frame, sentence = read_entry(found, progress)
        return SourceRows(frame, merge_roles(found.columns, columns), sentence, public=True)
    frame, split = from_input_rows(found())
    return SourceRows(frame, _set_split_column(columns, split), f"Data set {source.path}")


def _set_split_column(columns: Columns, split: str | None) -> Columns:
    return replace(columns, split=split) if split and not columns.split else columns


def _select_columns(columns: Columns, data: Data) -> set[str]:
    asked = data.share.k_column if data.share else None
    single = (columns.label, columns.image, columns.client, columns.split, data.by, asked)
    return {
        *columns.text,
        *columns.numeric,
        *columns.categorical,
        *columns.quasi,
        *(name for name in single if name),
    }


def _split(
    frame: pl.DataFrame, columns: Columns, data: Data, draws: Draws, *, in_one_place: bool
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    if columns.split:
        halves = _split_by_mark(frame, columns.split)
        if halves:
            return halves
    train, test = _hold_out(
        frame, data.test, columns, data, draws.at("test-split"), in_one_place=in_one_place
    )
    how = (
        f"a share {data.test:g} was held out at random as test"
        if test.height
        else "no rows were held out as test"
    )
    return train, test, how


def _from_test_file(
    train: pl.DataFrame, reader: RowReader
) -> tuple[pl.DataFrame, pl.DataFrame, str, list[str]]:
    """Use all rows for training and read the test rows from `data.test_source`."""
    data, source = reader.data, str(reader.data.test_source)
    rows, note = read_file(
        source, TextFormat(encoding=data.encoding, header=data.header), key="data.test_source"
    )
    lacking = [
        name for name in train.columns if name not in rows.columns and name != data.columns.client
    ]
    if lacking:
        raise DataError(
            f"data.test_source = {source!r} lacks columns of data.source:"
            f" {', '.join(map(repr, lacking))}"
        )
    known = [
        pl.col(name) if name in rows.columns else pl.lit(None).alias(name) for name in train.columns
    ]
    anyone = reader._replace(data=replace(data, partition="iid"))  # test rows need no client
    read, left_out = anyone.read(rows.select(known))
    test = read.cast(train.schema, strict=False)
    notes = [f"{one} of {source}" for one in left_out]
    return train, test, f"test rows are those of {source}{note}", notes


def _hold_out(
    frame: pl.DataFrame,
    share: float,
    columns: Columns,
    data: Data,
    draws: Draws,
    *,
    in_one_place: bool,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Hold out a share of the rows. In a simulation all rows are in one place, so labels are used
    to keep each class learnable.
    """
    labels = frame[columns.label].cast(pl.String) if in_one_place and columns.label else None
    return hold_out_rows(frame, share, draws, _get_owners(frame, columns, data), labels)


def _get_owners(frame: pl.DataFrame, columns: Columns, data: Data) -> pl.Series | None:
    return (
        frame[columns.client].cast(pl.String)
        if data.partition == "client" and columns.client
        else None
    )


def read_marks(frame: pl.DataFrame, split: str) -> tuple[pl.Series, pl.Series]:
    """Which rows a split column marks as train, and which as test under any name. Each row is
    marked by its own cell alone.
    """
    marks = _normalise_marks(frame, split)
    train, test = (
        marks.is_in(names).fill_null(False) for names in (["train"], ["test", *_OTHER_TESTS])
    )
    return train, test


def _normalise_marks(frame: pl.DataFrame, split: str) -> pl.Series:
    return frame[split].cast(pl.String).str.strip_chars().str.to_lowercase()


def find_marked_rows(frame: pl.DataFrame, split: str) -> MarkedRows | None:
    """Find the rows that the split column marks as train and test; None without test rows.

    Raise DataError without train rows.
    """
    marks = _normalise_marks(frame, split)
    present = set(marks.drop_nulls().unique())
    if "train" not in present:
        raise DataError(
            f"data.columns.split = {split!r} marks no rows as train ({len(present):,} other"
            " marks); name another column or none"
        )
    by = next((mark for mark in ("test", *_OTHER_TESTS) if mark in present), None)
    if by is None:
        return None
    train, test = ((marks == mark).fill_null(False).to_numpy() for mark in ("train", by))
    return MarkedRows(train, test, by)


def _split_by_mark(
    frame: pl.DataFrame, split: str
) -> tuple[pl.DataFrame, pl.DataFrame, str] | None:
    """Split by the marks of the split column; None if it marks no test rows."""
    found = find_marked_rows(frame, split)
    if found is None:
        return None
    dropped = int((~found.train & ~found.test).sum())
    how = f"split by column {split!r}" + (
        "" if found.by == "test" else f", where rows marked {found.by!r} are the test set"
    )
    how += f"; {dropped:,} rows with another mark are left out" if dropped else ""
    return frame.filter(pl.Series(found.train)), frame.filter(pl.Series(found.test)), how


def _limit_rows(
    train: pl.DataFrame, test: pl.DataFrame, data: Data, draws: Draws
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    if data.limit is None or max(train.height, test.height) <= data.limit:
        return train, test, []
    halves = [
        _draw_rows(half, data.limit, draws.at("limit", name))
        for half, name in ((train, "train"), (test, "test"))
    ]
    return (
        halves[0],
        halves[1],
        [f"at most {data.limit:,} rows of each half were kept, chosen at random"],
    )


def _draw_rows(frame: pl.DataFrame, limit: int, draws: Draws) -> pl.DataFrame:
    if frame.height <= limit:
        return frame
    return frame[np.sort(draws.generator().permutation(frame.height)[:limit])]


def _check_classes(train: pl.DataFrame, columns: Columns, data: Data, least: int) -> None:
    if train.height == 0:
        raise DataError(
            f"data.source = {data.source!r} has no train rows after splitting; check data.test and"
            " the split column"
        )
    if columns.label is not None and train[columns.label].n_unique() < least:
        remedy = "raise data.limit" if data.limit else "name a column with at least two classes"
        raise DataError(
            f"data.columns.label = {columns.label!r} has one class among the train rows, and at"
            f" least two are needed; {remedy}"
        )
