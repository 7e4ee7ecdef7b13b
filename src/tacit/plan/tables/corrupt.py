"""[corrupt]: clients that are corrupted on purpose, for experiments; one class per kind."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import OWN, STRICT, Count, Many, Name, Needs, Own, Positive, Setting

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_Part = Annotated[float, Gt(0), Le(1)]
# Keys of all kinds. A docstring below an inherited field is lost, so these have descriptions.
_Clients = Annotated[
    float,
    Ge(0),
    Le(1),
    Field(description=("Share of corrupted clients; drawn from the seed, the same in every arm.")),
]
_FromRound = Annotated[
    Count,
    Field(description="The first round in which they misbehave; before it they are honest."),
]
_Votes = Annotated[
    Literal["honest", "inverted", "colluding"],
    Field(
        description=(
            "How they vote, if there are votes: honestly; the opposite; or for each other and"
            " against all others."
        )
    ),
]
_Tests = Annotated[
    bool, Field(description="Also corrupt their held-out test rows, like their training rows.")
]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class _CorruptClients:
    """A share of the clients, from some round on."""

    clients: _Clients = 0.3
    from_round: _FromRound = 1
    votes: _Votes = "honest"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class _CorruptedRows(_CorruptClients):
    """Clients whose rows are corrupted."""

    tests: _Tests = False


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RandomLabels(_CorruptedRows):
    """Labels replaced by a random class, which may be the right one."""

    kind: Literal["random_labels"] = "random_labels"
    labels: _Part = 0.9
    """Share of a corrupted client's rows whose label is replaced; with 10 classes 0.9 makes 81 % of
    them wrong.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlippedLabels(_CorruptedRows):
    """Labels in reverse order: the first class becomes the last, the second the second to last."""

    kind: Literal["flipped_labels"] = "flipped_labels"
    labels: _Part = 1.0
    """Share of a corrupted client's rows whose label is flipped."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FeatureNoise(_CorruptedRows):
    """Gaussian noise on the inputs."""

    kind: Literal["feature_noise"] = "feature_noise"
    scale: Positive = 1.0
    """Its standard deviation; pixels lie between 0 and 1."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Backdoor(_CorruptedRows):
    """A patch on some rows, all with one target label. The success rate is reported with the other
    figures.
    """

    kind: Literal["backdoor"] = "backdoor"
    share: _Part = 0.5
    """Share of a corrupted client's rows that get the patch and the label."""
    target: Annotated[int, Ge(0)] = 0
    """The target label, as the number of a class, from 0."""
    columns: Many[Annotated[int, Ge(0)]] = ()
    """Inputs that the patch sets, numbered from 0; default: the last nine."""
    value: float = 1.0
    """The value of these inputs."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FreeRider(_CorruptClients):
    """An update of zeros: no work done."""

    kind: Literal["free_rider"] = "free_rider"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SignFlip(_CorruptClients):
    """The honest update with opposite sign."""

    kind: Literal["sign_flip"] = "sign_flip"
    scale: Positive = 1.0
    """Factor of the norm."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RandomUpdate(_CorruptClients):
    """Noise with about the norm of the honest update."""

    kind: Literal["random_update"] = "random_update"
    scale: Positive = 1.0
    """Factor of the norm."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ALIE(_CorruptClients):
    """A Little Is Enough: the mean of the corrupted clients' honest updates, shifted by a few
    standard deviations.
    """

    kind: Literal["alie"] = "alie"
    spread: Positive | None = None
    """Number of standard deviations; default: the most that still resembles a majority."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class IPM(_CorruptClients):
    """Inner product manipulation: the mean of the corrupted clients' honest updates, with opposite
    sign.
    """

    kind: Literal["ipm"] = "ipm"
    scale: Positive = 0.1
    """Factor of the norm."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Mimic(_CorruptClients):
    """All corrupted clients copy one honest update, which then has many times its weight."""

    kind: Literal["mimic"] = "mimic"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OwnAttack(_CorruptClients):
    """Your own attack: a function that replaces a corrupted client's honest update."""

    kind: Annotated[str, Own("attacks"), Needs(f"a function as {OWN}")]
    """A function as `package.module:name`, in an installed package or in a folder of PYTHONPATH, or
    an entry point of the group `tacit.attacks` ([extend.md](guides/extend.md)). With `@sha256:` and the
    SHA-256 of its file at the end, other code is refused; a run writes it into its own plan.
    """
    settings: dict[Name, Setting] = field(default_factory=dict)
    """What the function takes as keyword arguments."""


CorruptRows = RandomLabels | FlippedLabels | FeatureNoise | Backdoor
"""Corruptions of a client's rows; the client then trains honestly on them."""
Colluding = ALIE | IPM | Mimic
"""Attacks computed from the honest updates of all attackers of a round."""
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
    | OwnAttack
)


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    corrupt, found = plan.corrupt, list[str]()
    if corrupt is None:
        return found
    rows = isinstance(corrupt, CorruptRows)
    if plan.data.share is not None and rows:
        found.append(
            f"corrupt.kind = {corrupt.kind!r} cannot be combined with data.share, which discloses"
            " unmodified rows; use a kind that changes updates, such as 'sign_flip'"
        )
    if rows and plan.data.deal == "every_round":
        found.append(
            f"corrupt.kind = {corrupt.kind!r} requires clients that keep their rows; got data.deal"
            " = 'every_round'"
        )
    if plan.regime != "federated" and not rows:
        found.append(
            f"corrupt.kind = {corrupt.kind!r} cannot be used with regime = {plan.regime!r}, which"
            " sends no updates"
        )
    if plan.regime != "federated" and corrupt.from_round > 1:
        found.append(
            f"corrupt.from_round cannot be used with regime = {plan.regime!r}, which has no"
            " rounds; remove it"
        )
    if corrupt.from_round > plan.server.rounds:
        found.append(
            f"corrupt.from_round must be at most server.rounds = {plan.server.rounds}, got"
            f" {corrupt.from_round}"
        )
    if plan.personal and (isinstance(corrupt, Backdoor) or (rows and corrupt.from_round > 1)):
        which = (
            "corrupt.kind = 'backdoor'"
            if isinstance(corrupt, Backdoor)
            else "corrupt.from_round above 1"
        )
        found.append(
            f"{which} cannot be used with private parameters; use another kind, or remove it"
        )
    return found
