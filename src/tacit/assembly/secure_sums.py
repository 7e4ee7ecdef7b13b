"""Secure aggregation, attached to the exchanges of a plan that asks for it: how messages are split,
and the helpers of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tacit import secure_aggregation
from tacit.assembly.agreement import RunFacts
from tacit.codecs import Codec
from tacit.plan import Plan
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.helper_sums import HelperSums
from tacit.protocol.exchanges.sharing import SecretSharing
from tacit.protocol.round import Exchange
from tacit.randomness import Draws
from tacit.secure_aggregation import Helper, HelperKey
from tacit.secure_aggregation.helper import SiteKeys


def build_sharing(
    plan: Plan, facts: RunFacts, agreement: Agreement, exchange: str, codec: Codec, dim: int
) -> SecretSharing:
    """Build the split of one exchange's integers between the server and the run's helpers."""
    settings, integers = plan.secure_aggregation, codec.integers
    assert settings is not None, "a plan without secure aggregation splits nothing"
    assert integers is not None, "a plan whose codec has no integers is refused"
    terms = secure_aggregation.AggregationTerms(
        run=agreement.run,
        digest=agreement.binding,
        exchange=exchange,
        size=integers.size(dim),
        bits=integers.bits(dim),
        helpers=facts.helpers,
        # helpers release no sum over fewer clients than the codec needs
        min_clients=max(settings.min_clients, codec.min_clients),
        rounds=agreement.server.rounds,
    )
    return SecretSharing(terms, integers, dim)


def draw_helper_key(plan: Plan, root: Draws, name: int | str) -> HelperKey:
    """Draw the key of a helper, by its number in a simulation and by its site's name elsewhere."""
    settings = plan.secure_aggregation
    return HelperKey.draw(root.at("helper", name), settings is not None and settings.post_quantum)


@dataclass(frozen=True, kw_only=True)
class HelperParty:
    """One helper of a run: its number from 1, its key, its randomness and its folder.

    `site_keys` gives the public key of each client's site. With `simulated` noise depends on the
    round alone.
    """

    number: int
    key: HelperKey
    site_keys: SiteKeys
    root: Draws
    folder: Path
    simulated: bool

    def build_helpers(
        self, agreement: Agreement, exchanges: Iterable[Exchange]
    ) -> dict[str, Helper]:
        """Build this helper for each exchange that uses secure aggregation, by the exchange's name."""
        own = self.root.at("helper", self.number, "secure sum", agreement.identity)
        return {
            sums.name: Helper(
                sums.terms,
                self.number,
                self.key,
                self.site_keys,
                own,
                sums.shared.sharing.noise,
                self.folder / f"{sums.shared.name}.safetensors",
                simulated=self.simulated,
            )
            for sums in exchanges
            if isinstance(sums, HelperSums)
        }
