"""Privacy claims: what leaves a client, its privacy loss, and which parties must be trusted.

An event is the privacy loss of one release. A claim adds what the event is counted per (its unit),
the neighbouring relation, who sees the release (its view) and whom the guarantee rests on (its
trust). Four events have no epsilon: Free (nothing was released), Open (released in the clear),
Disclosed (the rows themselves were released) and Unproven (no bound is proved; the ledger refuses
to add it up). `ledger/` composes events into totals.

Events and claims survive a round trip through JSON. Their names and keys there never change.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

Relation = Literal[
    "replace all rows of one client",
    "add or remove one client",
    "replace one row",
    "add or remove one row",
]
View = Literal["nobody", "server", "peers", "everyone"]
Party = Literal["nobody", "server", "helpers", "clients"]

SEES_UPDATES = "sees every unprotected update"
"""What a trusted server sees, in the words of a claim's trust."""
_SEES_SUMS = (
    "sees the sum of each site's updates without noise (one update, where a site has one client in"
    " the round)"
)


@dataclass(frozen=True)
class Free:
    """Nothing about the client was released."""


@dataclass(frozen=True)
class Open:
    """Released in the clear: no bound on what can be learned."""


@dataclass(frozen=True)
class Unproven:
    """Perturbed before release, but no bound is proved."""


@dataclass(frozen=True)
class Disclosed:
    """The rows themselves were released in full; no bound exists."""


@dataclass(frozen=True)
class Pure:
    """Pure differential privacy: no output is more than e^epsilon times as likely under one data
    set as under the other.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _require(
            0 < self.epsilon < math.inf, self, "a finite epsilon above 0; use Free() or Open()"
        )


@dataclass(frozen=True)
class BiasedVector(Pure):
    """Pure differential privacy by a random unit vector biased towards the update (PrivUnitG).

    The vector lies beyond a plane with probability `chance`; an unbiased vector does with
    probability `free`. On either side of the plane it is distributed as an unbiased one. Sampling
    is exact up to factors of e^slack.
    """

    chance: float
    free: float
    slack: float

    def __post_init__(self) -> None:
        super().__post_init__()
        sound = 0 < self.free < self.chance < 1 and 0 <= self.slack < math.inf
        _require(sound, self, "probabilities with 0 < free < chance < 1, and a slack of 0 or more")

    @property
    def blanket(self) -> float:
        """Privacy-blanket weight: probability that the output is independent of the input."""
        return (1 - self.chance) / (1 - self.free) * math.exp(-self.slack)


@dataclass(frozen=True)
class Approximate:
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _require(
            0 <= self.epsilon < math.inf and 0 < self.delta < 1,
            self,
            "a finite epsilon and a delta between 0 and 1",
        )


@dataclass(frozen=True)
class GaussianNoise:
    """Gaussian noise whose standard deviation is `noise_multiplier` times the L2 sensitivity."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        _require(
            0 < self.noise_multiplier < math.inf,
            self,
            "a finite noise multiplier above 0; use Open() for no noise",
        )


@dataclass(frozen=True)
class GaussianDominated:
    """A mechanism that Gaussian noise dominates: k uses are dominated by one release with squared
    shift k / z² + τ.

    z is `noise_multiplier`. Without `rates`, τ is 0. Otherwise each τ holds except with probability
    exp(k excess - rate τ), for every rate and its excess. The sampled distribution is within total
    variation distance `distance` of the analysed one, per use.
    """

    noise_multiplier: float
    rates: tuple[float, ...] = ()
    excess: tuple[float, ...] = ()
    distance: float = 0.0

    def __post_init__(self) -> None:
        _require(
            0 < self.noise_multiplier < math.inf,
            self,
            "a finite noise multiplier above 0; use Open() for no noise",
        )
        sound = len(self.rates) == len(self.excess) and all(
            0 < rate < math.inf for rate in self.rates
        )
        _require(
            sound and all(0 <= one < math.inf for one in self.excess),
            self,
            "one finite excess of 0 or more per positive rate",
        )
        _require(0 <= self.distance < 1, self, "a distance from 0 to below 1")


@dataclass(frozen=True)
class RenyiCurve:
    """Upper bounds on the Rényi divergence at some orders above 1; orders and values are
    non-decreasing.

    `most` bounds the pure epsilon, where a bound is known.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]
    most: float = math.inf

    def __post_init__(self) -> None:
        rising = all(list(part) == sorted(part) for part in (self.orders, self.values))
        sound = (
            len(self.orders) == len(self.values) > 0
            and rising
            and self.orders[0] > 1
            and self.values[0] >= 0
        )
        _require(self.most > 0, self, "a largest epsilon above 0")
        _require(
            sound and math.isfinite(self.orders[-1] + self.values[-1]),
            self,
            "as many rising values as rising orders above 1",
        )


@dataclass(frozen=True)
class Repeated:
    """`count` uses of one event; `most` bounds their total pure epsilon, where a smaller bound is
    known.
    """

    event: Event
    count: int
    most: float = math.inf

    def __post_init__(self) -> None:
        _require(
            self.count >= 1 and self.most > 0,
            self,
            "a count of at least 1 and a largest epsilon above 0",
        )


@dataclass(frozen=True)
class Sampled:
    """An event on a Poisson subsample of clients or rows: each is included with probability `rate`,
    and the sample stays secret.
    """

    event: Event
    rate: float

    def __post_init__(self) -> None:
        _require(0 < self.rate <= 1, self, "a rate above 0 and at most 1")


Event = (
    Free
    | Open
    | Unproven
    | Disclosed
    | Pure
    | BiasedVector
    | Approximate
    | GaussianNoise
    | GaussianDominated
    | RenyiCurve
    | Repeated
    | Sampled
)

EVENT_NAMES: dict[type[Any], str] = {
    Free: "free",
    Open: "open",
    Unproven: "unproven",
    Disclosed: "disclosed",
    Pure: "pure",
    BiasedVector: "leaning",
    Approximate: "approximate",
    GaussianNoise: "gaussian",
    GaussianDominated: "gaussian_dominated",
    RenyiCurve: "renyi_curve",
    Repeated: "repeated",
    Sampled: "sampled",
}
"""Name of each event in JSON."""
_KINDS = {name: kind for kind, name in EVENT_NAMES.items()}


def event_to_json(event: Event) -> dict[str, Any]:
    """Convert an event to plain JSON values; infinite values are left out."""
    tree: dict[str, Any] = {"event": EVENT_NAMES[type(event)]}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name == "event":
            tree["of"] = event_to_json(value)
        elif value != math.inf:
            tree[field.name] = list(value) if isinstance(value, tuple) else value
    return tree


def event_from_json(tree: dict[str, Any]) -> Event:
    """Parse an event from JSON values; raise ValueError if they describe none."""
    values = dict(tree)
    kind = _KINDS.get(str(values.pop("event", "")))
    if kind is None:
        raise ValueError(f"unknown event {tree.get('event')!r}; must be one of {', '.join(_KINDS)}")
    if "of" in values:
        values["event"] = event_from_json(values.pop("of"))
    try:
        event: Event = kind(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in values.items()
            }
        )
    except TypeError:
        expected = ", ".join(field.name for field in fields(kind)) or "none"
        raise ValueError(
            f"event {tree['event']!r} has the fields {expected}; got {', '.join(values) or 'none'}"
        ) from None
    return event


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What one update, or any other response of a client, releases.

    `rests_on` is the party that could break the guarantee on its own: the server where it adds the
    noise or must see sums only, the helpers where they do. It is "nobody" where the client protects
    its response itself, and where there is no guarantee. `trust` says the same in words.
    """

    mechanism: str
    event: Event
    unit: str
    relation: Relation
    view: View
    trust: tuple[str, ...]
    rests_on: Party
    source: str

    def __post_init__(self) -> None:
        _require(
            self.relation in get_args(Relation) and self.view in get_args(View),
            self,
            "one of the known relations and views",
        )
        _require(
            self.rests_on in get_args(Party),
            self,
            f"a rests_on among {', '.join(get_args(Party))}",
        )

    def add_at_site(self) -> Claim:
        """The claim if the client's site adds up the responses of its clients before it sends them."""
        return replace(
            self,
            mechanism=f"{self.mechanism}, added up at the client's site",
            trust=tuple(word.replace(SEES_UPDATES, _SEES_SUMS) for word in self.trust),
        )

    @property
    def promises(self) -> bool:
        """Whether the claim states a bound."""
        return not isinstance(self.event, Free | Open | Unproven | Disclosed)

    def to_json(self) -> dict[str, Any]:
        """Convert the claim to plain JSON values."""
        return {**asdict(self), "event": event_to_json(self.event), "trust": list(self.trust)}

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> Claim:
        """Parse a claim from JSON values; raise ValueError if they describe none.

        A claim without `rests_on` is read as resting on the server, the cautious choice.
        """
        try:
            return cls(
                **{
                    "rests_on": "server",
                    **tree,
                    "event": event_from_json(tree["event"]),
                    "trust": tuple(tree["trust"]),
                }
            )
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a claim: {error}") from None


@dataclass(frozen=True, kw_only=True)
class Total:
    """Composed privacy loss per bit, per update or per run. `epsilon` is None where no epsilon
    exists.
    """

    unit: str
    epsilon: float | None
    delta: float
    basis: str


def _require(holds: bool, value: object, requirement: str) -> None:
    if not holds:
        raise ValueError(f"{value} must have {requirement}")
