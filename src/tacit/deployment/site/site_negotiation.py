"""A site's part in the negotiation before round one: what the server sent is stored, and its own
messages follow from that.

Each step is answered once. The site's side is rebuilt from the stored steps at every request, so a
restart changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tacit.assembly.negotiated import (
    NegotiatedCodec,
    NegotiatingSite,
    build_party,
    measure_ends,
)
from tacit.deployment.agenda import list_negotiation_steps
from tacit.deployment.bodies import Terms
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_side import SiteSide
from tacit.errors import RequestError, WireError
from tacit.files import replace_file
from tacit.negotiation.exchange import (
    AgreedSecret,
    Ends,
    ExchangeTerms,
    RangeGrid,
    load_agreed_secret,
)
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.runs.run_folder import NEGOTIATED

NEGOTIATION = "negotiation"
"""In the folder of a run: the steps of the negotiation, which end with the run."""
_ENDS = "ends.json"
_MUCH_WIDER = 8.0


def load_negotiated(folder: Path) -> AgreedSecret | None:
    """What the sites of a run agreed on; None before."""
    return load_agreed_secret(folder / NEGOTIATED)


def refuse_strangers(terms: Terms, peers: Sequence[str]) -> None:
    """Raise WireError unless every member is a known peer: every member learns the secret, and the
    server could invent one.
    """
    strangers = [member.site for member in terms.members if member.site not in peers]
    if strangers:
        raise WireError(
            f"terms refused: [peers] of site.toml lacks {', '.join(strangers)}, and the plan's"
            " [negotiation] gives every site of the run a secret that the server must not know;"
            " add the key if you know it"
        )


@dataclass(frozen=True, kw_only=True)
class SiteNegotiation:
    """The negotiation of one run at a site. `build_side` builds the site's side of the run with a
    secret; `select_present` leaves erased clients out.
    """

    plan: Plan
    owner: Owner
    terms: Terms
    digest: str
    folder: Path
    root: Draws
    simulated: bool
    build_side: Callable[[NegotiatedCodec], SiteSide]
    select_present: Callable[[Sequence[int]], Sequence[int]]

    def answer(self, step: str, received: list[bytes]) -> bytes:
        """This site's message of a step; after the last step the result is stored and logged.

        Raises RequestError if the negotiation cannot go on.
        """
        home = self.folder / NEGOTIATION
        home.mkdir(mode=0o700, exist_ok=True)
        try:
            party, message = build_party(self.build_terms(), self._place(), self.simulated), b""
            for name in list_negotiation_steps(self.plan):
                file = home / f"{name}.bin"
                if name != step and not file.exists():
                    raise WireError(f"negotiation refused: step {name!r} comes before {step!r}")
                got = received if name == step else msgspec.msgpack.decode(file.read_bytes())
                message = party.answer(name, got, self._measure)
                if name == step:
                    break
        except RequestError:
            raise
        except WireError as error:
            raise RequestError("negotiation", str(error)) from None
        replace_file(home / f"{step}.bin", msgspec.msgpack.encode(received))
        if party.agreed is not None:
            party.agreed.save(self.folder / NEGOTIATED)
            self._log(party.agreed)
        return message

    def _place(self) -> NegotiatingSite:
        return NegotiatingSite(self.owner.name, self.owner.signs_with, self.root)

    def build_terms(self) -> ExchangeTerms:
        """The terms of the negotiation, with the keys that the owner knows."""
        peers = self.owner.peers()
        refuse_strangers(self.terms, [*peers])
        assert self.plan.negotiation is not None
        sites = tuple(member.site for member in self.terms.members)
        return ExchangeTerms(
            run=self.terms.run,
            digest=self.digest,
            sites=sites,
            keys={site: peers[site] for site in sites},
            limit=self.plan.negotiation.limit if self.plan.negotiates_range else None,
        )

    def _measure(self, secret: bytes) -> Ends:
        """Where this site's own values end, measured once and stored."""
        file = self.folder / NEGOTIATION / _ENDS
        if not file.exists():
            side = self.build_side(NegotiatedCodec(secret))
            ends = measure_ends(self.plan, side.site, self.select_present(side.site.names))
            replace_file(file, json.dumps(ends).encode())
        greatest, least = json.loads(file.read_bytes())
        return greatest, least

    def _log(self, agreed: AgreedSecret) -> None:
        """Tell the owner what was agreed, and with whom."""
        others = [site for site in agreed.sites if site != self.owner.name]
        told = f"agreed with {', '.join(others)} on a secret that the server does not know"
        if agreed.limits is not None:
            low, high = agreed.limits
            told += f", and on the range {low:.4g} to {high:.4g}"
        self.owner.tell(
            f"run {self.folder.name}: {told}; the other owners' logs show the same check value:"
            f" {agreed.confirmation[:16]}"
        )
        self._warn_if_wide(agreed)

    def _warn_if_wide(self, agreed: AgreedSecret) -> None:
        """Warn the owner if one of the others widened the range far beyond this site's values."""
        assert self.plan.negotiation is not None
        file = self.folder / NEGOTIATION / _ENDS
        if agreed.limits is None or not file.exists():
            return
        greatest, least = json.loads(file.read_bytes())
        if greatest is None:
            return
        grid = RangeGrid(self.plan.negotiation.limit)
        own = float(max(abs(grid.values[greatest]), abs(grid.values[least])))
        widest = max(map(abs, agreed.limits))
        if widest > _MUCH_WIDER * own:
            self.owner.warn(
                f"run {self.folder.name}: the range reaches {widest / own:.0f} times as far as the"
                " values here, so these are quantised coarsely; another site has such values or"
                " misstates them, and nobody can tell which site"
            )
