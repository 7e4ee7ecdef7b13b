"""The append-only account of a run: typed entries, one JSON line each.

Engines write it and never read it; report, tables and pages read only it. An entry is never changed. Every line ends
with a checksum over itself and the line before, so that a record is read as it was written or not at all. The file is
cut back to a checkpoint's length when a run is resumed, so every entry stands once.

A reader passes over fields and kinds it does not know, and still reads records of version 1, which had no checksums.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tacit.claim import Claim
from tacit.errors import RunError

VERSION = 2
"""The version of the record that is written. Version 1 had no checksums and did not say its version."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """First entry: the resolved plan, the versions it runs on, and fingerprints of the plan and the prepared data."""

    plan: dict[str, Any]
    versions: dict[str, str]
    version: int = 1
    plan_fingerprint: str = ""
    data_fingerprint: str = ""


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A stopped run was taken up after this round of this arm. A resumption that finished no round leaves no entry."""

    arm: str
    round_no: int


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
    """One entry of the ledger, written before anything leaves: what clients answer in an exchange, and what that costs.

    Round 0 is before the first round. `claim` is a Claim as JSON; `busiest` is how often the client that has paid for this
    claim most often has paid for it, this time included.
    """

    arm: str
    round_no: int
    exchange: str
    clients: int
    busiest: int
    claim: dict[str, Any]

    def __post_init__(self) -> None:
        Claim.from_json(self.claim)  # an entry whose claim cannot be read is damaged

    @property
    def promise(self) -> Claim:
        """The claim itself."""
        return Claim.from_json(self.claim)

    @classmethod
    def upgraded(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of an entry, from those of an early version that spelt out one loss and its count.

        That version did not say how often a client had paid: once a round is the most there can be.
        """
        if "claim" in values:
            return values
        before = values["round_no"] == 0
        unit, _, delta = str(values["unit"]).removesuffix(")").partition(" (delta=")
        single = {"event": values["loss"]}
        single |= {"epsilon": values["epsilon"]} if values["loss"] in ("pure", "approximate") else {}
        single |= {"delta": float(delta)} if delta else {}
        repeated = {"event": "repeated", "of": single, "count": values["count"]}
        claim = {key: values[key] for key in ("mechanism", "relation", "view", "trust", "source")}
        return {
            **{key: values[key] for key in ("arm", "round_no", "clients")},
            "exchange": "before training" if before else "train",
            "busiest": 1 if before else values["round_no"],
            "claim": {**claim, "event": repeated if values["count"] > 1 else single, "unit": unit},
        }


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The ledger's totals after a round, for the client that took part most often, each a Total as JSON.

    They are there for who watches a run. What is shown of a finished one is folded from what was released, not from here.
    `statement` is only found in records of an early version.
    """

    arm: str
    round_no: int
    totals: list[dict[str, Any]]
    statement: str = ""

    @classmethod
    def upgraded(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of an entry, from those of an early version that kept totals by the words they were shown in."""
        if isinstance(values["totals"], list):
            return values
        found = []
        for words, epsilon in values["totals"].items():
            unit, _, delta = words.removesuffix(")").partition(" (delta=")
            found.append({"unit": unit, "epsilon": epsilon, "delta": float(delta or 0), "basis": "as it was recorded"})
        return {**values, "totals": found}


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
class Refused:
    """An answer the server did not take: who sent it in which exchange, and why it was refused."""

    arm: str
    round_no: int
    exchange: str
    sender: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What an attack or a test found out about the run."""

    name: str
    findings: dict[str, Any]


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


Entry = (
    Started | Resumed | Prepared | DisclosedRows | Released | Spent | Round | Spread
    | ClientsEvaluated | Refused | Audited | Finished
)  # fmt: skip
KINDS: dict[str, type[Any]] = {
    "started": Started,
    "resumed": Resumed,
    "prepared": Prepared,
    "disclosed_rows": DisclosedRows,
    "released": Released,
    "spent": Spent,
    "round": Round,
    "spread": Spread,
    "clients_evaluated": ClientsEvaluated,
    "refused": Refused,
    "audited": Audited,
    "finished": Finished,
}
"""The name every kind of entry has in the file."""
_NAMES = {kind: name for name, kind in KINDS.items()}
_OLD_KINDS = {"shared": "disclosed_rows", "tried": "clients_evaluated"}
_OLD_FIELDS = {"labels_shared": "labels_disclosed"}
RUN = "run"
"""The arm that is the plan itself; other arms are baselines, named as in the plan."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How much of a record is safely on the disk: its length in bytes, and the checksum its last line ends with."""

    length: int = 0
    checksum: str = ""


class Writer:
    """Appends entries to a record file, from a mark on; it reads nothing."""

    def __init__(self, path: Path, mark: Mark | None = None) -> None:
        self._file = path.open("ab")
        self._checksum = mark.checksum if mark else ""

    def append(self, entry: Entry) -> None:
        """Write one entry as one line."""
        line = {"kind": _NAMES[type(entry)], **dataclasses.asdict(entry)}
        content = json.dumps(line, allow_nan=False).encode()
        self._checksum = _next_checksum(self._checksum, content)
        self._file.write(content[:-1] + _ending(self._checksum) + b"\n")

    def sync(self) -> Mark:
        """Force what was written onto the disk and return how far it goes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Mark(length=self._file.tell(), checksum=self._checksum)

    def close(self) -> None:
        """Write out and close."""
        self._file.close()


def verify(path: Path, mark: Mark) -> None:
    """Raise RunError unless the record up to a mark is as it was written."""
    content = _content(path)
    if len(content) < mark.length:
        raise RunError(f"{path}: is damaged: it has {len(content):,} bytes, its checkpoint covers {mark.length:,}")
    if _last_checksum(path, content[: mark.length]) != mark.checksum:
        raise RunError(f"{path}: is damaged: it is not the record its checkpoint was made with")


def has_rounds(path: Path) -> bool:
    """Return whether a record tells of a finished round, damaged or not."""
    return b'"kind": "round"' in _content(path)


def cut(path: Path, mark: Mark) -> None:
    """Drop every entry after a mark, which no checkpoint covers; raise RunError if the record before it is damaged."""
    verify(path, mark)
    os.truncate(path, mark.length)


def add(path: Path, entry: Entry) -> None:
    """Append one entry to the record of a run that has ended, such as what an audit found."""
    writer = Writer(path, Mark(checksum=_last_checksum(path, _content(path))))
    try:
        writer.append(entry)
        writer.sync()
    finally:
        writer.close()


def _last_checksum(path: Path, content: bytes) -> str:
    *lines, rest = content.split(b"\n")
    checksum = ""
    for number, line in enumerate(lines, start=1):
        checksum = _verified(path, number, line, checksum)[1]
    if rest:
        raise _damaged(path, len(lines) + 1, "it is cut short")
    return checksum


def read(path: Path, at_least: int = 0) -> Iterator[Entry]:
    """Yield the entries of a record; a last line cut short by a crash is passed over, but not within `at_least` bytes."""
    content = _content(path)
    *lines, rest = content.split(b"\n")
    if len(content) - len(rest) < at_least:
        raise RunError(f"{path}: is damaged: its end is missing; the run cannot be read")
    has_checksums, checksum = bool(lines) and _has_checksum(lines[0]), ""
    for number, line in enumerate(lines, start=1):
        if has_checksums:
            line, checksum = _verified(path, number, line, checksum)
        entry = _entry(path, number, line)
        if isinstance(entry, Started) and entry.version > 1 and not has_checksums:
            raise _damaged(path, number, "its checksum is missing")
        if entry is not None:
            yield entry


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"{path}: no record can be read ({error.strerror}); `tacit runs` lists the runs there are") from None


def _entry(path: Path, number: int, line: bytes) -> Entry | None:
    """Return the entry of a line; None if its kind is not known here."""
    try:
        values = {_OLD_FIELDS.get(name, name): value for name, value in json.loads(line).items()}
        name = values.pop("kind")
        kind = KINDS.get(_OLD_KINDS.get(name, name))
        if kind is None:
            return None
        upgraded = getattr(kind, "upgraded", None)
        values = upgraded(values) if upgraded else values
        known = {one.name for one in dataclasses.fields(kind)}
        entry: Entry = kind(**{name: value for name, value in values.items() if name in known})
        return entry
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, number, str(error)) from None


_BEFORE_CHECKSUM, _AFTER_CHECKSUM, _DIGITS = b', "sum": "', b'"}', 16
_LENGTH_OF_ENDING = len(_BEFORE_CHECKSUM) + _DIGITS + len(_AFTER_CHECKSUM)


def _next_checksum(before: str, content: bytes) -> str:
    return hashlib.sha256(before.encode() + content).hexdigest()[:_DIGITS]


def _ending(checksum: str) -> bytes:
    return _BEFORE_CHECKSUM + checksum.encode() + _AFTER_CHECKSUM


def _has_checksum(line: bytes) -> bool:
    return line[-_LENGTH_OF_ENDING:].startswith(_BEFORE_CHECKSUM)


def _verified(path: Path, number: int, line: bytes, before: str) -> tuple[bytes, str]:
    """Return a line without its checksum, and the checksum; raise RunError if it does not fit."""
    content = line[:-_LENGTH_OF_ENDING] + b"}"
    checksum = _next_checksum(before, content)
    if line[-_LENGTH_OF_ENDING:] != _ending(checksum):
        raise _damaged(path, number, "its checksum does not fit")
    return content, checksum


def _damaged(path: Path, number: int, reason: str) -> RunError:
    return RunError(f"{path}: entry {number} is damaged ({reason}); the run cannot be read")


Kind = TypeVar("Kind")


def of_kind(entries: list[Entry], kind: type[Kind], arm: str | None = None) -> list[Kind]:
    """Return the entries of one kind, of one arm if named."""
    return [entry for entry in entries if isinstance(entry, kind) and (arm is None or getattr(entry, "arm", None) == arm)]
