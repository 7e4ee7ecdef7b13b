"""The relay of a negotiation: what the server does, and what a simulation does in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tacit.errors import RunError
from tacit.negotiation.exchange.agreed_secret import AgreedSecret
from tacit.negotiation.exchange.party import Ends, SiteParty
from tacit.negotiation.exchange.terms import Step

Ask = Callable[[Step, list[bytes]], Mapping[str, bytes]]
"""Sends all sites the messages of the step before and returns each site's message of this step."""


def relay_steps(steps: Sequence[Step], sites: Sequence[str], ask: Ask) -> None:
    """Carry the messages of every step to all sites. The relay can read none of what they hide."""
    received: list[bytes] = []
    for step in steps:
        replies = ask(step, received)
        received = [replies[site] for site in sites]


def negotiate_together(parties: Sequence[SiteParty], ends: Sequence[Ends]) -> AgreedSecret:
    """Negotiate between parties of this process, given where each one's values end."""

    def ask(step: Step, received: list[bytes]) -> dict[str, bytes]:
        return {
            party.site: party.answer(step, received, partial(_return_ends, own))
            for party, own in zip(parties, ends, strict=True)
        }

    terms = parties[0].terms
    relay_steps(terms.steps, terms.sites, ask)
    found = {party.agreed for party in parties}
    agreed = parties[0].agreed
    if agreed is None or len(found) != 1:
        raise RunError("negotiation: parties of one process agreed on different results")
    return agreed


def _return_ends(own: Ends, secret: bytes) -> Ends:
    """Ends that were measured before."""
    return own
