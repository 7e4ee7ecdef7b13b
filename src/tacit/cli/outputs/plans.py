"""Outputs about plans, data sets and papers. The string below a key is its meaning."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class CheckOutput(TypedDict):
    """A plan that can run."""

    plan: str
    """Path of the plan."""
    ok: Literal[True]
    """Always true; a plan that cannot run is an error."""
    summary: dict[str, str]
    """Sentences about the plan, by subject: `data`, `model`, `codec`, `privacy`, …"""


class ClipChoice(TypedDict):
    """Errors of the mean update at one clip, per parameter (root mean square)."""

    clip: float
    """`codec.clip`."""
    clipped_share: float
    """Share of the coordinates with a change that are clipped."""
    cut_error: float
    """Error from clipping."""
    noise_error: float
    """Error from noise."""
    error: float
    """Both together."""


class AdviceOutput(TypedDict):
    """Whether there are enough clients for the noise of a codec."""

    clients: int
    """Clients of a round."""
    parameters: int
    """Parameters of the model."""
    signal: float
    """Root mean square of the mean update."""
    codec: NotRequired[str]
    """Name of the codec; missing for `rr`."""
    cut_error: NotRequired[float]
    """Error from clipping, per parameter; missing for `rr`."""
    noise_error: NotRequired[float]
    """Error from noise, per parameter; missing for `rr`."""
    best: NotRequired[ClipChoice]
    """`rr`: the clip with the smallest error."""
    planned: NotRequired[ClipChoice]
    """`rr`: the clip of the plan."""
    measured_error: NotRequired[float]
    """`rr`: the measured error of the planned clip."""
    target: float
    """`--target`: desired error as a multiple of the signal."""
    clients_needed: int
    """Clients that would reach the target."""
    rounds_needed: NotRequired[int]
    """`rr`: rounds that would reach the target with the clients of the plan."""
    grid: NotRequired[list[ClipChoice]]
    """`rr`: every clip that was computed."""


class TrialResult(TypedDict):
    """Settings and their accuracy on validation rows."""

    settings: dict[str, str]
    """Plan keys and their values."""
    validation_accuracy: float
    """Accuracy on validation rows."""


class FailedTrial(TypedDict):
    """Settings whose run failed."""

    settings: dict[str, str]
    """Plan keys and their values."""
    error: str
    """Why the run failed."""


class TuningOutput(TypedDict):
    """The result of a search for better settings."""

    planned: TrialResult
    """The settings of the plan."""
    best: TrialResult
    """The best settings."""
    clients_of_trials: int | None
    """Clients of each trial if they are fewer than the plan's; else null."""
    failed: list[FailedTrial]
    """Trials that failed."""
    plan: str
    """Path of the new plan."""
    page: str
    """Path of the page."""


class MeanOverSeeds(TypedDict):
    """A mean over seeds, with a 95 % interval if there are several."""

    mean: float
    """The mean."""
    low: NotRequired[float]
    """Lower end of the interval."""
    high: NotRequired[float]
    """Upper end of the interval."""


class LossAtDelta(TypedDict):
    """A privacy loss."""

    epsilon: float | None
    """The privacy loss; null without a bound."""
    delta: float
    """Probability that the loss is larger."""


class SweepPoint(TypedDict):
    """One combination of settings."""

    settings: dict[str, str]
    """Plan keys and their values."""
    runs: list[str]
    """Names of its runs."""
    failed: list[str]
    """Runs that failed, one sentence each."""
    failed_baselines: dict[str, list[str]]
    """Baselines that failed, one sentence each, by baseline."""
    metrics: dict[str, MeanOverSeeds]
    """Metrics of the final models."""
    epsilon: dict[str, LossAtDelta]
    """Privacy loss by unit: `run`, `update`, `bit`, …"""
    relation: list[str]
    """Neighbouring relations: what may change in the data."""
    trust: list[str]
    """Whom the guarantee trusts."""
    bytes_up: float | None
    """Bytes from a client to the server, per client and round."""
    seconds: float | None
    """Wall time of a run."""
    baselines: dict[str, MeanOverSeeds]
    """The leading metric of each baseline."""


class SweepOutput(TypedDict):
    """Every combination of some settings."""

    sweep: str
    """Name of the sweep."""
    over: list[str]
    """Plan keys that vary."""
    seeds: int
    """Seeds of each combination."""
    metric: str
    """The leading metric."""
    points: list[SweepPoint]
    """Every combination."""
    choice: str
    """What choosing one of them reveals."""
    page: str
    """Path of the page."""


class DisclosedClass(TypedDict):
    """An equivalence class of rows."""

    values: dict[str, Any]
    """Its values of the quasi-identifiers."""
    rows: int
    """Number of its rows."""
    labels: dict[str, int]
    """Its rows by label."""


class CheckedPolicy(TypedDict):
    """A policy that was applied."""

    file: str | None
    """Path of the policy; null without one."""
    violations: list[str]
    """What it forbids, one sentence each."""


class DisclosureOutput(TypedDict):
    """Rows that a plan with `[data.share]` would disclose."""

    rows: int
    """Training rows of all clients."""
    disclosed: int
    """Rows that would leave."""
    key: list[str]
    """The quasi-identifiers."""
    columns: list[str]
    """Columns that would leave."""
    classes: int
    """Equivalence classes among the rows that would leave."""
    smallest_class: int
    """Rows of the smallest class."""
    single_label_classes: int
    """Classes with a single label."""
    unique_share: float
    """Share of these rows which no other one equals in all columns but the label."""
    single_label_share: float
    """Share of these rows in classes with a single label."""
    disclosed_per_client: list[int]
    """Rows that would leave, for each client."""
    rows_per_client: list[int]
    """Training rows of each client."""
    labels_disclosed: dict[str, int]
    """Rows that would leave, by label."""
    labels_kept: dict[str, int]
    """Rows that would stay, by label."""
    largest: list[DisclosedClass]
    """The largest classes."""
    smallest: list[DisclosedClass]
    """The smallest classes."""
    share: float
    """Share of the rows that would leave."""
    bytes_per_client: list[int]
    """Size of what would leave, for each client."""
    files: dict[str, str]
    """Files that were written, by kind."""
    policy: CheckedPolicy
    """The policy that was applied."""


class MessagePreview(TypedDict):
    """The first message of a client, field by field."""

    exchange: str
    """The exchange."""
    mechanism: list[str]
    """What the codec does with an update, step by step."""
    fields: dict[str, Any]
    """The fields of the header."""
    head_bytes: int
    """Size of the header."""
    payload_bytes: int
    """Size of the payload."""
    first_bytes: str
    """First bytes of the payload, in hexadecimal digits."""
    parameters: int
    """Parameters of the model."""
    reads: str
    """The features that the model reads."""
    in_the_clear: list[str]
    """What else leaves in the clear."""


class MessageOutput(TypedDict):
    """The message that each client of a plan without `[data.share]` would send."""

    rows: Literal[0]
    """No row leaves."""
    privacy: str
    """The guarantee in one sentence."""
    message: MessagePreview
    """The first message of a client."""


class NamedSet(TypedDict):
    """A named data set."""

    name: str
    """The name for `data.source`."""
    title: str
    """What it contains."""
    rows: int
    """Number of its rows."""
    bytes: int
    """Size of the download."""
    terms: str
    """Terms of use."""
    where: str | None
    """Path on this machine; null if it is not here."""


class DataSetsOutput(TypedDict):
    """The named data sets."""

    sets: list[NamedSet]
    """Every set."""


class JudgedClaimOutput(TypedDict):
    """A claim of a paper."""

    claim: str
    """The claim."""
    where: str
    """Where the paper makes it."""
    verdict: Literal[
        "holds", "holds with a correction", "does not hold here", "inconclusive", "not tested"
    ]
    """Whether it holds here."""
    reason: str
    """Why; what is missing if the claim is not tested."""
    figures: list[str]
    """The figures that decided it, check by check."""
    size: list[str]
    """Printed sizes next to ours, which decide nothing."""
    seeds: int | None
    """The seeds that would decide an inconclusive claim; null if no number is enough, or else."""


class ReproductionOutput(TypedDict):
    """Claims of a paper with verdicts, and the cells of its tables."""

    paper: str
    """Name of the paper."""
    scale: Literal["smoke", "quick", "full"]
    """The scale of the runs."""
    claims: list[JudgedClaimOutput]
    """Every claim that the chosen tables decide."""
    cells: list[dict[str, Any]]
    """Cells of the tables: ours with an interval, and the printed number."""


class ListedTable(TypedDict):
    """A table of a paper."""

    table: str
    """Its name for `--table`."""
    title: str
    """What it shows."""
    scales: list[str]
    """Scales that have it."""


class ListedPaper(TypedDict):
    """An installed paper."""

    paper: str
    """Its name."""
    title: str
    """Its title."""
    tables: list[ListedTable]
    """Its tables."""


class PapersOutput(TypedDict):
    """The installed papers."""

    papers: list[ListedPaper]
    """Every paper."""


class NegotiationOutput(TypedDict):
    """A range that several parties agreed on."""

    run: str
    """Name of the negotiation."""
    parties: int
    """Number of parties."""
    levels: int
    """Levels of quantisation."""
    enlargement: float
    """The range is wider on either side by its largest absolute value divided by this."""
    x_min: float
    """Lower end of the range."""
    x_max: float
    """Upper end of the range."""
    transcript_hash: str
    """A code over the run, its public parameters and the range; equal at every party."""
    file: str | None
    """Path of the file with range and secret; null if none was written."""
