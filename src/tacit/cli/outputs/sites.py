"""Outputs about sites and their policies. The string below a key is its meaning."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class RowFinding(TypedDict):
    """A difference between rows and plan."""

    column: str
    """The column."""
    sentence: str
    """What differs."""
    rows: int
    """Number of rows with this difference."""
    problem: bool
    """Whether it is a misfit, or only a note."""
    row_numbers: NotRequired[list[int]]
    """With `--rows`: numbers of these rows."""


class SiteCheckOutput(TypedDict):
    """Whether the rows of a site fit a plan."""

    site: str
    """Folder of the site."""
    plan: str
    """Path of the plan."""
    rows: int
    """Rows of the site."""
    schema_hash: str | None
    """Hash of the plan's schema; null without one."""
    fits: bool
    """Whether a run would accept the rows."""
    refusal: str
    """Why a run would be refused; empty if it would not."""
    findings: list[RowFinding]
    """Differences between rows and plan."""


class BackupOutput(TypedDict):
    """A backup of a site."""

    backup: str
    """Path of the backup."""
    made: str
    """Time at which it was made."""
    entries: int
    """Entries of the ledger in it."""
    head: str
    """Hash of the last entry, in hexadecimal digits."""


class PeerSite(TypedDict):
    """Another site of the server."""

    name: str
    """Name of the site."""
    signing_key: str
    """Its signing key, in hexadecimal digits."""
    fingerprint: str
    """Fingerprint of its keys."""
    state: Literal["confirmed", "not confirmed", "changed"]
    """Whether this site's owner confirmed the key."""


class PeersOutput(TypedDict):
    """The other sites of a server."""

    name: str
    """Name of this site."""
    fingerprint: str
    """Fingerprint of this site's keys."""
    peers: list[PeerSite]
    """Every other site."""


class PlanRequirements(TypedDict):
    """What a plan requires of a policy, as far as it is known before data is read."""

    plan_hash: str
    """Hash of the plan, for `hashes` under `[plans]`."""
    model: str
    """`model.name`."""
    codec: str
    """`codec.name`."""
    columns: dict[str, list[str]] | None
    """Columns by role; null where the plan leaves them to the data."""
    epsilon_per_update: float | None
    """Privacy loss of an update; null if not known."""
    epsilon_per_run: float | None
    """Privacy loss of a client over the run; null if not known."""
    delta: float
    """Probability that the loss is larger."""
    rounds: int
    """Number of rounds."""
    unbounded: bool
    """Whether something is also sent for which no epsilon per client exists."""
    measures: int
    """How often a model is evaluated on held-out rows."""
    epsilon_with_measures: float | None
    """Privacy loss of a run with noisy counts; null if not known."""
    test_share: float
    """Share of rows held out."""
    cohort: int | None
    """Clients of a round; null if not known."""
    min_summed: int | None
    """Fewest clients that helpers sum; null without helpers."""
    message_bytes: int | None
    """Size of a message; null if not known."""
    parameters: int | None
    """Parameters of the model, a lower bound; null if not known."""
    local_steps: int | None
    """Steps of local training, a lower bound; null if not known."""
    client: str | None
    """The client column; null without one."""
    k: int | None
    """k of disclosed rows; null if none are disclosed."""
    released: list[str]
    """Columns of disclosed rows."""
    key: list[str]
    """Quasi-identifiers of disclosed rows."""
    generalise: dict[str, str]
    """Generalisation rule of each column."""
    schema: str | None
    """Hash of the plan's schema; null without one."""
    user_code: list[Any]
    """Python code that the plan names."""
    files: list[str]
    """Files that the plan names."""
    disclosures: list[str]
    """What the plan publishes in the clear."""
    baselines: list[str]
    """Baselines, which sites do not run."""
    votes: bool
    """Whether clients vote."""
    negotiates: bool
    """Whether the sites of a run agree on a secret that they all know."""
    trusts_server: bool
    """Whether the guarantee trusts the server."""
    simulation_noise: bool
    """Whether noise can be reproduced from the seed."""


class PolicyCheckOutput(TypedDict):
    """Whether a policy allows a plan."""

    policy: str
    """Path of the policy."""
    plan: str
    """Path of the plan."""
    asks: PlanRequirements
    """What the plan requires."""
    refusals: list[str]
    """What the policy forbids, one sentence each; empty if the plan is allowed."""
    measures: str
    """How models are evaluated, in words; empty without evaluation."""


class ReceivedModel(TypedDict):
    """A model that a site received."""

    run: str
    """Name of the run."""
    folder: str
    """Folder of the model."""
    received: str
    """Time at which it arrived."""
    plan: str
    """Name of the plan."""
    result: str
    """The result in one phrase."""
    privacy: str
    """The guarantee in one phrase."""
    sha256: str
    """SHA-256 of the model's file; empty if the record has none."""


class ModelsOutput(TypedDict):
    """The models that a site received."""

    models: list[ReceivedModel]
    """Every model, oldest first."""


class ExchangeAtSite(TypedDict):
    """One exchange of a round at a site."""

    round_no: int
    """The round."""
    exchange: str
    """The exchange."""
    clients: int
    """Clients that were charged."""
    left_out: dict[str, int]
    """Clients that were left out, by reason."""
    bytes: int | None
    """Size of the response; null if none was stored."""


class RefusalAtSite(TypedDict):
    """Requests that a site refused for one reason."""

    kind: str
    """The kind of error."""
    status: str
    """The word that the server learned."""
    why: str
    """The reason."""
    round: int
    """Round of the last such request."""
    times: int
    """How often."""
    last: str
    """Time of the last such request."""


class SiteRunOutput(TypedDict):
    """One run at a site: what was asked, what left, and what was refused."""

    run: str
    """Name of the run."""
    state: Literal["open", "ended", "not opened"]
    """State of the run at this site."""
    exchanges: list[ExchangeAtSite]
    """Exchanges in their order."""
    responses: int
    """Responses that left."""
    bytes: int
    """Bytes that left."""
    rows: int
    """Rows that were disclosed."""
    clients: int
    """Clients that were charged."""
    epsilon: float
    """Largest privacy loss of a client in the run."""
    delta: float
    """Probability that the loss is larger."""
    no_epsilon: bool
    """Whether messages without an epsilon were sent too."""
    statistics: dict[str, Any] | None
    """Statistics that were sent before round 1; null if none."""
    first_contact: str | None
    """Time of the first request; null if unknown."""
    last_contact: str | None
    """Time of the last request; null if unknown."""
    requests: dict[str, int]
    """Requests by kind."""
    refusals: list[RefusalAtSite]
    """Refused requests."""


class AllowedParts(TypedDict):
    """What the policy of a site allows."""

    models: list[str]
    """`allow.models`."""
    codecs: list[str]
    """`allow.codecs`."""


class HeldColumnOutput(TypedDict):
    """A column of a site's file."""

    name: str
    """Name of the column."""
    filled: int
    """Cells that are not empty."""
    distinct: int
    """Number of different values."""
    roles: list[str]
    """For what the policy lets plans use it."""
    identifies: bool
    """Whether it is the client column or a quasi-identifier."""


class HoldingsOutput(TypedDict):
    """What a site's file holds, in numbers."""

    rows: int
    """Number of rows."""
    clients: int | None
    """Number of clients; null if site.toml does not say who they are."""
    nameless: int
    """Rows that name no client."""
    columns: list[HeldColumnOutput]
    """Every column."""


class SiteStatusOutput(TypedDict):
    """A site: its identity, policy, spent privacy budget and runs."""

    name: str
    """Name of the site."""
    data: str
    """Path of its rows."""
    server: str
    """Address of its server."""
    client: str | None
    """The client column; null if none is set."""
    quasi_identifiers: list[str]
    """The quasi-identifiers of its rows."""
    joined: bool
    """Whether a process of the site is joined now."""
    policy: AllowedParts | None
    """What its policy allows; null without a policy."""
    epsilon_per_run: float | None
    """Largest privacy loss per run that the policy allows; null without a limit."""
    max_epsilon_lifetime: float | None
    """Largest privacy loss over all runs that the policy allows; null without a limit."""
    signing_key: str
    """Its public signing key, in hexadecimal digits."""
    peers: list[str]
    """Sites whose keys the owner confirmed."""
    clients_charged: NotRequired[int]
    """Clients that were charged; missing before the first charge."""
    largest_epsilon_spent_for_life: NotRequired[float]
    """Largest privacy loss of a client over all runs; missing before the first charge."""
    least_epsilon_left_for_life: NotRequired[float]
    """What is left of that client's lifetime budget; missing before the first charge or without a limit."""
    open_runs: list[str]
    """Runs under way."""
    records_of_ended_runs: dict[str, dict[str, Any]]
    """How the server's record of each ended run ended: key, length and head."""
    told: list[dict[str, Any]]
    """Entries of the ledger: statistics that runs received."""
    disclosed: list[dict[str, Any]]
    """Entries of the ledger: rows that runs received."""
    runs: list[SiteRunOutput]
    """Every run at this site."""
    holdings: HoldingsOutput | None
    """What the file of rows holds, in numbers; null without --count."""
