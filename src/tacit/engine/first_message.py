"""The first message a client would send under a plan, made for real and sent to nobody."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit import features, record, server, wire
from tacit.draws import Draws
from tacit.engine.fingerprint import fingerprints_of
from tacit.engine.loop import Desk
from tacit.engine.observer import Silence
from tacit.engine.round import State
from tacit.engine.simulated_arm import Setting, SimulatedArm
from tacit.engine.simulated_data import prepare
from tacit.engine.site import Client
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.record import RUN

_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class FirstMessage:
    """One real message, field by field, what the model reads of rows, and what left before it in the clear."""

    exchange: str
    mechanism: list[str]
    fields: dict[str, str | int]
    head_bytes: int
    payload_bytes: int
    first_bytes: str
    parameters: int
    reads: str
    in_the_clear: list[str]


def first_message(plan: Plan) -> FirstMessage:
    """Return the first message of the first client that has rows. It trains as it would; nothing is sent or kept."""
    if plan.regime != "federated":
        raise PlanError(f"regime = {plan.regime!r} sends no messages: rows stay where they are, or are all in one place")
    draws = Draws.seeded(plan.seed)
    data = prepare(plan, draws)
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept) / "run-1"  # a message bears the name of its run
        folder.mkdir()
        writer = record.Writer(folder / "record.jsonl")
        desk = Desk(folder=folder, writer=writer, observer=Silence(), fingerprints=fingerprints_of(plan, data))
        try:
            arm = SimulatedArm(Setting(desk=desk, draws=draws, data=data), RUN, plan)
            return _made(arm, features.described(data.columns, plan.features), list(data.released))
        finally:
            writer.close()


def _made(arm: SimulatedArm, reads: str, in_the_clear: list[str]) -> FirstMessage:
    exchange, site = arm.exchanges[0], arm.site
    model = arm.arm.first()
    everybody = np.arange(len(site.names))
    optimizer = server.initial_state(arm.plan.server, model) if model is not None else {}
    state = State(round_no=1, cohort=everybody, model=model, optimizer=optimizer)
    request, worker = exchange.ask(state), arm.learner.worker()
    answers = (exchange.answer(Client(site, site.seat(name), worker), request) for name in everybody.tolist())
    sent = next((answer for answer in answers if answer is not None), None)
    if sent is None:
        raise PlanError(f"plan {arm.plan.name!r}: no client has rows to answer with; check data.clients and the client column")
    message = wire.parse(*sent)
    fields = {name: getattr(message.header, name) for name in message.header.__struct_fields__}
    return FirstMessage(
        exchange=exchange.name,
        mechanism=[claim.mechanism for claim in exchange.claims(len(everybody))],
        fields=fields,
        head_bytes=len(sent[0]),
        payload_bytes=message.payload.nbytes,
        first_bytes=bytes(message.payload[:_SHOWN]).hex(" "),
        parameters=arm.learner.size,
        reads=reads,
        in_the_clear=in_the_clear,
    )
