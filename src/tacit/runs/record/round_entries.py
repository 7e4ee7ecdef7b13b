"""Entries about a round. The string below a field is its meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tacit.privacy.claim import Claim


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
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1; 0 before the first round."""
    exchange: str
    """The exchange of the round, such as `train` or `vote`."""
    clients: int
    """Number of clients asked in this exchange."""
    busiest: int
    """Largest number of times that one client has been charged for this claim."""
    claim: dict[str, Any]
    """Mechanism, unit, privacy loss and trust required, as JSON."""
    request: str = ""
    """SHA-256 of the request and its recipients."""
    superseded: bool = False
    """Never written; set by the reader."""

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
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    totals: list[dict[str, Any]]
    """Privacy loss so far, one total per unit."""
    statement: str = ""
    """Only in records of an early version."""

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
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    rounds: int
    """Number of rounds of the arm."""
    cohort: int
    """Clients that took part."""
    seconds: float
    """Wall time of the round."""
    bytes_up: int
    """Bytes from clients to the server, all clients together."""
    bytes_down: int
    """Bytes from the server to clients, all clients together."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics on the test rows, if the round was evaluated."""


@dataclass(frozen=True, kw_only=True)
class Voted:
    """Votes of testers on contributors in a round: scores from -1 (harmful) to 1 (helpful), and
    rejected clients.

    An error of 9 means that nobody voted on the contributor.
    """

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    clients: list[int]
    """The contributors that were voted on."""
    scores: list[float]
    """Mean vote on each contributor, with noise."""
    errors: list[float]
    """Standard error of each score."""
    rejected: list[int]
    """Contributors whose updates were left out."""
    threshold: float
    """Score below which a contributor is rejected."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Accuracy of the final model on each client's own rows; only a simulation knows it."""

    arm: str
    """`run`, or the name of a baseline."""
    accuracy: list[float]
    """Accuracy on the rows of each client."""


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The answers to the queries of a plan, read from noisy sums."""

    arm: str
    """`run`."""
    answers: list[dict[str, Any]]
    """For each query its name, its sentence, its kind, the figures (label, value, low, high), the
    standard deviation of the noise on a count, the confidence of the intervals, and a note.
    """


@dataclass(frozen=True, kw_only=True)
class ByClass:
    """The final model on the test rows, by class: rows, predictions, and correct predictions."""

    arm: str
    """`run`, or the name of a baseline."""
    rows: list[int]
    """Test rows of each class."""
    predicted: list[int]
    """Predictions of each class."""
    right: list[int]
    """Correct predictions of each class."""


@dataclass(frozen=True, kw_only=True)
class ClientsEvaluated:
    """Accuracy of a round's shared parameters with the private parameters of some clients; only a
    simulation knows it.
    """

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    clients: list[int]
    """The evaluated clients."""
    global_accuracy: list[float]
    """On the common test rows."""
    local_accuracy: list[float]
    """On test rows like the client's own."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A response that the server refused: its sender, its exchange, and the reason."""

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    exchange: str
    """The exchange of the round, such as `train` or `vote`."""
    sender: str
    """Identity of the sender."""
    reason: str
    """Why the server refused the response."""


@dataclass(frozen=True, kw_only=True)
class NetworkTimes:
    """An exchange over the simulated network of the plan: how many clients were asked, how many
    responses are missing and why, and the time it would take, in virtual seconds.

    All clients that were asked are charged.
    """

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1."""
    exchange: str
    """The exchange of the round, such as `train` or `vote`."""
    asked: int
    """Clients of the cohort."""
    unreachable: int
    """Clients that the request did not reach."""
    dropped: int
    """Clients that received the request and never responded."""
    late: int
    """Clients whose response came after the deadline."""
    median_seconds: float
    """Median time from the request to a response that counted; 0 if none did."""
    seconds: float
    """Time from the request until the server had all responses, or until its deadline."""


@dataclass(frozen=True, kw_only=True)
class SiteMissing:
    """A site whose reply to an exchange of a deployment is missing: a word for the cause (absent,
    late, policy, budget, …), the reason, and how long the server waited for this site.

    Round 0 is before the first round. The site's clients are charged if they were to be asked.
    """

    arm: str
    """`run`, or the name of a baseline."""
    round_no: int
    """The round, counted from 1; 0 before the first round."""
    exchange: str
    """The exchange of the round, such as `train` or `vote`."""
    site: str
    """Name of the site."""
    cause: str
    """A word for the cause: absent, late, policy, budget, …."""
    reason: str
    """What the site or the server said."""
    seconds: float
    """How long the server waited for this site."""


@dataclass(frozen=True, kw_only=True)
class OwnerDecided:
    """The owner of a site decided about the run, or did not in time, while the server waited.

    Only sites whose policy asks their owner for each run have such an entry.
    """

    arm: str
    """`run`."""
    round_no: int
    """0: before the first round."""
    exchange: str
    """`open`, or `begin` if the cost became known only then."""
    site: str
    """Name of the site."""
    outcome: str
    """`approved`, `refused`, or `undecided` if the server gave up."""
    seconds: float
    """How long the server waited for the decision."""
