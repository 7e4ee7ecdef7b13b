"""The vocabulary of promises: what leaves a client, what that can cost its owner, and whom one must
believe.

An event says what one release costs. No number stands alone: a claim says what its event is per
(its unit), under which change of data (its relation), who sees it (its view) and what it rests on
(its trust). Four events stand for "no number": Free (nothing was released), Open (released in the
clear), Disclosed (the rows themselves were handed over) and Unproven (nobody knows; the ledger
refuses to add it up). `ledger/` folds events to totals.

Events and claims are data: they go to JSON and come back the same, under names that stay.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Relation = Literal[
    "replace all rows of one client",
    "add or remove one client",
    "replace one row",
    "add or remove one row",
]
View = Literal["nobody", "server", "peers", "everyone"]
Party = Literal["nobody", "server", "helpers", "clients"]


@dataclass(frozen=True)
class Free:
    """Nothing about the client was released."""


@dataclass(frozen=True)
class Open:
    """Released in the clear: no bound on what can be learned."""


@dataclass(frozen=True)
class Unproven:
    """Altered before release, but with no proved bound."""


@dataclass(frozen=True)
class Disclosed:
    """The rows themselves were handed over, in full: nothing is left to bound."""


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
    """Pure differential privacy by a random vector that leans: it lies beyond a plane with
    probability `chance`, where a free one would with probability `free`, and is free on either
    side. What is drawn is that law up to factors of e^slack.
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
        """Return with which probability what is sent is free, whatever it leans towards."""
        return (1 - self.chance) / (1 - self.free) * math.exp(-self.slack)


@dataclass(frozen=True)
class Approximate:
    """Differential privacy but for a chance of delta."""

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
    """Gaussian noise: its standard deviation is `noise_multiplier` times the most the change of
    data can move a sum (L2).
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        _require(
            0 < self.noise_multiplier < math.inf,
            self,
            "a finite noise multiplier above 0; use Open() for no noise",
        )


@dataclass(frozen=True)
class GaussianDominated:
    """A mechanism that reveals no more than Gaussian noise does: k uses are dominated by one
    release with squared shift k / z² + τ.

    z is `noise_multiplier`. Without `rates`, τ is 0. Otherwise each τ holds except with probability
    exp(k excess - rate τ), for every rate and its excess. What is drawn is within `distance` of the
    analysed distribution (total variation, per use).
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
    """A bound on the Rényi divergence at each of some orders above 1; neither orders nor values may
    fall.

    `most` bounds the pure epsilon too, where that is known.
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
    """`count` uses of one event; `most` bounds the pure epsilon of all of them together, where that
    is known to be less.
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
    """An event on a random part of the clients or rows, each taken with chance `rate` and nobody
    knowing which.
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
"""The name of each event in JSON."""
_KINDS = {name: kind for kind, name in EVENT_NAMES.items()}


def event_to_json(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON values; what is infinite is left out."""
    tree: dict[str, Any] = {"event": EVENT_NAMES[type(event)]}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name == "event":
            tree["of"] = event_to_json(value)
        elif value != math.inf:
            tree[field.name] = list(value) if isinstance(value, tuple) else value
    return tree


def event_from_json(tree: dict[str, Any]) -> Event:
    """Return the event a tree of JSON values describes; raise ValueError if it describes none."""
    values = dict(tree)
    kind = _KINDS.get(str(values.pop("event", "")))
    if kind is None:
        raise ValueError(f"no event is called {tree.get('event')!r}; known are {', '.join(_KINDS)}")
    if "of" in values:
        values["event"] = event_from_json(values.pop("of"))
    try:
        made: Event = kind(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in values.items()
            }
        )
    except TypeError:
        wanted = ", ".join(field.name for field in fields(kind)) or "nothing"
        raise ValueError(
            f"the event {tree['event']!r} is made of {wanted}; got {', '.join(values) or 'nothing'}"
        ) from None
    return made


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What one whole update, or any other answer of a client, releases: an event made of uses that
    cost something per `unit`.

    `rests_on` is the party that could break the promise by itself: the server where it adds the
    noise or must see no more than a sum, the helpers where they do. It is nobody where the client
    protects its answer alone, and where nothing is promised. `trust` says the same in words, for
    people.
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
            "a known relation and a known view",
        )
        _require(
            self.rests_on in get_args(Party),
            self,
            f"a party it rests on, of {', '.join(get_args(Party))}",
        )

    @property
    def promises(self) -> bool:
        """Return whether a bound is stated at all."""
        return not isinstance(self.event, Free | Open | Unproven | Disclosed)

    def to_json(self) -> dict[str, Any]:
        """Return the claim as plain JSON values."""
        return {**asdict(self), "event": event_to_json(self.event), "trust": list(self.trust)}

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> Claim:
        """Return the claim a tree of JSON values describes; raise ValueError if it describes none.

        A claim written before promises said whom they rest on is read as the cautious one: on the
        server.
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
            raise ValueError(f"this is no claim: {error}") from None


@dataclass(frozen=True, kw_only=True)
class Total:
    """What all releases of a kind cost together: per bit, per update, per run. An epsilon of None:
    no number exists.
    """

    unit: str
    epsilon: float | None
    delta: float
    basis: str


def _require(holds: bool, who: object, what: str) -> None:
    if not holds:
        raise ValueError(f"{who} needs {what}")
