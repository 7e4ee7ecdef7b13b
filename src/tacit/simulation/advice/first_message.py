"""Compute the first message that a client would send under a plan, without sending it."""

from __future__ import annotations

from dataclasses import dataclass

from tacit import features
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.protocol import messages
from tacit.protocol.site import Client
from tacit.simulation.advice.first_round import FirstRound, first_round

_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class FirstMessage:
    """One real message, field by field; the features that the model reads; and what was sent in the
    clear before it.
    """

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
    """The first message of the first client that has rows. It trains as in a run; nothing is sent
    or stored.
    """
    with first_round(plan) as begun:
        return _build_message(begun)


def _build_message(begun: FirstRound) -> FirstMessage:
    arm, request = begun.arm, begun.request
    exchange, site, worker = arm.exchanges[0], arm.site, arm.learner.worker()
    answers = (
        exchange.respond(Client(site, site.slot(name), worker), request)
        for name in request.to.tolist()
    )
    sent = next((answer for answer in answers if answer is not None), None)
    if sent is None:
        raise PlanError(
            f"plan {arm.plan.name!r}: no client has rows to train on; check data.clients and the"
            " client column"
        )
    message = messages.parse(*sent)
    fields = {name: getattr(message.header, name) for name in message.header.__struct_fields__}
    return FirstMessage(
        exchange=exchange.name,
        mechanism=[claim.mechanism for claim in exchange.claims(len(request.to))],
        fields=fields,
        head_bytes=len(sent[0]),
        payload_bytes=message.payload.nbytes,
        first_bytes=bytes(message.payload[:_SHOWN]).hex(" "),
        parameters=arm.learner.size,
        reads=features.describe_inputs(begun.data.columns, arm.plan.features),
        in_the_clear=list(begun.data.released),
    )
