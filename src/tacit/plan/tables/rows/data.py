"""[data]: the source of the rows, and how clients hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic.dataclasses import dataclass

from tacit.column_statistics.number_format import DecimalMark
from tacit.extensions import Reference, find_entry_points
from tacit.plan.kinds import STRICT, Count, Name, OrOwn, Positive, Share
from tacit.plan.tables.rows.columns import Columns
from tacit.plan.tables.rows.share import RowSharing

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

GIVEN = "given"
"""`data.source` of a plan whose rows are passed in Python instead of read from a file."""

VALIDATION_SHARE = 0.2
"""Default share of the training rows for choosing settings."""

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


def is_place(source: str) -> bool:
    """Whether `data.source` names a place to read from, and not code or a named data set."""
    return source == GIVEN or source.startswith("hf:") or _names_files(source)


def _names_files(source: str) -> bool:
    return source.lower().endswith((*_FILES, "/"))


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Data:
    """The source of the rows, and how clients hold them."""

    source: Annotated[Name, OrOwn("datasets", is_place)] = "newsgroups20"
    """A name from `tacit data list`, a file (`.csv` `.tsv` `.txt` `.data` `.json` `.jsonl` `.xlsx`
    `.parquet` `.arrow`, also compressed as `.gz` or `.zst`), several files of one kind (a folder,
    `rows/`, or a pattern, `rows/*.parquet`), or `hf:NAME`. A relative path is
    resolved against the plan's folder, then the working directory. Also a data set of your own, as
    `package.module:name` or an entry point of the group `tacit.datasets` ([extend.md](guides/extend.md)).
    """
    encoding: Name | None = None
    """Encoding of a text file, such as `cp1252`. Default: UTF-8; if that fails, the encoding is
    guessed and the guess is reported.
    """
    header: bool | None = None
    """Whether the first line of a text file contains column names. Without this key, a file whose
    first line looks like a row is refused. With `false`, columns are `column_1`, `column_2`, …
    """
    decimal: DecimalMark | None = None
    """Decimal mark of numbers in text cells: `point` (1,234.5) or `comma` (1.234,5). Default: read
    from the file, in the clear; sites agree on one mark per column, and a file that this would
    misread is refused. A site can state its own mark as `decimal` in site.toml.
    """
    columns: Columns = Columns()
    clients: Count = 100
    """Number of clients. Not used with `partition = "client"`."""
    partition: Literal["client", "iid", "dirichlet", "quantile", "interval"] = "iid"
    """How rows are divided among clients: by the client column; into equal random parts; with
    random label distributions; into equal-sized or equally wide ranges of the column `by`.
    """
    deal: Literal["once", "every_round"] = "once"
    """`iid`: rows stay with their client (`once`), or are divided again before each round, as in
    some publications. `every_round` exists only in simulations and has no privacy guarantee, since
    no real client exchanges rows.
    """
    alpha: Positive = 1.0
    """`dirichlet`: concentration parameter; smaller values give each client fewer labels."""
    by: Name | None = None
    """`quantile`, `interval`: the numeric column to divide into ranges, one per client."""
    test: Share = 0.2
    """Share of held-out test rows, if neither a split column nor `test_source` defines them."""
    test_source: Name | None = None
    """A file with the test rows, if `source` is a file with training rows only. It must have the
    same columns; its path is resolved like `source`. Sites hold out rows of their own files
    instead.
    """
    validation: Share = 0.0
    """Share of the training rows to evaluate on instead of the test rows, for choosing settings.
    The test rows are then not used.
    """
    local_test: Share = 0.0
    """Share of each client's rows held out from its training."""
    divide_test: bool = False
    """Divide the common test rows among the clients, following each client's label distribution,
    and evaluate each client's model on its own test rows.
    """
    limit: Count | None = None
    """Maximum number of training rows, and of test rows, chosen at random."""
    share: RowSharing | None = None


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    data, found = plan.data, []
    if data.partition in ("quantile", "interval") and not data.by:
        found.append(
            f"data.by is required with data.partition = {data.partition!r}: the column to divide"
            " rows by"
        )
    if data.by and data.partition not in ("quantile", "interval"):
        found.append(
            f"data.by cannot be used with data.partition = {data.partition!r}; remove it, or use"
            " quantile or interval"
        )
    if data.test_source and (data.columns.split or not is_file(data)):
        what = (
            "data.columns.split"
            if data.columns.split
            else f"data.source = {data.source!r}, which is not a file"
        )
        found.append(f"data.test_source cannot be combined with {what}; remove one of them")
    if data.divide_test and data.local_test:
        found.append("data.divide_test cannot be combined with data.local_test; remove one of them")
    return [
        *found,
        *_deal_problems(plan),
        *(list_missing_roles(data) if _needs_roles(data) and plan.statistics is None else ()),
        *(list_missing_owner(data) if plan.statistics is not None else ()),
    ]


def _deal_problems(plan: Plan) -> list[str]:
    """List settings that require clients to keep their rows, if rows are divided every round."""
    data, promises = plan.data, plan.codec.name not in ("plain", "hashcomb")
    if data.deal == "once":
        return []
    obstacles = {
        f"data.partition = {data.partition!r}": data.partition != "iid",
        f"regime = {plan.regime!r}": plan.regime != "federated",
        "private parameters": plan.personal,
        "data.share": data.share is not None,
        "data.local_test or data.divide_test": bool(data.local_test or data.divide_test),
        f"codec.name = {plan.codec.name!r}, whose guarantee is per client": promises,
    }
    return [
        f"data.deal = 'every_round' cannot be used with {what}; use 'once'"
        for what, there in obstacles.items()
        if there
    ]


def run_problems(plan: Plan) -> list[str]:
    """A sentence if a run would have no test rows; `tacit plan disclose` works without any."""
    needs_rows = plan.statistics is None and _needs_roles(plan.data)
    return list_missing_test_rows(plan.data) if needs_rows else []


def list_missing_test_rows(data: Data) -> list[str]:
    """A sentence if nothing defines the test rows of a file or of a function that returns rows."""
    if data.test or data.test_source or data.validation or data.columns.split:
        return []
    return ["data.test must be greater than 0, since nothing else defines test rows; got 0"]


def is_file(data: Data) -> bool:
    """Whether the source is a file or several, by its extension or a final `/`."""
    return _names_files(data.source)


def _needs_roles(data: Data) -> bool:
    """Whether the plan itself must name the roles of columns. An entry point may stand for a named
    data set, which has its own, and so may the pinned reference that a run writes for it: there the
    run decides, when it has imported the data set.
    """
    source = data.source
    if not isinstance(source, Reference):
        return is_file(data)
    installed = {one.path for one in find_entry_points("datasets").values()}
    return not source.sha256 and source.path not in installed


def list_missing_roles(data: Data) -> list[str]:
    """List column roles that a file, or a function that returns rows, requires; named data sets
    define their own.
    """
    columns, found = data.columns, list_missing_owner(data)
    if not columns.label:
        found.append("data.columns.label is required: the column to predict")
    if not (columns.text or columns.numeric or columns.categorical or columns.image):
        found.append(
            "data.columns must name at least one text, numeric, categorical or image column"
        )
    return found


def list_missing_owner(data: Data) -> list[str]:
    """A sentence if each owner is a client and no column says who owns a row."""
    if data.partition != "client" or data.columns.client:
        return []
    return [
        "data.columns.client is required with data.partition = 'client': the column that identifies"
        " the client of a row"
    ]
