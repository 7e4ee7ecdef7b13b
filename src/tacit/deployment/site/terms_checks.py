"""What a site checks in the terms of a run before it begins. It does not trust the server, least of
all about other sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tacit.deployment.bodies import Terms
from tacit.deployment.confirmation import needs_confirmation
from tacit.errors import PolicyError, WireError
from tacit.plan import Plan
from tacit.privacy.policy import Policy
from tacit.secure_aggregation import is_post_quantum

NO_PEERS = (
    "site.toml: [peers] names no other site, so this site cannot tell whether another site's key in"
    " a plan with [secure_aggregation] or [negotiation] is that site's or the server's; ask the"
    " owners of the other sites for their fingerprints by phone, and run `tacit site confirm DIR"
    " NAME FINGERPRINT` for each"
)


@dataclass(frozen=True, kw_only=True)
class SiteKnowledge:
    """What a site knows without the server: its name, its nonce in this run, its public key as a
    helper, the signing keys of its peers including its own, and which of them it accepts as helpers
    (None: all).
    """

    site: str
    nonce: bytes
    helper_key: bytes
    peers: Mapping[str, bytes]
    helpers: tuple[str, ...] | None = None


class AggregationFacts(NamedTuple):
    """What helpers sum in a run: sets of at least `min_clients`, with noise from the clients, or
    else from the helpers.
    """

    min_clients: int
    noise_by_clients: bool


def refuse_without_peers(plan: Plan, site: str, peers: Mapping[str, bytes]) -> None:
    """Raise PolicyError if a plan needs helpers or a negotiation and the site knows no peers to
    check their keys with.
    """
    if needs_confirmation(plan) and not any(name != site for name in peers):
        raise PolicyError(NO_PEERS)


def check_terms(plan: Plan, terms: Terms, known: SiteKnowledge, simulated_noise: bool) -> None:
    """Raise WireError if a run's terms contradict themselves, the plan, or what the site knows."""
    if terms.identity is not None and not simulated_noise:
        raise WireError(
            "terms refused: the server names the run's identity, which every site computes for"
            " itself"
        )
    if terms.find_member(known.site).nonce != known.nonce:
        raise WireError(
            "terms refused: they lack this site's nonce for this run, so they are of another run"
        )
    if plan.secure_aggregation is None and (terms.helps or terms.helpers):
        raise WireError(
            "terms refused: they name helpers, and the plan has no [secure_aggregation]"
        )


def check_sites(
    policy: Policy, plan: Plan, terms: Terms, sums: AggregationFacts, known: SiteKnowledge
) -> None:
    """Raise WireError or PolicyError unless secure aggregation relies on sites that the owner
    knows; others may be invented.

    Helpers are peers. A helper knows every member, and so does every site where the clients of all
    sites add the noise together. At least `limits.min_cohort` clients are at known sites, and
    helpers sum no smaller set. The clients of an only helper do not count where it adds the noise:
    it can subtract its noise and their updates from the sum.
    """
    _check_helpers(plan, terms, known)
    strangers = [member.site for member in terms.members if member.site not in known.peers]
    if strangers and (sums.noise_by_clients or known.site in terms.helps):
        made = "the clients of all sites make the noise together"
        why = made if sums.noise_by_clients else "a helper adds up clients of sites it knows"
        raise WireError(
            f"terms refused: [peers] of site.toml lacks {', '.join(strangers)}, and {why}; add the"
            " key if you know it"
        )
    _check_noise_share(policy, terms, sums, known)
    least, count = (
        policy.limits.min_cohort,
        sum(one.clients for one in terms.members if one.site in known.peers),
    )
    if count < least:
        raise PolicyError(
            f"limits.min_cohort = {least:,}: {count:,} of the {terms.clients:,} clients that the"
            " server names are at sites in [peers] of site.toml; the others may be invented"
        )
    if len(terms.helps) == 1 and known.site not in terms.helps and not sums.noise_by_clients:
        hidden = count - terms.find_member(terms.helps[0]).clients
        if hidden < least:
            raise PolicyError(
                f"limits.min_cohort = {least:,}: {hidden:,} clients are at sites other than the"
                f" only helper {terms.helps[0]!r}, which can take its noise and its own clients'"
                " updates off the sum; ask for secure_aggregation.helpers = 2"
            )
    if sums.min_clients < least:
        raise PolicyError(
            f"limits.min_cohort = {least:,}: helpers add up sets of {sums.min_clients:,}"
            " clients in this run; ask for a plan with a larger secure_aggregation.min_clients"
        )


def own_noise_share(terms: Terms, sums: AggregationFacts, site: str) -> float:
    """The share of the noise on a sum that a site's own clients add, in the set that has the fewest
    of them.

    The server chooses the set: all clients of the others, and of this site as few as the set size
    allows, at least the one whose update is at stake.
    """
    others = terms.clients - terms.find_member(site).clients
    return max(1, sums.min_clients - others) / max(1, sums.min_clients)


def _check_noise_share(
    policy: Policy, terms: Terms, sums: AggregationFacts, known: SiteKnowledge
) -> None:
    least, share = policy.limits.min_noise_share, own_noise_share(terms, sums, known.site)
    if sums.noise_by_clients and share < least:
        largest = max(
            (one for one in terms.members if one.site != known.site),
            key=lambda one: one.clients,
            default=None,
        )
        claimed = (
            f"; site {largest.site!r} says it has {largest.clients:,} clients" if largest else ""
        )
        raise PolicyError(
            f"limits.min_noise_share = {least:g}: this site's own clients make {share:.2g} of the"
            " noise, and the rest is missing if other sites have fewer clients than they"
            f" say{claimed}"
        )


def _check_helpers(plan: Plan, terms: Terms, known: SiteKnowledge) -> None:
    settings = plan.secure_aggregation
    assert settings is not None
    if not len(terms.helps) == len(terms.helpers) == settings.helpers:
        raise WireError(
            f"terms refused: the plan has secure_aggregation.helpers = {settings.helpers}, got"
            f" {len(terms.helps)} sites and {len(terms.helpers)} keys"
        )
    keys = [known.peers.get(site) for site in terms.helps]
    for site, key in zip(terms.helps, keys, strict=True):
        if key is None:
            raise WireError(
                f"terms refused: helper {site!r} is not in [peers] of site.toml, so its key may be"
                " the server's; add its signing key if you know it"
            )
        if known.helpers is not None and site not in known.helpers:
            raise WireError(
                f"terms refused: site.toml accepts the helpers {list(known.helpers)}, got {site!r}"
            )
        terms.find_member(site)
    if (
        len(set(terms.helps)) != len(keys)
        or len(set(keys)) != len(keys)
        or len(set(terms.helpers)) != len(keys)
    ):
        raise WireError(
            "terms refused: helpers must be different sites with different keys; one party would"
            " have all shares"
        )
    if any(is_post_quantum(public) != settings.post_quantum for public in terms.helpers):
        wanted = str(settings.post_quantum).lower()
        raise WireError(
            "terms refused: a helper's key is not of the kind that"
            " secure_aggregation.post_quantum ="
            f" {wanted} needs"
        )
    if (
        known.site in terms.helps
        and terms.helpers[terms.helps.index(known.site)] != known.helper_key
    ):
        raise WireError(
            "terms refused: the server put another key in the place of this site's own as a helper"
        )


def describe_trust(terms: Terms, sums: AggregationFacts, site: str) -> str:
    """A sentence for the owner: who could read updates, and whose noise hides them."""
    who = " and ".join(terms.helps)
    said = (
        "all sites confirmed the plan and terms; updates stay hidden unless the server and all"
        f" helpers ({who}) collude"
    )
    if not sums.noise_by_clients and len(terms.helps) == 1 and site not in terms.helps:
        return (
            f"{said}; {who} alone can subtract its noise and its own clients' updates from the"
            " sum, which leaves the sum of the others"
        )
    if not sums.noise_by_clients:
        return said
    share = own_noise_share(terms, sums, site)
    return (
        f"{said}; your own clients add {share:.2g} of the noise, and clients that other sites say"
        " they have add the rest"
    )
