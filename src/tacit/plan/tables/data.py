"""[data]: where the rows come from and who holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic.dataclasses import dataclass

from tacit.column_statistics.number_format import DecimalMark
from tacit.plan.kinds import STRICT, Count, Name, Positive, Share
from tacit.plan.tables.columns import Columns
from tacit.plan.tables.share import Sharing

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

GIVEN = "given"
"""`data.source` of a plan whose rows are handed over in Python rather than read from a place."""

VALIDATION_SHARE = 0.2
"""Share of the train rows that settings are chosen by, where a plan says nothing."""

_FILES = (
    ".csv",
    ".tsv",
    ".txt",
    ".data",
    ".json",
    ".jsonl",
    ".ndjson",
    ".xlsx",
    ".parquet",
    ".arrow",
    ".feather",
    ".ipc",
    ".gz",
    ".zst",
)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Data:
    """Where the rows come from and who holds them."""

    source: Name = "newsgroups20"
    """A name from `tacit data list`, a file (`.csv` `.tsv` `.txt` `.data` `.json` `.jsonl` `.xlsx`
    `.parquet` `.arrow`, and `.gz` or `.zst` of these), or `hf:NAME`. A file is looked for beside
    the plan, then where the command runs.
    """
    encoding: Name | None = None
    """How a text file is encoded, such as `cp1252`. Without it UTF-8 is tried; another encoding is
    guessed, and the guess told.
    """
    header: bool | None = None
    """Whether the first line of a text file holds names. Without it a file whose first line looks
    like a row is refused; with `false`, columns are `column_1`, `column_2`, …
    """
    decimal: DecimalMark | None = None
    """How numbers in text cells are written: with a decimal `point` (1,234.5) or a decimal `comma`
    (1.234,5). Without it each file shows it, in the clear; between sites one decimal mark per
    column is agreed on, and a file that it would misread is refused. A site's own word is `decimal`
    in its site.toml.
    """
    columns: Columns = Columns()
    clients: Count = 100
    """How many clients hold the rows. Not used with `partition = "client"`."""
    partition: Literal["client", "iid", "dirichlet", "quantile", "interval"] = "iid"
    """Who holds what: the owner in the client column; equal random parts; random label mixes;
    equal-sized or equally wide ranges of the column `by`.
    """
    deal: Literal["once", "every_round"] = "once"
    """`iid`: rows stay with their client, or are dealt anew before each round, as some publications
    do. Only a simulation can; no real client's rows change hands, so nothing is promised to
    anybody.
    """
    alpha: Positive = 1.0
    """`dirichlet`: the smaller, the more one-sided each client's labels."""
    by: Name | None = None
    """`quantile`, `interval`: the numeric column to cut into ranges, one per client."""
    test: Share = 0.2
    """Share of rows held out to measure on, where neither a split column nor `test_source` says
    which.
    """
    test_source: Name | None = None
    """A file with the test rows, where `source` is a file too and holds train rows only; it needs
    the same columns. Looked for as `source` is. Sites hold out rows of their own files instead.
    """
    validation: Share = 0.0
    """Share of the train rows to measure on in place of the test rows, which are then not looked
    at: for choosing settings.
    """
    local_test: Share = 0.0
    """Share of each client's own rows left out of its training."""
    divide_test: bool = False
    """Divide the common test rows among the clients, each with its own label shares, and try each
    client's model on its part.
    """
    limit: Count | None = None
    """At most so many train rows and so many test rows, chosen at random."""
    share: Sharing | None = None


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    data, found = plan.data, []
    if data.partition in ("quantile", "interval") and not data.by:
        found.append(
            f"data.by: needs the column to split by, since data.partition = {data.partition!r}; got"
            " nothing"
        )
    if data.by and data.partition not in ("quantile", "interval"):
        found.append(
            f"data.by: has no meaning with data.partition = {data.partition!r}; remove it, or use"
            " quantile or interval"
        )
    if data.test_source and (data.columns.split or not is_file(data)):
        what = (
            "data.columns.split"
            if data.columns.split
            else f"data.source = {data.source!r}, which is no file"
        )
        found.append(f"data.test_source: has no meaning with {what}; remove one of the two")
    if data.divide_test and data.local_test:
        found.append("data.divide_test: has no meaning beside data.local_test; keep one of the two")
    return [*found, *_deal_problems(plan), *(_file_problems(data) if is_file(data) else ())]


def _deal_problems(plan: Plan) -> list[str]:
    """Return why rows cannot be dealt anew each round: something belongs to a client that must keep
    its rows.
    """
    data, promises = plan.data, plan.codec.name not in ("plain", "hashcomb")
    if data.deal == "once":
        return []
    obstacles = {
        f"data.partition = {data.partition!r}": data.partition != "iid",
        f"regime = {plan.regime!r}": plan.regime != "federated",
        "a model of which parts stay with clients": plan.personal,
        "data.share": data.share is not None,
        "data.local_test or data.divide_test": bool(data.local_test or data.divide_test),
        f"codec.name = {plan.codec.name!r}, whose promise is made to a client": promises,
    }
    return [
        f"data.deal: has no meaning as 'every_round' with {what}; use 'once'"
        for what, there in obstacles.items()
        if there
    ]


def run_problems(plan: Plan) -> list[str]:
    """Return a sentence if a run would find no rows to measure on; rows can be disclosed without
    any.
    """
    data = plan.data
    if not is_file(data) or data.test or data.test_source or data.validation or data.columns.split:
        return []
    return [
        "data.test: needs a value above 0, since nothing else says which rows to measure on; got 0"
    ]


def is_file(data: Data) -> bool:
    """Return whether the rows are in a file, by its ending."""
    return data.source.lower().endswith(_FILES)


def _file_problems(data: Data) -> list[str]:
    """Return what a file leaves open; named data sets know their own columns and test rows."""
    columns, found = data.columns, []
    if data.partition == "client" and not columns.client:
        found.append(
            "data.columns.client: needs the column that says who owns a row, since data.partition ="
            " 'client'; got nothing"
        )
    if not columns.label:
        found.append("data.columns.label: needs the column to predict; got nothing")
    if not (columns.text or columns.numeric or columns.categorical or columns.image):
        found.append(
            "data.columns: needs at least one text, numeric, categorical or image column; got none"
        )
    return found
