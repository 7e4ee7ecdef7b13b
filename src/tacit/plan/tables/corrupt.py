"""[corrupt]: clients that are corrupted on purpose, for experiments; one class per kind, each with
its own keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Many, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_Part = Annotated[float, Gt(0), Le(1)]
# Keys that all kinds have: a meaning below a key is lost where a class inherits it, so these carry
# theirs with them.
_Clients = Annotated[
    float,
    Ge(0),
    Le(1),
    Field(
        description=(
            "Share of the clients that are corrupted; drawn from the seed, the same in every arm."
        )
    ),
]
_FromRound = Annotated[
    Count,
    Field(
        description="The first round in which they do harm; before it they behave like all others."
    ),
]
_Votes = Annotated[
    Literal["honest", "inverted", "colluding"],
    Field(
        description=(
            "How they vote on others, if there are votes: as they find; the opposite; or for each"
            " other and against everybody else."
        )
    ),
]
_Tests = Annotated[
    bool, Field(description="Corrupt the rows they are tried on too, as their train rows.")
]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class _Some:
    """Some clients, from some round on."""

    clients: _Clients = 0.3
    from_round: _FromRound = 1
    votes: _Votes = "honest"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class _Rows(_Some):
    """Clients whose rows are corrupted."""

    tests: _Tests = False


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RandomLabels(_Rows):
    """Labels replaced by any class at random, which may be the right one."""

    kind: Literal["random_labels"] = "random_labels"
    labels: _Part = 0.9
    """Share of a corrupted client's rows whose label is replaced; with 10 classes 0.9 makes 81 % of
    them wrong.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlippedLabels(_Rows):
    """Labels counted from the other end: the first class becomes the last, the second the one
    before it.
    """

    kind: Literal["flipped_labels"] = "flipped_labels"
    labels: _Part = 1.0
    """Share of a corrupted client's rows whose label is flipped."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FeatureNoise(_Rows):
    """Gaussian noise on the inputs."""

    kind: Literal["feature_noise"] = "feature_noise"
    scale: Positive = 1.0
    """Its standard deviation; pixels lie between 0 and 1."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Backdoor(_Rows):
    """A patch on some rows, with one label for all of them. How often it works is measured beside
    the other figures.
    """

    kind: Literal["backdoor"] = "backdoor"
    share: _Part = 0.5
    """Share of a corrupted client's rows that get the patch and the label."""
    target: Annotated[int, Ge(0)] = 0
    """The label they get, as the number of a class; the first is 0."""
    columns: Many[Annotated[int, Ge(0)]] = ()
    """Which inputs the patch sets, counted from 0; without it, the last nine."""
    value: float = 1.0
    """What it sets them to."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FreeRider(_Some):
    """An update of zeros: no work done."""

    kind: Literal["free_rider"] = "free_rider"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SignFlip(_Some):
    """The honest update turned round."""

    kind: Literal["sign_flip"] = "sign_flip"
    scale: Positive = 1.0
    """How many times as long."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RandomUpdate(_Some):
    """Noise about as long as the honest update."""

    kind: Literal["random_update"] = "random_update"
    scale: Positive = 1.0
    """How many times as long."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ALIE(_Some):
    """A little is enough: the mean of the corrupted clients' honest updates, a few standard
    deviations off.
    """

    kind: Literal["alie"] = "alie"
    spread: Positive | None = None
    """How many standard deviations; without it, the most that still looks like part of a majority.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class IPM(_Some):
    """Inner product manipulation: the mean of the corrupted clients' honest updates, turned
    round.
    """

    kind: Literal["ipm"] = "ipm"
    scale: Positive = 0.1
    """How many times as long."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Mimic(_Some):
    """All corrupted clients copy one honest update, which then counts many times."""

    kind: Literal["mimic"] = "mimic"


CorruptRows = RandomLabels | FlippedLabels | FeatureNoise | Backdoor
"""Corruptions of a client's rows; what it sends is then trained honestly on them."""
Colluding = ALIE | IPM | Mimic
"""Attacks on updates that are made from all attackers' honest updates of a round."""
Corrupt = (
    RandomLabels
    | FlippedLabels
    | FeatureNoise
    | Backdoor
    | FreeRider
    | SignFlip
    | RandomUpdate
    | ALIE
    | IPM
    | Mimic
)


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    corrupt, found = plan.corrupt, list[str]()
    if corrupt is None:
        return found
    rows = isinstance(corrupt, CorruptRows)
    if plan.data.share is not None and rows:
        found.append(
            f"corrupt.kind: {corrupt.kind!r} has no meaning beside data.share, which hands over"
            " rows as they are; use a kind that changes what is sent, such as 'sign_flip'"
        )
    if rows and plan.data.deal == "every_round":
        found.append(
            f"corrupt.kind: {corrupt.kind!r} needs clients that keep their rows; got data.deal ="
            " 'every_round'"
        )
    if plan.regime != "federated" and not rows:
        found.append(
            f"corrupt.kind: {corrupt.kind!r} has no meaning with regime = {plan.regime!r}, in which"
            " nobody sends an update"
        )
    if plan.regime != "federated" and corrupt.from_round > 1:
        found.append(
            f"corrupt.from_round: has no meaning with regime = {plan.regime!r}, which has no"
            " rounds; remove it"
        )
    if corrupt.from_round > plan.server.rounds:
        found.append(
            f"corrupt.from_round: needs at most server.rounds = {plan.server.rounds}; got"
            f" {corrupt.from_round}"
        )
    if plan.personal and (isinstance(corrupt, Backdoor) or (rows and corrupt.from_round > 1)):
        which = (
            "corrupt.kind: 'backdoor'"
            if isinstance(corrupt, Backdoor)
            else "corrupt.from_round: above 1"
        )
        found.append(
            f"{which} has no meaning where a part of the model stays with each client; use another"
            " kind, or remove it"
        )
    return found
