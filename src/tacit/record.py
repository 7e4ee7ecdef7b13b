"""The append-only account of a run: typed entries, one JSON line each.

Engines write it; report, tables and pages read only it. An entry is never changed. The file is cut back to a
checkpoint's length when a run is resumed, so every entry stands once.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tacit.errors import RunError


@dataclass(frozen=True, kw_only=True)
class Started:
    """First entry: the resolved plan and the versions it runs on."""

    plan: dict[str, Any]
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The data as the run sees it."""

    source: str
    clients: int
    rows_train: int
    rows_test: int
    rows_per_client: list[int]
    parameters: int
    inputs: int
    classes: list[str]
    text: str = ""  # the form in which text enters the model: "hashed words", "word table", or none


@dataclass(frozen=True, kw_only=True)
class DisclosedRows:
    """The rows clients handed to the server once, before round one, and what that shows about the people in them."""

    rule: str
    k: int
    l: float | None  # noqa: E741 (the literature's name for it)
    release: str
    counts: str
    epsilon: float | None
    delta: float | None
    key: list[str]
    columns: list[str]
    rows: int
    of_rows: int
    rows_per_client: list[int]
    bytes_per_client: list[int]
    classes: int
    smallest_class: int
    unique_share: float
    single_label_share: float
    labels_disclosed: dict[str, int]
    labels_kept: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Released:
    """One entry of the ledger: what left how many clients in a round, and what one of them pays for it."""

    arm: str
    round_no: int
    clients: int
    mechanism: str
    loss: str
    epsilon: float | None
    unit: str
    count: int
    relation: str
    view: str
    trust: list[str]
    source: str


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The ledger's totals after a round, for the client that took part most often. None: no number exists."""

    arm: str
    round_no: int
    totals: dict[str, float | None]
    statement: str


@dataclass(frozen=True, kw_only=True)
class Round:
    """One finished round. Bytes are of serialised messages, per client and all together."""

    arm: str
    round_no: int
    rounds: int
    cohort: int
    seconds: float
    bytes_up: int
    bytes_down: int
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How the final model does on each client's own rows; known to the simulator only."""

    arm: str
    accuracy: list[float]


@dataclass(frozen=True, kw_only=True)
class ClientsEvaluated:
    """How a round's shared part did with the own parts of some clients; known to the simulator only."""

    arm: str
    round_no: int
    clients: list[int]
    global_accuracy: list[float]  # on the common test rows
    local_accuracy: list[float]  # on test rows like the client's own


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The end of one arm: the run itself ("run") or a baseline."""

    arm: str
    rounds: int
    metrics: dict[str, float]
    model_sha256: str
    bytes_up: int  # per client and round
    bytes_down: int
    seconds: float
    stopped_early: bool = False


Entry = Started | Prepared | DisclosedRows | Released | Spent | Round | Spread | ClientsEvaluated | Finished
KINDS: dict[str, type[Any]] = {
    "started": Started,
    "prepared": Prepared,
    "disclosed_rows": DisclosedRows,
    "released": Released,
    "spent": Spent,
    "round": Round,
    "spread": Spread,
    "clients_evaluated": ClientsEvaluated,
    "finished": Finished,
}
"""The name every kind of entry has in the file."""
_NAMES = {kind: name for name, kind in KINDS.items()}
_OLD_KINDS = {"shared": "disclosed_rows", "tried": "clients_evaluated"}
_OLD_FIELDS = {"labels_shared": "labels_disclosed"}
RUN = "run"
"""The arm that is the plan itself; other arms are baselines, named as in the plan."""


class Writer:
    """Appends entries to a record file and knows its length."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def append(self, entry: Entry) -> None:
        """Write one entry as one line."""
        line = {"kind": _NAMES[type(entry)], **dataclasses.asdict(entry)}
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")

    def sync(self) -> int:
        """Force what was written onto the disk and return the file's length."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Write out and close."""
        self._file.close()


def cut(path: Path, length: int) -> None:
    """Drop everything after `length` bytes: entries that no checkpoint covers."""
    with path.open("r+b") as file:
        file.truncate(length)


def read(path: Path) -> Iterator[Entry]:
    """Yield the entries of a record; a last line cut short by a crash is passed over."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RunError(f"{path}: no record can be read ({error.strerror}); `tacit runs` lists the runs there are") from None
    for number, line in enumerate(lines[:-1], start=1):
        try:
            values = {_OLD_FIELDS.get(name, name): value for name, value in json.loads(line).items()}
            name = values.pop("kind")
            yield KINDS[_OLD_KINDS.get(name, name)](**values)
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path}: entry {number} is damaged ({error}); the run cannot be read") from None


Kind = TypeVar("Kind")


def of_kind(entries: list[Entry], kind: type[Kind], arm: str | None = None) -> list[Kind]:
    """Return the entries of one kind, of one arm if named."""
    return [entry for entry in entries if isinstance(entry, kind) and (arm is None or getattr(entry, "arm", None) == arm)]
