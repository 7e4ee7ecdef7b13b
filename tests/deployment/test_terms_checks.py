"""What a site checks in terms before it begins, one line at a time: what just fits passes, what does not is refused by its line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.deployment.site.terms_checks import (
    NO_PEERS,
    AggregationFacts,
    SiteKnowledge,
    check_sites,
    check_terms,
    refuse_without_peers,
)
from tacit.errors import PolicyError, WireError
from tacit.privacy.policy import Limits, Policy
from tests.deployment.agreements import helper_key, members, nonce, peers, plan_of, terms_of

PLAN = plan_of(secure_aggregation={"helpers": 2})
KNOWN = SiteKnowledge(site="a", nonce=nonce("a"), helper_key=helper_key("a"), peers=peers())
HELPED = terms_of(helps=["a", "b"], helpers=[helper_key("a"), helper_key("b")])
POLICY = Policy(limits=Limits(min_cohort=30))
SUMS = AggregationFacts(min_clients=30, noise_by_clients=False)


def refused(
    what: str,
    *,
    kind: type[Exception] = WireError,
    terms: Any = HELPED,
    known: SiteKnowledge = KNOWN,
    sums: AggregationFacts = SUMS,
) -> None:
    with pytest.raises(kind) as error:
        check_sites(POLICY, PLAN, terms, sums, known)
    assert str(error.value) == what


def changed(**changes: Any) -> Any:
    return terms_of(**{"helps": HELPED.helps, "helpers": HELPED.helpers, **changes})


def test_a_plan_with_helpers_needs_peers() -> None:
    for known in ({}, peers("a")):
        with pytest.raises(PolicyError) as error:
            refuse_without_peers(PLAN, "a", known)
        assert str(error.value) == NO_PEERS
        refuse_without_peers(plan_of(), "a", known)
    refuse_without_peers(PLAN, "a", peers("b"))
    refuse_without_peers(PLAN, "a", peers("a", "b"))


def test_terms_of_this_run() -> None:
    plain = plan_of()
    check_terms(plain, terms_of(), KNOWN, False)
    check_terms(plain, terms_of(identity="sim"), KNOWN, True)
    check_terms(PLAN, HELPED, KNOWN, False)
    with pytest.raises(
        WireError, match="the server names the run's identity, which every site computes for itself"
    ):
        check_terms(plain, terms_of(identity="sim"), KNOWN, False)
    with pytest.raises(
        WireError, match="they lack this site's nonce for this run, so they are of another run"
    ):
        check_terms(plain, terms_of(), replace(KNOWN, nonce=nonce("b")), False)
    with pytest.raises(WireError, match="need a line for site 'z', got none"):
        check_terms(plain, terms_of(), replace(KNOWN, site="z"), False)
    for named in ({"helps": ["a"]}, {"helpers": [b"key"]}):
        with pytest.raises(
            WireError, match=r"they name helpers, and the plan has no \[secure_aggregation\]"
        ):
            check_terms(plain, terms_of(**named), KNOWN, False)


def test_terms_that_rest_on_known_sites_pass() -> None:
    check_sites(POLICY, PLAN, HELPED, SUMS, KNOWN)
    check_sites(POLICY, PLAN, HELPED, SUMS, replace(KNOWN, helpers=("a", "b")))
    check_sites(POLICY, PLAN, HELPED, AggregationFacts(30, True), KNOWN)
    stranger = changed(members=members(15))
    check_sites(POLICY, PLAN, stranger, SUMS, replace(KNOWN, site="c", peers=peers("a", "b")))


@pytest.mark.parametrize(
    ("helps", "helpers"), [(["a"], 2), (["a", "b"], 1), (["a", "b", "c"], 3), ([], 0)]
)
def test_as_many_helpers_as_the_plan_says(helps: list[str], helpers: int) -> None:
    keys = [helper_key(site) for site in "abc"[:helpers]]
    sentence = (
        f"terms refused: the plan has secure_aggregation.helpers = 2, got {len(helps)} sites and {helpers}"
        " keys"
    )
    refused(sentence, terms=terms_of(helps=helps, helpers=keys))


def test_helpers_are_peers_and_members() -> None:
    refused(
        "terms refused: helper 'b' is not in [peers] of site.toml, so its key may be the server's;"
        " add its signing key if you know it",
        known=replace(KNOWN, peers=peers("a", "c")),
    )
    refused(
        "terms refused: site.toml accepts the helpers ['a', 'c'], got 'b'",
        known=replace(KNOWN, helpers=("a", "c")),
    )
    refused(
        "terms refused: need a line for site 'd', got none",
        terms=changed(helps=["a", "d"]),
        known=replace(KNOWN, peers=peers(*"abcd")),
    )


SAME = (
    "terms refused: helpers must be different sites with different keys; one party would have all"
    " shares"
)


def test_helpers_are_different_parties() -> None:
    refused(SAME, terms=changed(helps=["b", "b"]))
    refused(SAME, terms=changed(helpers=[helper_key("a")] * 2))
    refused(SAME, known=replace(KNOWN, peers={**peers(), "b": peers()["a"]}))


def test_keys_of_helpers() -> None:
    key = (
        "terms refused: a helper's key is not of the kind that secure_aggregation.post_quantum = false"
        " needs"
    )
    refused(key, terms=changed(helpers=[helper_key("a"), bytes(1216)]))
    quantum, hybrid = (
        plan_of(secure_aggregation={"helpers": 2, "post_quantum": True}),
        [
            b"a" * 1216,
            b"b" * 1216,
        ],
    )
    check_sites(
        POLICY, quantum, changed(helpers=hybrid), SUMS, replace(KNOWN, helper_key=hybrid[0])
    )
    with pytest.raises(
        WireError,
        match=r"a helper's key is not of the kind that secure_aggregation\.post_quantum = true needs",
    ):
        check_sites(POLICY, quantum, HELPED, SUMS, KNOWN)
    own = "terms refused: the server put another key in the place of this site's own as a helper"
    refused(own, terms=changed(helpers=[b"z" * 32, helper_key("b")]))
    refused(own, terms=changed(helpers=[helper_key("b"), helper_key("a")]))
    refused(
        own,
        terms=changed(helpers=[helper_key("a"), b"z" * 32]),
        known=replace(KNOWN, site="b", helper_key=helper_key("b")),
    )
    check_sites(POLICY, PLAN, changed(helps=["c", "b"]), SUMS, KNOWN)


def test_strangers() -> None:
    known = replace(KNOWN, peers=peers("a", "b"))
    begin, end = "terms refused: [peers] of site.toml lacks c, and ", "; add the key if you know it"
    refused(
        f"{begin}a helper adds up clients of sites it knows{end}",
        known=known,
        terms=changed(members=members(15)),
    )
    everybody = f"{begin}the clients of all sites make the noise together{end}"
    refused(everybody, known=known, sums=AggregationFacts(30, True))
    refused(everybody, known=replace(known, site="c"), sums=AggregationFacts(30, True))
    two = (
        "terms refused: [peers] of site.toml lacks c, d, and a helper adds up clients of sites it"
        " knows; add the key if you know it"
    )
    refused(two, known=known, terms=changed(members=members(15, ("a", "b", "c", "d"))))


def test_enough_clients_at_known_sites() -> None:
    policy = "limits.min_cohort = 30: "
    refused(
        f"{policy}20 of the 30 clients that the server names are at sites in [peers] of site.toml;"
        " the others may be invented",
        kind=PolicyError,
        known=replace(KNOWN, site="c", peers=peers("a", "b")),
    )
    refused(
        f"{policy}helpers add up sets of 29 clients in this run; ask for a plan with a larger"
        " secure_aggregation.min_clients",
        kind=PolicyError,
        sums=AggregationFacts(29, False),
    )
    refused(
        f"{policy}27 of the 27 clients that the server names are at sites in [peers] of site.toml;"
        " the others may be invented",
        kind=PolicyError,
        terms=changed(members=members(9)),
    )
