"""What clients negotiated before round one and keep from the server: their secret, and the codec's
range.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import codecs
from tacit.codecs import Codec
from tacit.errors import PlanError
from tacit.negotiation.exchange import (
    FEWEST_SITES,
    AgreedSecret,
    Ends,
    ExchangeTerms,
    RangeGrid,
    SiteParty,
    load_agreed_secret,
    negotiate_together,
)
from tacit.plan import HashComb, Plan
from tacit.privacy.claim import Claim, Open
from tacit.protocol.site import Site
from tacit.randomness import Draws


class NegotiatedCodec(NamedTuple):
    """The secret that clients share, and the codec's settings with the negotiated range; None where
    the plan states the range.
    """

    secret: bytes
    settings: HashComb | None = None

    def use_at(self, site: Site) -> None:
        """Give a site the secret, and its clients' codec."""
        codec = site.agreement.codec if self.settings is None else self.build_codec()
        site.use_secret(self.secret, codec)

    def build_codec(self) -> Codec:
        """The codec as clients use it."""
        assert self.settings is not None
        return codecs.build(self.settings)


def read_negotiated(plan: Plan) -> NegotiatedCodec:
    """Read the file that the plan's `codec.agreed` names (`Plan.negotiated_file`).

    Raises RunError if the file is not private, is damaged or belongs to a run of another name, and
    PlanError if it was negotiated for other codec settings.
    """
    settings = plan.codec
    assert isinstance(settings, HashComb)
    assert settings.agreed is not None
    from tacit import negotiation

    agreed = negotiation.load(Path(settings.agreed), run=plan.name)
    for key in ("levels", "enlargement"):
        if getattr(agreed, key) != getattr(settings, key):
            raise PlanError(
                f"codec.{key} = {getattr(settings, key):g}, but {settings.agreed} was negotiated "
                f"with {getattr(agreed, key):g}; set it to that value or negotiate again"
            )
    return NegotiatedCodec(
        agreed.secret, replace(settings, agreed=None, x_min=agreed.x_min, x_max=agreed.x_max)
    )


def apply_agreed(plan: Plan, agreed: AgreedSecret) -> NegotiatedCodec:
    """What sites of a run agreed on, as its clients use it."""
    if agreed.limits is None:
        return NegotiatedCodec(agreed.secret)
    assert isinstance(plan.codec, HashComb)
    x_min, x_max = agreed.limits
    return NegotiatedCodec(agreed.secret, replace(plan.codec, x_min=x_min, x_max=x_max))


CLAIM_OF_RANGE = Claim(
    mechanism=(
        "how far the values of all clients of the run reach, rounded up by at most 4 %; not"
        " differentially private"
    ),
    event=Open(),
    unit="update",
    relation="replace all rows of one client",
    view="peers",
    trust=("all other sites of the run, who learn the range",),
    rests_on="clients",
    source="none: the range is exact up to rounding, so no epsilon is finite",
)
"""The claim about a client's part in a negotiated range."""


class NegotiatingSite(NamedTuple):
    """A site in a negotiation: its name, the key it signs with, and the root of its randomness."""

    site: str
    key: Ed25519PrivateKey
    root: Draws


def build_party(terms: ExchangeTerms, own: NegotiatingSite, simulated: bool) -> SiteParty:
    """Build one site's side of a negotiation.

    With `simulated` the words add up to the secret that all clients of a simulation share.
    """
    word = None
    if simulated:
        is_first = own.site == terms.sites[0]
        word = own.root.sealed("clients").key if is_first else bytes(32)
    return SiteParty(terms, own.site, own.key, own.root.sealed("negotiation", own.site), word)


def measure_ends(plan: Plan, site: Site, names: Sequence[int]) -> Ends:
    """Where the values end that some clients of a site would send in round one, on the grid of the
    plan's range.

    The site must have the clients' secret, from which the first model follows. Nothing is sent or
    stored.
    """
    assert plan.negotiation is not None
    assert site.learner is not None
    model, worker = site.compute_first_model(), site.learner.worker()
    greatest, least = -np.inf, np.inf
    for slot in map(site.slot, names):
        if not site.weight(slot):
            continue
        update = worker.train(model, slot, slot.own.train(1), 1).row
        values = site.agreement.codec.prepare(model, update)
        greatest, least = max(greatest, float(values.max())), min(least, float(values.min()))
    if not (np.isfinite(greatest) and np.isfinite(least)):
        return None, None
    grid = RangeGrid(plan.negotiation.limit)
    ends = grid.find_index(greatest), grid.find_index(-least)
    if isinstance(plan.codec, HashComb) and plan.codec.of == "updates":  # its range contains zero
        return max(ends[0], grid.zero + 1), max(ends[1], grid.zero + 1)
    return ends


def negotiate_in_simulation(plan: Plan, site: Site, root: Draws, file: Path) -> None:
    """Negotiate as the sites of a deployed run do, between parties that hold the clients of the
    simulation in equal parts, and use the result; `file` keeps it for a resumed run.
    """
    assert plan.negotiation is not None
    agreed = load_agreed_secret(file)
    if agreed is not None:
        apply_agreed(plan, agreed).use_at(site)
        return
    names = tuple(f"site-{number}" for number in range(1, FEWEST_SITES + 1))
    keys = [
        Ed25519PrivateKey.from_private_bytes(root.sealed("negotiation", name, "signing").key)
        for name in names
    ]
    terms = ExchangeTerms(
        run=site.agreement.run,
        digest=hashlib.sha256(site.agreement.identity.encode()).hexdigest(),
        sites=names,
        keys={
            name: key.public_key().public_bytes_raw() for name, key in zip(names, keys, strict=True)
        },
        limit=plan.negotiation.limit if plan.negotiates_range else None,
    )
    parties = [
        build_party(terms, NegotiatingSite(name, key, root), simulated=True)
        for name, key in zip(names, keys, strict=True)
    ]
    ends: list[Ends] = [(None, None)] * len(names)
    if plan.negotiates_range:
        NegotiatedCodec(root.sealed("clients").key).use_at(site)
        parts = np.array_split(np.asarray(site.names), len(names))
        ends = [measure_ends(plan, site, part.tolist()) for part in parts]
    agreed = negotiate_together(parties, ends)
    file.parent.mkdir(parents=True, exist_ok=True)
    agreed.save(file)
    apply_agreed(plan, agreed).use_at(site)
