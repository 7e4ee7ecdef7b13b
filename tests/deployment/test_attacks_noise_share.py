"""A known site that claims more clients than it has: where clients make the noise together, each honest client then makes less."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tacit import codecs
from tacit.codecs.contract import Extent
from tacit.deployment.bodies import Member, StatisticsBody, Terms
from tacit.deployment.site.terms_checks import AggregationFacts, own_noise_share
from tests.deployment.local_post import GENEROUS
from tests.deployment.test_secure_aggregation_attacks import (
    DP_SUM,
    SKELLAM,
    Network,
    begin,
    plan_of,
    terms_for,
)

ONEBIT = {"name": "onebit", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0}
CAREFUL = GENEROUS.replace("[limits]", "[limits]\nmin_noise_share = 0.3")


@pytest.mark.parametrize("settings", [ONEBIT, SKELLAM])
@pytest.mark.parametrize(
    ("claimed", "begins"), [(12, True), (16, True), (17, False), (1_000, False)]
)
def test_a_site_that_claims_many_clients_does_not_thin_out_the_noise(
    tmp_path, settings, claimed, begins
) -> None:
    """Sites a and b have 12 clients each. With 12 at c, a's clients make a third of the noise; with 1,000, a thousandth."""
    network = Network(tmp_path, CAREFUL)
    servers, opened = network.opened(plan_of(settings))
    lied = {**opened, "c": msgspec.structs.replace(opened["c"], clients=claimed)}
    assert (begin(servers["a"], terms_for(lied)) is not None) == begins
    if not begins:
        assert servers["a"].rule == "limits.min_noise_share"
        said = network.told["a"][-1]
        assert "limits.min_noise_share = 0.3: this site's own clients make" in said
        assert f"site 'c' says it has {claimed:,} clients" in said


def test_helpers_noise_needs_no_share(tmp_path) -> None:
    network = Network(tmp_path, CAREFUL)
    servers, opened = network.opened(plan_of(DP_SUM))
    lied = {**opened, "c": msgspec.structs.replace(opened["c"], clients=100_000)}
    assert begin(servers["a"], terms_for(lied))


def test_the_log_says_how_much_of_the_noise_is_ones_own(tmp_path) -> None:
    network = Network(tmp_path)
    servers, opened = network.opened(plan_of(SKELLAM))
    terms = terms_for(opened)
    confirmations = {name: begin(server, terms).confirmation for name, server in servers.items()}
    assert begin(servers["a"], terms, confirmations)
    assert (
        "your own clients add 0.33 of the noise, and clients that other sites say they have add"
        " the rest" in network.told["a"][-1]
    )


def terms_of(own: int, others: int) -> Terms:
    seen = StatisticsBody(classes=["no", "yes"], ranges={}, categories={})
    one: dict[str, Any] = {"rows": 1, "test_rows": 0, "nonce": bytes(32)}
    members = [
        Member(site="a", first=0, clients=own, **one),
        Member(site="b", first=own, clients=others, **one),
    ]
    return Terms(run="job", public=b"p", largest_weight=1, seen=seen, members=members)


@pytest.mark.parametrize(
    ("own", "others", "least", "share"),
    [
        (50, 50, 100, 0.5),
        (50, 50, 80, 30 / 80),
        (50, 50, 50, 1 / 50),
        (50, 1000, 100, 1 / 100),
        (1, 0, 1, 1.0),
    ],
)
def test_the_server_names_the_set_with_the_fewest_of_a_sites_clients(
    own, others, least, share
) -> None:
    """A share of all clients is not enough: with `codec.reporters` or a cohort the server leaves this site's other clients out."""
    assert own_noise_share(
        terms_of(own, others), AggregationFacts(least, True), "a"
    ) == pytest.approx(share)


@pytest.mark.parametrize("settings", [ONEBIT, SKELLAM])
def test_the_claim_names_the_other_sites_clients(settings) -> None:
    plan = plan_of(settings)
    (claim,) = codecs.build(plan.codec, Extent.of(plan, 36)).claims(100, 36)
    assert claim.rests_on == "clients"
    assert any("other sites have as many clients as they state" in word for word in claim.trust)
