"""Views of one client's message: the server sees a message or a sum, others see the models; and a
control.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import Payload
from tacit.codecs.sums.joined import JoinedTally
from tacit.errors import PlanError
from tacit.protocol.exchanges.secure_train import SecureTrain
from tacit.protocol.exchanges.train import Train, UpdateExchange
from tacit.protocol.round import Names
from tacit.protocol.site import Client
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.simulation.advice.first_round import FirstRound

CONTROL = "control: the update itself, before clip and codec"
NO_MESSAGE = "no message: what is frequent in public rows"
BEFORE_NOISE = "the server, before it adds the noise"
_COMPARED = 50
"""Number of clients whose tokens are compared with a client's own."""


@dataclass(frozen=True)
class MessageVictim:
    """A client under attack: its update, and its encoded payload."""

    client: Client
    update: Vector
    payload: Payload

    @property
    def name(self) -> int:
        """The client's public name."""
        return self.client.slot.name


class MessageView(NamedTuple):
    """What one party sees with a victim's message, and without it (None: compare with another
    client's message).

    `signed` says that the view has a direction, so that labels can be inferred from it.
    """

    who: str
    seen: Callable[[MessageVictim], Vector]
    without: Callable[[MessageVictim], Vector] | None = None
    signed: bool = True


class Observed:
    """The first round of a plan with some victims in its cohort."""

    def __init__(self, begun: FirstRound, clients: int, draws: Draws) -> None:
        self.begun, self.draws = begun, draws
        trains = [
            exchange for exchange in begun.arm.exchanges if isinstance(exchange, UpdateExchange)
        ]
        if not trains:
            raise PlanError(
                "audit reconstruct cannot attack filter.aggregate = 'heads': clients send only "
                "their last layers, in the clear; `tacit plan disclose` shows such a message"
            )
        self.train, self.site, self.worker = trains[0], begun.arm.site, begun.arm.learner.worker()
        self.terms, self.codec = self.site.agreement, self.site.codec(1)
        self.request = self.train.build_request(begun.state)
        self.model = self.site.model(self.request)
        self.cohort = begun.cohort()
        honest = np.array(
            [self.site.behaviour.all_honest(np.array([name]), 1) for name in self.cohort.tolist()],
            np.bool_,
        )
        if not honest.any():
            raise PlanError(
                f"plan {begun.arm.plan.name!r}: no client of the first round has rows; check"
                " data.clients"
            )
        able = self.cohort[honest]
        chosen = (
            draws.at("clients").generator().choice(able, min(clients, len(able)), replace=False)
        )
        self.victims = [self._victim(name) for name in np.sort(chosen).tolist()]
        self._others: tuple[Payload, int] | None = None

    def views(self) -> list[MessageView]:
        """List what each party sees under the plan, the control first."""
        found = [MessageView(CONTROL, lambda victim: victim.update)]
        if self.terms.codec.decoded_by == "clients":
            return [*found, *self._token_views()]
        if isinstance(self.train, SecureTrain):
            return [*found, *self._sum_views("the server: the securely aggregated sum")]
        if self.terms.sum_at_site:
            return [*found, *self._sum_views("the server: the site's sum")]
        if self.terms.codec.sum_noise is not None:  # decoding adds noise that the server knows
            found.append(
                MessageView(
                    BEFORE_NOISE, lambda victim: self.terms.codec.clip_update(victim.update)
                )
            )
            return [*found, *self._sum_views("anybody who sees the models: the noisy sum")]
        found.append(MessageView("the server: one message", self._decode_alone))
        return [
            *found,
            *(
                self._sum_views("anybody who sees the models: the sum")
                if self.terms.codec.known_noise
                else ()
            ),
        ]

    def _victim(self, name: int) -> MessageVictim:
        client = Client(self.site, self.site.slot(name), self.worker)
        update = self.train.update(client, self.model, 1).copy()
        return MessageVictim(
            client,
            update,
            self.train.encode_update(client, self.model, update, self.request).payload,
        )

    def _decode_alone(self, victim: MessageVictim) -> Vector:
        """Decode one message alone, as an update."""
        one = self.terms.codec.empty(self.terms.dim)
        one.add(victim.payload, 1, self.terms.public.at(1, victim.name))
        own = self.draws.at("alone", victim.name).for_server()
        found = self.codec.decode(one, public=self.terms.public.at(1), own=own)
        return self.terms.codec.compute_update(self.model, found)

    def _sum_views(self, who: str) -> list[MessageView]:
        """Views of the cohort's sum, and of the remainder for a party that knows all other updates.

        With and without the victim, the noise is the same, so that the two differ only by the
        victim.
        """

        def seen(victim: MessageVictim) -> Vector:
            return self._sum(self.victims, self.draws.at("sum", victim.name))

        def without(victim: MessageVictim) -> Vector:
            return self._sum(
                [one for one in self.victims if one is not victim],
                self.draws.at("sum", victim.name),
            )

        noised = (self.terms.codec.sum_noise or self.terms.codec.known_noise) is not None
        return [
            MessageView(f"{who} of {len(self.cohort):,} clients", seen, without),
            MessageView(
                "… and knows the update of every other client",
                self._subtract_others,
                self._noise if noised else None,
            ),
        ]

    def _sum(self, some: list[MessageVictim], draws: Draws) -> Vector:
        """Mean update of all others and some victims, decoded with fresh noise."""
        total = self._total_of_others()
        for victim in some:
            total.add(
                victim.payload,
                self.site.weight(victim.client.slot),
                self.terms.public.at(1, victim.name),
            )
        integers = self.terms.codec.integers
        if integers is not None and integers.noise is not None:
            noise = [
                integers.noise(self.terms.dim, draws.at("helper", number))
                for number in range(self.begun.arm.plan.helpers)
            ]
            total = integers.build_sum(total.value() + sum(noise), total.weight)
        return Train(self.terms, draws).decode_mean(self.begun.state, total)

    def _total_of_others(self) -> Any:
        """Sum of the cohort without any victim, as a new object each time; its clients train once."""
        if self._others is None:
            rest: Names = np.setdiff1d(self.cohort, [victim.name for victim in self.victims])
            adding = Train(
                self.terms, self.draws
            )  # however numbers travel, they add up to the same
            request = adding.build_request(self.begun.state).part(rest)
            made = adding.respond_many(self.site, self.worker, request).total if len(rest) else None
            self._others = (
                (made.pack(), made.weight) if made is not None else (np.empty(0, np.uint8), 0)
            )
        total, (packed, weight) = self.terms.codec.empty(self.terms.dim), self._others
        if weight:
            total.add_packed(packed, weight)
        return total

    def _subtract_others(self, victim: MessageVictim) -> Vector:
        """The sum minus all other updates: the victim's clipped update plus the noise."""
        codec = self.terms.codec
        if codec.sum_noise is None and codec.known_noise is None:
            return self._decode_alone(victim)
        return np.asarray(codec.clip_update(victim.update) + self._noise(victim), np.float32)

    def _noise(self, victim: MessageVictim) -> Vector:
        """Noise with the standard deviation of the sum's noise."""
        size = self.terms.codec.sum_noise or self.terms.codec.known_noise
        assert size is not None
        drawn = self.draws.at("informed", victim.name).generator().standard_normal(self.terms.dim)
        return np.asarray(size(self.terms.dim) * drawn, np.float32)

    def _token_views(self) -> list[MessageView]:
        names = [victim.name for victim in self.victims]
        rest = np.setdiff1d(self.cohort, names)[: max(0, _COMPARED - len(names))]
        others = [self._victim(name) for name in rest.tolist()]
        sent = {one.name: self._tokens(one.payload) for one in (*self.victims, *others)}

        def compare(victim: MessageVictim) -> Vector:
            """Share of the other clients that sent a different token, by parameter."""
            own, rest = (
                sent[victim.name],
                [tokens for name, tokens in sent.items() if name != victim.name],
            )
            differ = [_find_unequal(own, one) for one in rest]
            return (
                np.mean(differ, axis=0, dtype=np.float32)
                if differ
                else np.zeros(self.terms.dim, np.float32)
            )

        return [
            MessageView(
                f"the server without the secret: tokens of {len(sent):,} clients compared",
                compare,
                signed=False,
            ),
            MessageView(
                "the server together with one client, who has the secret", self._decode_alone
            ),
        ]

    def _tokens(self, payload: Payload) -> list[NDArray[Any]]:
        total: Any = self.terms.codec.empty(self.terms.dim)
        total.add(payload, 1, self.terms.public)
        parts = total.parts if isinstance(total, JoinedTally) else (total,)
        return [part.value()[0][0] for part in parts]


def _find_unequal(own: list[NDArray[Any]], other: list[NDArray[Any]]) -> NDArray[np.bool_]:
    """The parameters at which two messages have different tokens, in any of a parameter's
    positions.
    """
    places = [
        (mine != theirs).reshape(len(mine), -1).any(axis=1)
        for mine, theirs in zip(own, other, strict=True)
    ]
    return np.asarray(np.any(places, axis=0))
