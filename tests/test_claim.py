"""Events and claims: they come back from JSON as they were, under names that stay, and refuse numbers that mean nothing."""

import json
import math
from dataclasses import replace

import pytest

from tacit.privacy import claim as claims
from tacit.privacy.claim import (
    Approximate,
    BiasedVector,
    Claim,
    Disclosed,
    Free,
    GaussianDominated,
    GaussianNoise,
    Open,
    Pure,
    RenyiCurve,
    Repeated,
    Sampled,
    Unproven,
)
from tests.privacy.claims import claim

EVENTS = {
    "free": Free(), "open": Open(), "unproven": Unproven(), "disclosed": Disclosed(), "pure": Pure(0.5),
    "leaning": BiasedVector(4.0, chance=0.79, free=0.065, slack=1e-4),
    "approximate": Approximate(1.0, 1e-6), "gaussian": GaussianNoise(2.0),
    "gaussian_dominated": GaussianDominated(2.0, (1.0, 10.0), (0.1, 2.0), 1e-30), "renyi_curve": RenyiCurve((1.5, 2.0), (0.1, 0.2)),
    "repeated": Repeated(Pure(0.1), 7, most=0.5), "sampled": Sampled(Repeated(GaussianNoise(1.0), 3), 0.1),
}  # fmt: skip


def test_every_kind_of_event_is_tried_here() -> None:
    assert {name: type(event) for name, event in EVENTS.items()} == {
        name: kind for kind, name in claims.EVENT_NAMES.items()
    }


@pytest.mark.parametrize(
    "event",
    [*EVENTS.values(), Repeated(Pure(1.0), 2), RenyiCurve((1.5, 2.0), (0.1, 0.2), most=0.4)],
    ids=str,
)
def test_events_and_claims_come_back_from_json(event) -> None:
    tree = json.loads(json.dumps(claims.event_to_json(event), allow_nan=False))
    assert claims.event_from_json(tree) == event
    made = claim(event)
    assert Claim.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False))) == made


@pytest.mark.parametrize("tree", [
    {}, {"event": "magic"}, {"event": "pure"}, {"event": "pure", "epsilon": 1.0, "delta": 0.1}, {"event": "pure", "epsilon": -1.0},
    {"event": "pure", "epsilon": "1"}, {"event": "repeated", "of": {"event": "magic"}, "count": 2}, {"event": "gaussian"},
])  # fmt: skip
def test_what_is_no_event_is_refused(tree) -> None:
    with pytest.raises(ValueError):
        claims.event_from_json(tree)


def test_what_is_no_claim_is_refused() -> None:
    whole = claim(Pure(1.0)).to_json()
    for broken in (
        {},
        {**whole, "extra": 1},
        {**whole, "relation": "any"},
        {**whole, "event": {"event": "?"}},
    ):
        with pytest.raises(ValueError):
            Claim.from_json(broken)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("kind", [Pure, GaussianNoise])
def test_losses_need_finite_positive_values(kind, bad) -> None:
    with pytest.raises(ValueError, match="finite"):
        kind(bad)


@pytest.mark.parametrize("make", [
    lambda: Repeated(Pure(1.0), 0), lambda: Repeated(Pure(1.0), 2, most=0.0), lambda: Sampled(GaussianNoise(1.0), 0.0),
    lambda: Sampled(GaussianNoise(1.0), 1.5), lambda: Approximate(1.0, 0.0), lambda: Approximate(-1.0, 0.1),
    lambda: BiasedVector(1.0, chance=0.3, free=0.4, slack=0.0),
])  # fmt: skip
def test_counts_rates_and_deltas_need_values_that_mean_something(make) -> None:
    with pytest.raises(ValueError, match="must have"):
        make()


@pytest.mark.parametrize(
    ("orders", "values"),
    [((), ()), ((2.0,), ()), ((1.0,), (0.1,)), ((3.0, 2.0), (0.1, 0.2)), ((2.0, 3.0), (0.2, 0.1))],
)
def test_a_curve_needs_as_many_rising_values_as_orders(orders, values) -> None:
    with pytest.raises(ValueError, match="rising"):
        RenyiCurve(orders, values)


def test_where_updates_are_added_decides_what_a_trusted_server_sees() -> None:
    trust = (f"the server, which {claims.SEES_UPDATES}, adds the noise", "the client's own ledger")
    one = replace(claim(Pure(0.5)), trust=trust)
    summed = one.add_at_site()
    assert summed.trust[0].startswith("the server, which sees the sum of each site's updates")
    assert summed.trust[0].endswith("where a site has one client in the round), adds the noise")
    assert summed.trust[1:] == one.trust[1:]
    assert summed.mechanism.endswith(", added up at the client's site")
    assert (summed.event, summed.rests_on) == (one.event, one.rests_on)
