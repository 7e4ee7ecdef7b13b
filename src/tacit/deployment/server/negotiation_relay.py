"""The sites' negotiation before round one, as the server sees it: messages that it forwards."""

from __future__ import annotations

from pathlib import Path

from tacit.deployment import bodies
from tacit.deployment.agenda import list_negotiation_steps
from tacit.deployment.bodies import NegotiationRequest, NegotiationResponse, Terms
from tacit.deployment.server.absence.missing_replies import build_quorum_error, list_reasons
from tacit.deployment.server.messenger import Messenger
from tacit.files import replace_file
from tacit.negotiation.exchange import Step, relay_steps
from tacit.plan import Plan

NEGOTIATED = "negotiated"
"""Says that the sites of a run have negotiated; a resumed run does not repeat it."""


def relay_negotiation(messenger: Messenger, plan: Plan, terms: Terms, folder: Path) -> None:
    """Carry the sites' negotiation, if the plan has one. Raise an error, with the sites' reasons,
    if a site stops it or does not reply: every site of the run must take part.
    """
    steps, done = list_negotiation_steps(plan), folder / NEGOTIATED
    if not steps or done.exists():
        return
    sites = [member.site for member in terms.members]

    def ask(step: Step, received: list[bytes]) -> dict[str, bytes]:
        body = bodies.pack(NegotiationRequest(received=received))
        replies = messenger.request("negotiate", 0, step, dict.fromkeys(sites, body))
        found = replies.bodies(NegotiationResponse)
        if replies.missing:
            message = (
                f"{plan.name}: the sites did not agree on a secret"
                f" ({list_reasons(replies.missing)}); start the plan anew"
            )
            raise build_quorum_error(message, len(sites), len(found), replies.missing)
        return {site: one.message for site, one in found.items()}

    relay_steps(steps, sites, ask)
    replace_file(done, b"")
