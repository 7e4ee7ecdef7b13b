"""Charging a site's clients in its ledger before a response is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_side import SiteSide
from tacit.errors import BudgetError, PolicyError
from tacit.privacy.claim import Claim
from tacit.privacy.policy import SiteLedger
from tacit.protocol.messages.signed_message import MessageSubject

Claims = tuple[Claim, ...]
Who = TypeVar("Who")


def reserve_clients(
    owner: Owner,
    book: SiteLedger,
    subject: MessageSubject,
    built: SiteSide,
    names: Sequence[int],
    claims: Claims = (),
) -> dict[int, str]:
    """Charge clients by their numbers, without erased ones; return those without budget and why.
    Raise BudgetError if no client has any.
    """
    people = {built.owner_of(name): name for name in built.select_present(names)}
    if not people:
        raise PolicyError("every client of this site was erased, so nobody responds")
    return charge_people(owner, book, subject, people, claims)


def charge_people(
    owner: Owner,
    book: SiteLedger,
    subject: MessageSubject,
    people: Mapping[str, Who],
    claims: Claims,
    *,
    is_round: bool = False,
) -> dict[Who, str]:
    """Charge clients, given by the names the site knows them by; return those without budget and
    why. With `is_round` a free release counts as a round too.
    """
    persons = {owner.pseudonym(name): who for name, who in people.items()}
    found = book.reserve(
        subject.run,
        subject.round_no,
        subject.exchange,
        list(persons),
        claims,
        is_round=is_round,
    )
    if found and len(found) == len(persons):
        raise BudgetError(next(iter(found.values())))
    for sentence in sorted(set(found.values())):
        count = sum(why == sentence for why in found.values())
        owner.warn(f"{count:,} clients do not respond: {sentence}")
    return {persons[person]: why for person, why in found.items()}
