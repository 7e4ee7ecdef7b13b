"""The requests that a plan implies, in order. A site responds to these, once each, and to no
others.

A round consists of the plan's exchanges, then one measure of the resulting model, in rounds that
the plan measures. Round numbers increase. Every request that carries the model of a round must
carry the same one: the measured model is the one that the next round trains on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tacit.errors import RequestError, RunError, WireError
from tacit.files import replace_file
from tacit.negotiation.exchange import Step, list_steps
from tacit.plan import Plan
from tacit.plan.codec import readable
from tacit.protocol.messages.signed_message import MessageSubject

MEASURE = "measure"
"""The one name of a measure."""


COUNTS = "class counts"
"""The one name of the requests by which sites count equivalence classes together."""


def needs_counts(plan: Plan) -> bool:
    """Whether sites count classes together before they disclose rows."""
    return plan.data.share is not None and plan.data.share.counts == "global"


class Place(NamedTuple):
    """The position of a request in a run: its round, and its number among the requests of the
    round.
    """

    round_no: int
    number: int


def is_measured(plan: Plan, round_no: int) -> bool:
    """Whether sites are asked to measure the model after a round. Server and sites both use this
    function.

    A model that only clients can decode is measured once, at the end. Otherwise a plan that holds
    out no rows measures nothing.
    """
    if not readable(plan.codec):
        return round_no == plan.server.rounds
    return (
        _holds_out(plan)
        and 1 <= round_no <= plan.server.rounds
        and plan.server.is_evaluated(round_no)
    )


def list_negotiation_steps(plan: Plan) -> tuple[Step, ...]:
    """The steps of the sites' negotiation before round one; none if the plan has none."""
    return list_steps(with_range=plan.negotiates_range) if plan.negotiation is not None else ()


def count_measured_rounds(plan: Plan) -> int:
    """Number of rounds of a plan that are measured, if none is left out."""
    if not readable(plan.codec):
        return 1
    return -(-plan.server.rounds // plan.server.evaluate_every) if _holds_out(plan) else 0


def _holds_out(plan: Plan) -> bool:
    return plan.data.test > 0 or plan.data.local_test > 0 or plan.data.columns.split is not None


def _takes_place_always(exchange: str, round_no: int) -> bool:
    return True


@dataclass
class Agenda:
    """The progress of a run at a site, stored on disk before any response.

    `exchanges` are the names of a round's exchanges in order; `takes_place` says which of them a
    round has. `last` is the newest accepted
    request, by its place and hash; `models` holds hashes of the model that a round begins with, by
    round.
    """

    plan: Plan
    exchanges: Sequence[str]
    measures: bool
    path: Path
    takes_place: Callable[[str, int], bool] = _takes_place_always
    last: tuple[Place, str] = (Place(0, -1), "")
    models: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        try:
            kept = json.loads(self.path.read_bytes())
            self.last = Place(*map(int, kept["place"])), str(kept["request"])
            self.models = {
                int(round_no): str(digest) for round_no, digest in kept["models"].items()
            }
        except (ValueError, KeyError, TypeError):
            raise RunError(
                f"{self.path}: is damaged, so this run cannot go on here; start the plan as a"
                " new run"
            ) from None

    def place(self, subject: MessageSubject) -> Place:
        """Find the position of a request; raise WireError if the plan does not imply it."""
        rounds, named = self.plan.server.rounds, subject.exchange
        steps: Sequence[str] = list_negotiation_steps(self.plan)
        if subject.kind == "negotiate":
            if subject.round_no or named not in steps:
                raise WireError(f"negotiate {named!r}: the plan implies no such step")
            return Place(0, steps.index(named))
        if subject.kind == "rows":
            return Place(0, len(steps))
        if not 1 <= subject.round_no <= rounds:
            raise WireError(
                f"{subject.kind} {named!r}: the plan has rounds 1 to {rounds:,}, got"
                f" {subject.round_no:,}"
            )
        if subject.kind != "measure":
            if named not in self.exchanges:
                raise WireError(
                    f"{subject.kind} {named!r}: the plan's exchanges are"
                    f" {', '.join(self.exchanges)}"
                )
            if not self.takes_place(named, subject.round_no):
                raise WireError(
                    f"{subject.kind} {named!r}: the plan has none in round {subject.round_no:,}"
                )
            return Place(subject.round_no, self.exchanges.index(named))
        if named != MEASURE:
            raise WireError(f"measure: must be called {MEASURE!r}, got {named!r}")
        if not self.measures or not is_measured(self.plan, subject.round_no):
            raise WireError(
                f"measure: the plan and its offer imply none after round {subject.round_no:,}"
            )
        return Place(subject.round_no, len(self.exchanges))

    def take(self, subject: MessageSubject, request: bytes, model: str | None = None) -> None:
        """Store that a request was accepted; raise WireError if it comes too late, or carries a
        different model than its round has.

        `request` is the hash of the whole request; the same one may be accepted again. `model` is
        the hash of the model in it.
        """
        place, (last, before) = self.place(subject), self.last
        if place < last:
            raise RequestError(
                "order",
                f"{_said(subject)}: comes too late, since a later request was answered; requests"
                " keep the plan's order",
            )
        if place == last and request.hex() != before:
            raise RequestError(
                "answered",
                f"{_said(subject)}: was asked before with another request; it is answered once",
            )
        models = {
            number: digest for number, digest in self.models.items() if number >= subject.round_no
        }
        if model is not None:
            begins = subject.round_no + (subject.kind == "measure")
            if models.setdefault(begins, model) != model:
                raise RequestError(
                    "model",
                    f"{_said(subject)}: carries another model than the one this site was sent for"
                    f" round {begins:,}",
                )
        facts = {"place": place, "request": request.hex(), "models": models}
        replace_file(self.path, json.dumps(facts).encode())
        self.last, self.models = (place, request.hex()), models


def _said(subject: MessageSubject) -> str:
    return f"round {subject.round_no:,}, {subject.exchange}"
