"""Outputs about runs. The string below a key is its meaning."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Transferred(TypedDict):
    """Bytes of serialised messages per client and round; null if the run has no finished arm."""

    up: int | None
    """From a client to the server."""
    down: int | None
    """From the server to a client."""


class VerdictSentence(TypedDict):
    """One sentence of the verdict: what limits the result, and what to change."""

    kind: str
    """The kind of finding, such as `still rising` or `near fedavg`."""
    says: str
    """What limits the result."""
    change: str
    """What to change; empty if nothing."""


class ClassResult(TypedDict):
    """Results of one class; null where nothing was counted."""

    name: str
    """Name of the class."""
    rows: int
    """Test rows of the class."""
    predicted: int
    """Test rows that were predicted as this class."""
    precision: float | None
    """Share of these that are of the class."""
    recall: float | None
    """Share of its rows that were predicted as the class."""


class Owners(TypedDict):
    """Whose data it is."""

    made_up: bool
    """Whether clients were simulated by dividing the rows."""
    sentence: str
    """The consequence for the guarantee; empty if clients are real."""


class GuaranteeMeaning(TypedDict):
    """How strong the guarantee is."""

    level: Literal["strong", "reasonable", "weak", "none"]
    """The strength in one word."""
    sentence: str
    """The strength in one sentence."""


class TotalLoss(TypedDict):
    """Privacy loss per unit, for the client that took part most often."""

    unit: str
    """What the loss is per: `run`, `update`, `bit`, …"""
    epsilon: float | None
    """The privacy loss; null without a bound."""
    delta: float
    """Probability that the loss is larger."""
    basis: str
    """How the loss was computed."""


class ComposedLoss(TypedDict):
    """Privacy loss per unit, and what it is composed of."""

    unit: str
    """What the loss is per: `run`, `update`, `bit`, …"""
    epsilon: float | None
    """The privacy loss; null without a bound."""
    delta: float
    """Probability that the loss is larger."""
    basis: str
    """How the loss was computed."""
    composed_of: str
    """The releases that were composed."""


class RunPrivacy(TypedDict):
    """The privacy guarantee of a run."""

    owners: Owners
    """Whose data it is."""
    statement: str
    """The statement for data owners."""
    meaning: NotRequired[GuaranteeMeaning]
    """How strong the guarantee is; missing if nothing is guaranteed per client."""
    totals: list[TotalLoss]
    """Privacy loss per unit; empty without a bound."""


class BaselineResult(TypedDict):
    """A baseline, trained on the same rows."""

    rounds: int
    """Rounds that it trained."""
    metrics: dict[str, float]
    """Metrics of its final model on the test rows."""
    bytes: Transferred
    """Bytes per client and round."""
    privacy: str
    """Its guarantee in one phrase."""
    seconds: float
    """Wall time."""
    parameters_sha256: str
    """SHA-256 of its final parameters."""


class CorruptedClients(TypedDict):
    """Clients that the plan corrupted on purpose."""

    corruption: str
    """`corrupt.kind` of the plan."""
    clients: list[int]
    """Their numbers."""
    of_clients: int
    """Number of all clients."""


class ScoredClient(TypedDict):
    """Votes on one client."""

    client: int
    """Number of the client."""
    score: float | None
    """Last score, from -1 (harmful) to 1 (helpful) plus noise; null without votes."""
    error: float | None
    """Standard error of the score; null without votes."""
    rounds: int
    """Rounds in which the client was voted on."""
    rejected_in: list[int]
    """Rounds in which its update was left out."""


class VoteDetection(TypedDict):
    """How well the rejections of the last round match the corrupted clients."""

    accuracy: float
    """Share of clients that were rejected if and only if they were corrupted."""
    precision: float | None
    """Share of rejected clients that were corrupted; null if none was rejected."""
    recall: float | None
    """Share of corrupted clients that were rejected; null if none was corrupted."""


class ClientVotes(TypedDict):
    """Votes of testers on contributors."""

    rounds: int
    """Rounds with votes."""
    threshold: float
    """Score below which a client is rejected."""
    rejected: list[int]
    """Clients that the last round rejected."""
    found: NotRequired[VoteDetection]
    """How well the rejections match the corrupted clients; missing if none were corrupted."""
    clients: list[ScoredClient]
    """Score of every client, lowest first."""


class MissingSiteResult(TypedDict):
    """A site whose replies are missing for one reason."""

    site: str
    """Name of the site."""
    cause: str
    """A word for the cause: absent, late, policy, budget, …"""
    reason: str
    """What the site or the server said."""
    rounds: list[int]
    """Rounds without its reply; 0 is before the first round."""
    exchanges: list[str]
    """Exchanges without its reply."""
    seconds: float
    """How long the server waited for this site."""


class NetworkResult(TypedDict):
    """The run over the plan's simulated network, in virtual time."""

    seconds: float
    """All rounds together, in virtual seconds."""
    median_round_seconds: float
    """The median round."""
    slowest_round_seconds: float
    """The slowest round."""
    asked: int
    """Requests to clients."""
    counted: int
    """Responses that the server used."""
    unreachable: int
    """Requests that did not reach their client."""
    dropped: int
    """Clients that never responded."""
    late: int
    """Responses after the deadline."""


class AnswerFigure(TypedDict):
    """One number that a query asked for."""

    label: str
    """What it is: a value, a bin, `mean`, `rows`, …"""
    value: float | None
    """The number with noise; null if noise hides it."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end of its interval."""


class QueryAnswer(TypedDict):
    """The answer to one query of a plan."""

    name: str
    """Name of the query."""
    query: str
    """Its sentence."""
    kind: str
    """Kind of query: `count`, `histogram`, `mean`, …"""
    figures: list[AnswerFigure]
    """The numbers; empty if no value stands out from the noise."""
    noise: float
    """Standard deviation of the noise on a count."""
    confidence: float
    """Probability with which an interval contains the number without noise."""
    note: str
    """What the figures leave out; empty if nothing."""


class RunOutput(TypedDict):
    """The result of a run: its own figures, those of its baselines, and the paths of its files."""

    run: str
    """Name of the run."""
    state: str
    """`finished`, or how far the run is."""
    model_sha256: str
    """SHA-256 of `model.safetensors`; empty without a model that the server can read."""
    parameters_sha256: str
    """SHA-256 of the final parameters as flat float32 numbers; empty if the run has not ended."""
    rounds: int
    """Rounds that were trained."""
    metrics: dict[str, float]
    """Metrics of the final model on the test rows."""
    verdict: list[VerdictSentence]
    """What limits the result."""
    classes: list[ClassResult]
    """Results by class."""
    bytes: Transferred
    """Bytes per client and round."""
    privacy: RunPrivacy
    """The privacy guarantee."""
    seconds: float
    """Wall time of training."""
    audits: NotRequired[dict[str, Any]]
    """Figures of each audit, by its name; missing without audits."""
    corrupted: NotRequired[CorruptedClients]
    """Clients that the plan corrupted; missing without corruption."""
    votes: NotRequired[ClientVotes]
    """Votes on contributors; missing without votes."""
    answers: NotRequired[list[QueryAnswer]]
    """Answers to the queries of the plan; missing if it trains a model."""
    sites_missing: NotRequired[list[MissingSiteResult]]
    """Sites with missing replies; missing if every site replied."""
    network: NotRequired[NetworkResult]
    """Times and missing responses over the simulated network; missing without `[network]`."""
    lost_rounds: NotRequired[list[int]]
    """Rounds that were lost after a resume; missing if none."""
    rows_without_words: NotRequired[int]
    """Training rows whose text has no word that the model reads; missing if none."""
    baselines: dict[str, BaselineResult]
    """Baselines by name."""
    report: str | None
    """Path of the report; null if none was written."""
    folder: str
    """Folder of the run."""
    damage: NotRequired[list[str]]
    """`tacit runs show`: damage of the run's files, one sentence each."""
    when: NotRequired[str]
    """`tacit runs list`: time of the last change."""


class DamagedRun(TypedDict):
    """A run whose record cannot be read."""

    run: str
    """Name of the run."""
    state: Literal["damaged record"]
    """Always the same words."""
    error: str
    """What is wrong with the record."""
    folder: str
    """Folder of the run."""
    when: str
    """Time of the last change."""


class RunsOutput(TypedDict):
    """Runs of a folder, oldest first."""

    runs: list[RunOutput | DamagedRun]
    """Every run."""


class ComparisonOutput(TypedDict):
    """Several runs next to each other."""

    runs: list[RunOutput]
    """Every run, in the order of the command line."""
    differences: dict[str, dict[str, Any]]
    """Settings that differ, and the value of each run by its name."""


class ShuffledLoss(TypedDict):
    """Privacy loss that a shuffler would give; no run uses one."""

    clients: int
    """Clients whose messages are shuffled together."""
    rounds: int
    """Rounds of the run."""
    update_epsilon: float
    """Privacy loss per update without a shuffler."""
    run_epsilon: float
    """Privacy loss per run without a shuffler."""
    shuffled_epsilon: float
    """Privacy loss per run with a shuffler."""
    delta: float
    """Probability that the loss is larger."""
    leans: bool
    """Whether the bound holds only if all messages of a round use the same coordinates."""
    pieces: int
    """Messages per client and round: 1, or with `--pieces` one per parameter."""


class PrivacyOutput(TypedDict):
    """The privacy guarantee of a run, with everything that it rests on."""

    run: str
    """Name of the run."""
    owners: Owners
    """Whose data it is."""
    statement: str
    """The statement for data owners."""
    meaning: NotRequired[GuaranteeMeaning]
    """How strong the guarantee is; missing if nothing is guaranteed per client."""
    totals: list[ComposedLoss]
    """Privacy loss per unit; empty without a bound."""
    relation: list[str]
    """Neighbouring relations: what may change in the data."""
    mechanism: list[str]
    """Mechanisms that released something."""
    seen_by: list[str]
    """Whose view the guarantee covers."""
    trust: list[str]
    """Whom the guarantee trusts."""
    source: list[str]
    """Publications and theorems behind the figures."""
    not_protected: list[str]
    """What the guarantee does not cover, one sentence each."""
    canaries: NotRequired[dict[str, Any]]
    """Figures of the canary audit; missing without one."""
    if_shuffled: NotRequired[ShuffledLoss]
    """With `--shuffle`: the privacy loss that a shuffler would give."""


class CheckedFile(TypedDict):
    """One file of a run."""

    file: str
    """Name of the file."""
    state: Literal["intact", "not intact", "not checked"]
    """Result of the check."""
    why: str
    """The reason."""


class VerificationOutput(TypedDict):
    """Whether the files of a run are unchanged."""

    run: str
    """Name of the run."""
    intact: bool
    """Whether no file is damaged or forged."""
    files: list[CheckedFile]
    """Every check."""


class AbandonmentOutput(TypedDict):
    """A run that was given up."""

    run: str
    """Name of the run."""
    abandoned: Literal[True]
    """Always true."""
    deleted: list[str]
    """Files with keys that were deleted."""


class PredictionsOutput(TypedDict):
    """Predictions for rows, or the file that has them."""

    run: str
    """Name of the run."""
    classes: NotRequired[list[str]]
    """The classes, in the order of probabilities; missing with `--out`."""
    predictions: NotRequired[list[str]]
    """The predicted class of each row; missing with `--out`."""
    probabilities: NotRequired[list[list[float]]]
    """With `--proba`: the probability of each class, a list per row."""
    out: NotRequired[str]
    """With `--out`: the file that was written."""
    rows: NotRequired[int]
    """With `--out`: the number of its rows."""
    notes: list[str]
    """How the rows differ from the training rows."""


class ExportOutput(TypedDict):
    """An exported model."""

    folder: str
    """The new folder."""
    to: str
    """The format."""
    largest_difference: float
    """Largest difference between a probability of the export and of the run's model."""
    rows: int
    """Rows on which both were compared."""


class MetricsExportOutput(TypedDict):
    """Figures of a run's record, written for another program."""

    to: str
    """The format."""
    place: str
    """The folder, file or address."""
    figures: int
    """Number of figures."""
