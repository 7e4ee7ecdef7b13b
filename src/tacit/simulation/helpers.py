"""The helpers of a simulated secure aggregation: each has a key, randomness and a folder of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tacit.assembly.secure_sums import HelperParty, draw_helper_key
from tacit.plan import Plan
from tacit.protocol.round import Exchange
from tacit.protocol.site import Site
from tacit.randomness import Draws
from tacit.secure_aggregation import Helper


def draw_public_keys(plan: Plan, draws: Draws) -> tuple[bytes, ...]:
    """Draw the public keys of the simulated helpers."""
    return tuple(
        draw_helper_key(plan, draws, number).public() for number in range(1, plan.helpers + 1)
    )


def build_simulated_helpers(
    plan: Plan, site: Site, exchanges: tuple[Exchange, ...], draws: Draws, folder: Path
) -> tuple[dict[str, Helper], ...]:
    """Build the helpers in order; each has one entry per secure aggregation, by the name of its
    exchange.
    """

    @cache
    def key_of_site(client: int) -> bytes:
        return site.signing_key(site.slot(client)).public_key().public_bytes_raw()

    def find_key(client: int) -> bytes | None:
        return key_of_site(client) if 0 <= client < len(site.names) else None

    parties = [
        HelperParty(
            number=number,
            key=draw_helper_key(plan, draws, number),
            site_keys=find_key,
            root=draws,
            folder=folder / str(number),
            simulated=True,
        )
        for number in range(1, plan.helpers + 1)
    ]
    return tuple(party.build_helpers(site.agreement, exchanges) for party in parties)
