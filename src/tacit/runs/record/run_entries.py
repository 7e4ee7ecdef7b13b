"""Entries about a whole run or a whole arm. The string below a field is its meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Started:
    """First entry: the resolved plan, the versions it runs on, fingerprints of the plan and the
    prepared data, and the public key that signs the record.
    """

    plan: dict[str, Any]
    """The plan with every setting, as JSON."""
    versions: dict[str, str]
    """Versions of Python, of Tacit and of the libraries that compute the result, by name."""
    version: int = 1
    """Version of the record format."""
    plan_fingerprint: str = ""
    """SHA-256 of the resolved plan."""
    data_fingerprint: str = ""
    """SHA-256 of the prepared data."""
    key: str = ""
    """Public key that signs the record, in hexadecimal digits."""


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A stopped run was resumed from a checkpoint, after this round of this arm.

    `length` and `checksum` are the mark of that checkpoint: how much of the record it covers.
    Entries between the mark and this one are superseded (`fold.py`); a length of 0 means that the
    run started over.
    """

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    length: int | None = None
    """Bytes of the record that the checkpoint covers."""
    checksum: str = ""
    """Checksum of the last line that the checkpoint covers."""


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A signature on the record up to here, with the run's key (`signature.py`); written with every
    checkpoint.
    """

    signature: str
    """Ed25519 signature of the checksum so far, in hexadecimal digits."""


@dataclass(frozen=True, kw_only=True)
class Abandoned:
    """The run was abandoned after this round of this arm; its keys are deleted and it cannot be
    resumed.
    """

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Facts about the prepared data of a run."""

    source: str
    """`data.source` of the plan."""
    clients: int
    """Number of clients with rows."""
    rows_train: int
    """Training rows of all clients."""
    rows_test: int
    """Held-out test rows."""
    rows_per_client: list[int]
    """Training rows of each client."""
    parameters: int
    """Parameters of the model."""
    inputs: int
    """Input features of the model."""
    classes: list[str]
    """Names of the classes, in the order of the outputs."""
    text: str = ""
    """The form in which text enters the model: "hashed words", "word table", or none."""
    sites: int = 0
    """Number of sites; 0 in a simulation."""
    seeded: bool = True
    """Whether noise can be reproduced from the plan's seed."""
    wordless: int = 0
    """Training rows whose text has no word that the model reads."""
    leaks: list[str] = field(default_factory=list)
    """Columns that determine the label almost alone."""
    label_skew: float = 0.0
    """Distance (0 to 1) between a client's labels and all labels, beyond that of random rows."""
    words_seen: float = 1.0
    """Share of the words of a sample of training texts that the model reads."""


@dataclass(frozen=True, kw_only=True)
class DisclosedRows:
    """Rows that clients disclosed to the server before round 1, and how identifying they are."""

    rule: str
    """How rows were chosen: `share.rule` of the plan."""
    k: int
    """Minimum number of rows of an equivalence class (rows that are equal in all columns of `key`)."""
    l: float | None  # noqa: E741 (the literature's name for it)
    """Minimum diversity of labels in a class; none if the rule asks for none."""
    release: str
    """Which columns define an equivalence class: `share.release` of the plan."""
    counts: str
    """How the sizes of classes were counted: `share.counts` of the plan."""
    epsilon: float | None
    """Privacy loss of the counts, per client; none if they are exact."""
    delta: float | None
    """Probability that the loss is larger; none if counts are exact."""
    key: list[str]
    """The quasi-identifiers."""
    columns: list[str]
    """Columns that left."""
    rows: int
    """Rows that left."""
    of_rows: int
    """Training rows of all clients."""
    rows_per_client: list[int]
    """Rows that left, for each client."""
    bytes_per_client: list[int]
    """Size of what left, for each client."""
    classes: int
    """Equivalence classes among the rows that left."""
    smallest_class: int
    """Rows of the smallest class that left."""
    unique_share: float
    """Share of the rows that left which no other one equals in all columns but the label."""
    single_label_share: float
    """Share of the rows that left in classes with a single label: who knows `key` knows the label."""
    labels_disclosed: dict[str, int]
    """Rows that left, by label."""
    labels_kept: dict[str, int]
    """Rows that stayed, by label."""
    k_column: str | None = None
    """Column by which a client asks for more than `k` rows in a class: `share.k_column` of the plan."""


@dataclass(frozen=True, kw_only=True)
class Corrupted:
    """An experiment corrupted these clients on purpose."""

    corruption: str
    """`corrupt.kind` of the plan."""
    clients: list[int]
    """The corrupted clients."""
    of_clients: int
    """Number of all clients."""


@dataclass(frozen=True, kw_only=True)
class WarmStarted:
    """The server trained the initial model on public rows; `metrics` are on the test rows.

    `losses` are on the held-out public rows after each epoch; the model after `epoch` was kept.
    """

    rows: int
    """Public rows used for training."""
    held_out: int
    """Public rows held out to choose the epoch."""
    epoch: int
    """The epoch whose model was kept."""
    losses: list[float]
    """Loss on the held-out public rows after each epoch."""
    metrics: dict[str, float]
    """Metrics on the test rows."""


@dataclass(frozen=True, kw_only=True)
class Audited:
    """Results of an audit of the run."""

    name: str
    """Name of the audit."""
    findings: dict[str, Any]
    """Figures of the audit, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """SHA-256 of files in the run's folder, by name."""

    sha256: dict[str, str]
    """SHA-256 of each file, by name."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The end of one arm: the run itself ("run") or a baseline."""

    arm: str
    """`run`, or the name of a baseline."""
    rounds: int
    """Rounds that the arm trained."""
    metrics: dict[str, float]
    """Metrics of the final model on the test rows."""
    parameters_sha256: str
    """SHA-256 of the flat float32 parameters, not of a file; `stored` has those of files."""
    bytes_up: int
    """Bytes from a client to the server, per client and round."""
    bytes_down: int
    """Bytes from the server to a client, per client and round."""
    seconds: float
    """Wall time of the arm."""
    stopped_early: bool = False
    """Whether the arm ended before its last round."""
