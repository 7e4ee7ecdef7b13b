"""Entries of a record: one frozen dataclass per kind, and the name of each kind in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from tacit.privacy.claim import Claim

VERSION = 3
"""Version of the record format. Version 1 had no checksums, version 2 short ones and no signatures.
"""


@dataclass(frozen=True, kw_only=True)
class Started:
    """First entry: the resolved plan, the versions it runs on, fingerprints of the plan and the
    prepared data, and the public key that signs the record.
    """

    plan: dict[str, Any]
    versions: dict[str, str]
    version: int = 1
    plan_fingerprint: str = ""
    data_fingerprint: str = ""
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A stopped run was resumed from a checkpoint, after this round of this arm.

    `length` and `checksum` are the mark of that checkpoint: how much of the record it covers.
    Entries between the mark and this one are superseded (`fold.py`); a length of 0 means that the
    run started over.
    """

    arm: str
    round_no: int
    length: int | None = None
    checksum: str = ""


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A signature on the record up to here, with the run's key (`signature.py`); written with every
    checkpoint.
    """

    signature: str


@dataclass(frozen=True, kw_only=True)
class Abandoned:
    """The run was abandoned after this round of this arm; its keys are deleted and it cannot be
    resumed.
    """

    arm: str
    round_no: int


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Facts about the prepared data of a run."""

    source: str
    clients: int
    rows_train: int
    rows_test: int
    rows_per_client: list[int]
    parameters: int
    inputs: int
    classes: list[str]
    text: str = ""  # the form in which text enters the model: "hashed words", "word table", or none
    sites: int = 0  # number of sites; 0 in a simulation
    seeded: bool = True  # whether noise can be reproduced from the plan's seed
    wordless: int = 0  # training rows whose text has no word that the model reads
    leaks: list[str] = field(default_factory=list)  # columns that determine the label almost alone
    # distance (0 to 1) between a client's labels and all labels, beyond that of random rows
    label_skew: float = 0.0
    words_seen: float = 1.0  # share of the words of a sample of training texts that the model reads


@dataclass(frozen=True, kw_only=True)
class DisclosedRows:
    """Rows that clients disclosed to the server before round 1, and how identifying they are."""

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
class Corrupted:
    """An experiment corrupted these clients on purpose."""

    corruption: str  # the plan's corrupt.kind
    clients: list[int]
    of_clients: int


@dataclass(frozen=True, kw_only=True)
class WarmStarted:
    """The server trained the initial model on public rows; `metrics` are on the test rows.

    `losses` are on the held-out public rows after each epoch; the model after `epoch` was kept.
    """

    rows: int
    held_out: int
    epoch: int
    losses: list[float]
    metrics: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Released:
    """One entry of the ledger, written before clients send anything: the privacy loss of an
    exchange.

    Round 0 is before the first round. `claim` is a Claim as JSON; `busiest` is the largest number
    of times that any client has been charged for this claim, including this time. `request` is the
    SHA-256 of the request and its recipients: an equal request gets equal responses. `superseded`
    is never written; the reader sets it on a release that a resumed run did not repeat.
    """

    arm: str
    round_no: int
    exchange: str
    clients: int
    busiest: int
    claim: dict[str, Any]
    request: str = ""
    superseded: bool = False

    def __post_init__(self) -> None:
        _ = self.promise  # raises if the claim cannot be parsed

    @cached_property
    def promise(self) -> Claim:
        """The parsed claim."""
        return Claim.from_json(self.claim)

    @classmethod
    def upgrade(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Convert the fields of an early version, which stored one loss and its count.

        That version did not count charges per client; one per round is the maximum.
        """
        if "claim" in values:
            return values
        before = values["round_no"] == 0
        unit, _, delta = str(values["unit"]).removesuffix(")").partition(" (delta=")
        single = {"event": values["loss"]}
        single |= (
            {"epsilon": values["epsilon"]} if values["loss"] in ("pure", "approximate") else {}
        )
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
    """The ledger's totals after a round, for the client that took part most often, each a Total as
    JSON.

    They let an observer follow a run; a report recomputes totals from the releases. `statement` is
    only in records of an early version.
    """

    arm: str
    round_no: int
    totals: list[dict[str, Any]]
    statement: str = ""

    @classmethod
    def upgrade(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Convert the fields of an early version, which stored totals by their display text."""
        if isinstance(values["totals"], list):
            return values
        found = []
        for words, epsilon in values["totals"].items():
            unit, _, delta = words.removesuffix(")").partition(" (delta=")
            found.append(
                {
                    "unit": unit,
                    "epsilon": epsilon,
                    "delta": float(delta or 0),
                    "basis": "as recorded",
                }
            )
        return {**values, "totals": found}


@dataclass(frozen=True, kw_only=True)
class Round:
    """One finished round. Bytes are those of all serialised messages of the round."""

    arm: str
    round_no: int
    rounds: int
    cohort: int
    seconds: float
    bytes_up: int
    bytes_down: int
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Voted:
    """Votes of testers on contributors in a round: scores from -1 (harmful) to 1 (helpful), and
    rejected clients.

    An error of 9 means that nobody voted on the contributor.
    """

    arm: str
    round_no: int
    clients: list[int]
    scores: list[float]
    errors: list[float]
    rejected: list[int]
    threshold: float


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Accuracy of the final model on each client's own rows; only a simulation knows it."""

    arm: str
    accuracy: list[float]


@dataclass(frozen=True, kw_only=True)
class ByClass:
    """The final model on the test rows, by class: rows, predictions, and correct predictions."""

    arm: str
    rows: list[int]
    predicted: list[int]
    right: list[int]


@dataclass(frozen=True, kw_only=True)
class ClientsEvaluated:
    """Accuracy of a round's shared parameters with the private parameters of some clients; only a
    simulation knows it.
    """

    arm: str
    round_no: int
    clients: list[int]
    global_accuracy: list[float]  # on the common test rows
    local_accuracy: list[float]  # on test rows like the client's own


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A response that the server refused: its sender, its exchange, and the reason."""

    arm: str
    round_no: int
    exchange: str
    sender: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SiteMissing:
    """A site whose reply to an exchange of a deployment is missing: a word for the cause (absent,
    late, policy, budget, …), the reason, and how long the server waited for this site.

    Round 0 is before the first round. The site's clients are charged if they were to be asked.
    """

    arm: str
    round_no: int
    exchange: str
    site: str
    cause: str
    reason: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Audited:
    """Results of an audit of the run."""

    name: str
    findings: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Stored:
    """SHA-256 of files in the run's folder, by name."""

    sha256: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The end of one arm: the run itself ("run") or a baseline."""

    arm: str
    rounds: int
    metrics: dict[str, float]
    parameters_sha256: (
        str  # of the flat float32 parameters, not of a file; `Stored` has those of files
    )
    bytes_up: int  # per client and round
    bytes_down: int
    seconds: float
    stopped_early: bool = False


Entry = (
    Started
    | Resumed
    | Signed
    | Abandoned
    | Prepared
    | DisclosedRows
    | Corrupted
    | WarmStarted
    | Released
    | Spent
    | Round
    | Voted
    | Spread
    | ByClass
    | ClientsEvaluated
    | Refused
    | SiteMissing
    | Audited
    | Stored
    | Finished
)
KINDS: dict[str, type[Any]] = {
    "started": Started,
    "resumed": Resumed,
    "signed": Signed,
    "abandoned": Abandoned,
    "prepared": Prepared,
    "disclosed_rows": DisclosedRows,
    "corrupted": Corrupted,
    "warm_started": WarmStarted,
    "released": Released,
    "spent": Spent,
    "round": Round,
    "voted": Voted,
    "spread": Spread,
    "by_class": ByClass,
    "clients_evaluated": ClientsEvaluated,
    "refused": Refused,
    "site_missing": SiteMissing,
    "audited": Audited,
    "stored": Stored,
    "finished": Finished,
}
"""Kinds of entries by their name in the file."""
RUN = "run"
"""The arm that is the plan itself; other arms are baselines, named as in the plan."""


Kind = TypeVar("Kind")


def select_entries(entries: list[Entry], kind: type[Kind], arm: str | None = None) -> list[Kind]:
    """Select the entries of one kind, optionally of one arm."""
    return [
        entry
        for entry in entries
        if isinstance(entry, kind) and (arm is None or getattr(entry, "arm", None) == arm)
    ]
