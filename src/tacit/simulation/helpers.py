"""Helpers of a simulation: parties with keys, randomness and a disk of their own, so far as one
machine can have several.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tacit.plan import Plan, SecureSum
from tacit.protocol.exchanges import HelperSums
from tacit.protocol.round import Exchange
from tacit.protocol.site import Site
from tacit.randomness import Draws
from tacit.secure_aggregation import Helper, HelperKey


def helper_keys(settings: SecureSum, draws: Draws) -> tuple[bytes, ...]:
    """Return the public keys of the simulated helpers."""
    return tuple(key.public() for key in _keys(settings, draws))


def simulated_helpers(
    plan: Plan, site: Site, exchanges: tuple[Exchange, ...], draws: Draws, folder: Path
) -> dict[str, tuple[Helper, ...]]:
    """Return the helpers of each secure sum among the exchanges; each keeps its answers in a folder
    of its own.
    """
    if plan.secure_sum is None:
        return {}
    keys = _keys(plan.secure_sum, draws)

    @cache
    def key_of_site(client: int) -> bytes:
        return site.signing_key(site.slot(client)).public_key().public_bytes_raw()

    def known(client: int) -> bytes | None:
        return key_of_site(client) if 0 <= client < len(site.names) else None

    def helper(sums: HelperSums, number: int, key: HelperKey) -> Helper:
        sharing, own = (
            sums.shared.sharing,
            draws.at("helper", number, "secure sum", site.agreement.identity),
        )
        path = folder / str(number) / f"{sums.shared.name}.safetensors"
        return Helper(sums.terms, number, key, known, own, sharing.noise, path, simulated=True)

    asked = [exchange for exchange in exchanges if isinstance(exchange, HelperSums)]
    return {
        sums.name: tuple(helper(sums, number, key) for number, key in enumerate(keys, 1))
        for sums in asked
    }


def _keys(settings: SecureSum, draws: Draws) -> list[HelperKey]:
    return [
        HelperKey.drawn(draws.at("helper", number), settings.post_quantum)
        for number in range(1, settings.helpers + 1)
    ]
