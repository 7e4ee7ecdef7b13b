"""What single events cost, by definition: each kind of loss by itself, and what an account says of it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.errors import BudgetError
from tacit.privacy import ledger
from tacit.privacy.accounting import dominated_loss, losses
from tacit.privacy.accounting.gaussian_loss import compute_epsilon
from tacit.privacy.claim import (
    Approximate,
    Claim,
    Disclosed,
    Event,
    Free,
    GaussianDominated,
    GaussianNoise,
    Open,
    Pure,
    RenyiCurve,
    Repeated,
    Sampled,
    Total,
    Unproven,
)
from tacit.privacy.ledger import Account, Charge, charge
from tacit.privacy.ledger.account import (
    COARSE,
    HIDDEN,
    NO_NUMBER,
    add_superseded,
    fold_releases,
    is_subsampled,
    list_claims,
)
from tests.privacy.claims import ADD, REPLACE, claim

DELTA = 1e-5
CURVE = RenyiCurve((2.0, 4.0), (0.5, 1.0), most=3.0)


@pytest.mark.parametrize(
    ("event", "relation", "why"),
    [
        (Unproven(), REPLACE, "the mechanism has no proof of privacy"),
        (Repeated(Unproven(), 2), REPLACE, "the mechanism has no proof of privacy"),
        (
            Sampled(Pure(1.0), 0.5),
            ADD,
            "privacy amplification by subsampling is proved for Gaussian noise only",
        ),
        (
            Sampled(GaussianNoise(1.0), 0.5),
            REPLACE,
            "privacy amplification by subsampling is proved for adding or removing only",
        ),
    ],
)
def test_what_nobody_has_proved_is_refused_by_its_reason(
    event: Event, relation: Any, why: str
) -> None:
    with pytest.raises(BudgetError) as error:
        losses.refuse_unproven(claim(event, relation=relation, mechanism="home-made"))
    assert (
        str(error.value)
        == f"home-made: no bound is proved ({why}), so nothing may be released; use a mechanism with"
        " a proved bound, or codec.name = 'plain' to release in the clear"
    )


def test_what_is_proved_is_not_refused() -> None:
    for event, relation in (
        (Pure(1.0), REPLACE),
        (Open(), REPLACE),
        (Sampled(GaussianNoise(1.0), 0.5), ADD),
        (Repeated(Pure(1.0), 3), ADD),
    ):
        losses.refuse_unproven(claim(event, relation=relation))


def test_what_has_no_number() -> None:
    assert [
        losses.is_unprotected(event)
        for event in (Open(), Disclosed(), Repeated(Open(), 2), Sampled(Open(), 0.5))
    ] == [True] * 4
    assert [
        losses.is_unprotected(event)
        for event in (Free(), Pure(1.0), Repeated(Pure(1.0), 2), Sampled(GaussianNoise(1.0), 0.5))
    ] == [False] * 4
    assert losses.unwrap(Repeated(Repeated(Pure(1.0), 2), 3)) == Pure(1.0)
    assert losses.unwrap(Sampled(GaussianNoise(1.0), 0.5)) == Sampled(GaussianNoise(1.0), 0.5)


@pytest.mark.parametrize(
    ("event", "epsilon"),
    [
        (Free(), 0), (Pure(0.5), Fraction(1, 2)), (CURVE, 3), (RenyiCurve((2.0,), (0.5,)), math.inf), (GaussianNoise(1.0), math.inf),
        (Approximate(0.5, 1e-7), math.inf), (Repeated(Pure(0.5), 6), 3), (Repeated(Pure(0.5), 6, most=2.0), 2),
        (Repeated(Pure(0.5), 6, most=9.0), 3), (Repeated(GaussianNoise(1.0), 6, most=2.0), 2), (Repeated(GaussianNoise(1.0), 6), math.inf),
    ],
)  # fmt: skip
def test_pure_losses(event: Event, epsilon: Any) -> None:
    assert losses.compute_pure_epsilon(event) == epsilon


def test_approximate_losses() -> None:
    assert losses.compute_approximate(Approximate(0.5, 0.25)) == (Fraction(1, 2), Fraction(1, 4))
    assert losses.compute_approximate(Repeated(Approximate(0.5, 0.125), 3)) == (
        Fraction(3, 2),
        Fraction(3, 8),
    )
    assert losses.compute_approximate(Pure(0.5)) == (0, 0)


def test_gaussian_noise_together() -> None:
    paid = [(GaussianNoise(3.0), 2), (Repeated(Repeated(GaussianNoise(6.0), 2), 2), 3)]
    assert losses.merge_gaussians(paid) == pytest.approx((2 / 9 + 12 / 36) ** -0.5)
    assert losses.merge_gaussians(
        [*paid, (Approximate(0.5, 0.1), 1), (Free(), 2)]
    ) == losses.merge_gaussians(paid)
    assert losses.merge_gaussians([*paid, (Pure(1.0), 1)]) is None
    assert losses.merge_gaussians([(Free(), 1)]) is None


def test_what_gaussian_noise_dominates() -> None:
    alone = [(Pure(1.0), 2), (GaussianNoise(3.0), 1)]
    assert losses.replace_dominated(alone, DELTA) == losses.DominationReplaced(
        tuple(alone), DELTA, 0.0
    )
    dominated = Repeated(GaussianDominated(4.0, distance=1e-30), 2)
    settled = losses.replace_dominated([*alone, (dominated, 3)], DELTA)
    assert settled is not None
    *others, (noise, times) = settled.charged
    assert (others, times) == (alone, 1)
    assert isinstance(noise, GaussianNoise)
    assert noise.noise_multiplier == pytest.approx(4 / math.sqrt(6))
    assert settled.delta == pytest.approx(DELTA * (1 - 2 * dominated_loss.SHARE), rel=1e-12)
    assert settled.distance == pytest.approx(6e-30)
    assert (
        losses.replace_dominated(
            [(GaussianDominated(4.0, (r,), (1e-6,)), 1) for r in (10.0, 20.0)], DELTA
        )
        is None
    )


def test_single_uses() -> None:
    assert losses.list_single_uses(Pure(1.0), 3, DELTA) == [(Pure(1.0), 3)]
    assert losses.list_single_uses(Repeated(Pure(0.1), 4), 3, DELTA) == [(Pure(0.1), 12)]
    assert losses.list_single_uses(Repeated(Repeated(Pure(0.1), 4), 2), 3, DELTA) == [
        (Pure(0.1), 24)
    ]
    assert losses.list_single_uses(Repeated(Pure(1.0), 50, most=2.0), 3, DELTA) == [(Pure(2.0), 3)]
    assert losses.list_single_uses(Repeated(Pure(0.01), 50, most=45.0), 3, DELTA) == [
        (Pure(0.01), 150)
    ]
    assert losses.list_single_uses(CURVE, 3, DELTA) == [(Pure(3.0), 3)]
    bare = RenyiCurve((2.0,), (0.5,))
    assert losses.list_single_uses(bare, 3, DELTA) == [(bare, 3)]


def test_renyi_divergences() -> None:
    orders = (0.5, 1.0, 3.0, 7.0)
    assert (
        losses.compute_renyi_curve(Free(), orders)
        == losses.compute_renyi_curve(Approximate(1.0, 0.1), orders)
        == (0.0,) * 4
    )
    assert losses.compute_renyi_curve(GaussianNoise(2.0), orders) == pytest.approx(
        [1.5 / 8, 2 / 8, 4 / 8, 8 / 8]
    )
    assert losses.compute_renyi_curve(RenyiCurve((2.0, 4.0), (0.5, 1.0)), orders) == (
        0.5,
        0.5,
        1.0,
        math.inf,
    )
    assert losses.compute_renyi_curve(Repeated(GaussianNoise(2.0), 5), orders) == pytest.approx(
        [5 * t / 8 for t in (1.5, 2, 4, 8)]
    )
    with pytest.raises(TypeError, match=r"no Rényi divergence is known for Open\(\)"):
        losses.compute_renyi_curve(Open(), orders)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_randomised_response_by_its_definition(epsilon: float) -> None:
    """D_a = ln(p^a q^(1-a) + q^a p^(1-a)) / (a - 1) with p = e^epsilon / (1 + e^epsilon), q = 1 - p."""
    p = 1 / (1 + math.exp(-epsilon))
    q = 1 / (1 + math.exp(epsilon))
    orders = (0.1, 1.0, 4.5, 40.0)
    wanted = [math.log(p ** (1 + t) * q**-t + q ** (1 + t) * p**-t) / t for t in orders]
    assert losses.compute_renyi_curve(Pure(epsilon), orders) == pytest.approx(wanted, rel=1e-9)
    assert losses.compute_renyi_curve(Pure(epsilon), (1e6,))[0] == pytest.approx(epsilon, rel=1e-4)
    whole = losses.compute_renyi_curve(Repeated(Pure(epsilon), 1000, most=epsilon), orders)
    assert whole == pytest.approx(wanted, rel=1e-9), "lowered to that of all of them together"
    assert losses.compute_renyi_curve(
        RenyiCurve((1000.0,), (900.0,), most=epsilon), orders
    ) == pytest.approx(wanted, rel=1e-9)


def test_a_divergence_becomes_an_epsilon_at_the_best_order() -> None:
    """Canonne, Kamath and Steinke 2020, proposition 12, at one order; a curve is known at its own orders."""
    curve = RenyiCurve((3.0,), (0.25,))
    wanted = 2 * 0.25 + math.log(2 / 3) - (math.log(DELTA) + math.log(3)) / 2
    assert losses.compute_renyi_epsilon([(curve, 2)], DELTA) == pytest.approx(wanted, rel=1e-9)
    assert losses.compute_renyi_epsilon([(curve, 2)], DELTA) > wanted
    assert losses.compute_renyi_epsilon([(Free(), 1)], 0.4) == 0.0
    t = np.logspace(-2, 3, 5001)
    fine = 4 * (1 + t) / 50 + np.log(t / (1 + t)) - (np.log(DELTA) + np.log(1 + t)) / t
    assert losses.compute_renyi_epsilon([(GaussianNoise(5.0), 4)], DELTA) == pytest.approx(
        fine.min(), rel=1e-3
    )


def test_orders() -> None:
    assert losses._choose_orders((Pure(1.0),)) == losses.ABOVE_ONE
    few = losses._choose_orders((Repeated(Sampled(GaussianNoise(1.0), 0.1), 2), CURVE))
    assert set(few) == {*losses._SAMPLED, 1.0, 3.0}
    assert list(few) == sorted(few)
    assert set(losses._choose_orders((Repeated(CURVE, 3),))) == {*losses.ABOVE_ONE, 1.0, 3.0}


def test_noise_on_a_sample_never_costs_more_at_a_smaller_order() -> None:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    orders = (1.0, 3.0, 15.0)
    found = losses.compute_renyi_curve(Sampled(GaussianNoise(2.0), 0.25), orders)
    accountant = RdpAccountant([2.0, 4.0, 16.0])
    accountant.compose(
        dp_accounting.PoissonSampledDpEvent(0.25, dp_accounting.GaussianDpEvent(2.0))
    )
    assert found == pytest.approx(accountant.rdp)
    assert list(found) == sorted(found)


def test_numbers_are_rounded_up() -> None:
    assert losses.round_up(Fraction(1, 2)) == 0.5
    assert losses.round_up(Fraction(1, 10)) == 0.1
    third = losses.round_up(Fraction(1, 3))
    assert Fraction(third) >= Fraction(1, 3)
    assert third == math.nextafter(1 / 3, math.inf)
    assert losses.round_up(0.1) == 0.1


# Accounts


def test_claims_about_a_sample() -> None:
    sampled = claim(Repeated(Sampled(GaussianNoise(1.0), 0.1), 2), relation=ADD)
    assert is_subsampled((claim(Pure(1.0)), sampled))
    assert not is_subsampled((claim(Pure(1.0)),))
    assert not is_subsampled(())


def test_charging() -> None:
    one, two = (claim(Pure(1.0)),), (claim(Pure(2.0)),)
    assert charge(Account(), (), 5) == Account()
    assert charge(Account(), one, 0) == Account()
    account = charge(charge(Account(), one, 5), two, 5, uses=3)
    assert account == Account((Charge(one, 1), Charge(two, 3)))
    assert charge(account, one, 9, uses=2) == Account((Charge(one, 3), Charge(two, 3)))
    assert charge(account, two, 2) == account, "nobody takes a charge back"
    assert charge(account, two, 3) == account
    assert (account.times(one), account.times((claim(Pure(3.0)),))) == (1, 0)
    assert list_claims(Account((Charge(one, 1), Charge((*one, *two), 2)))) == (*one, *two)
    with pytest.raises(BudgetError, match="no proof"):
        charge(Account(), (claim(Unproven()),), 1)


def released(one: Claim, round_no: int, busiest: int = 1, **more: Any) -> Any:
    return replace(
        ledger.build_release(one, "run", round_no, "train", clients=5, busiest=busiest), **more
    )


def test_entries_of_the_record() -> None:
    one = claim(Pure(1.0))
    found = ledger.build_release(one, "run", 3, "train", clients=5, busiest=2)
    assert (found.arm, found.round_no, found.exchange, found.clients, found.busiest) == (
        "run",
        3,
        "train",
        5,
        2,
    )
    assert Claim.from_json(found.claim) == one


def test_an_account_from_the_record() -> None:
    one, two = claim(Pure(1.0)), claim(Pure(2.0))
    together = [released(one, 1), released(two, 1, busiest=1)]
    assert fold_releases(together) == Account((Charge((one, two), 1),))
    apart = [
        released(one, 1),
        released(two, 1, exchange="votes"),
        released(one, 2, busiest=2),
        released(one, 2, 2, request="again"),
    ]
    assert fold_releases(apart) == Account((Charge((one,), 2), Charge((two,), 1)))
    superseded = [
        released(one, 1),
        released(one, 2, superseded=True),
        released(one, 3, superseded=True),
    ]
    assert fold_releases(superseded) == Account((Charge((one,), 3),))
    assert add_superseded(Account(), [released(one, 1)]) == Account((Charge((one,), 1),))


def stated(*paid: tuple[tuple[Claim, ...], int], delta: float = DELTA) -> tuple[Total, ...]:
    return ledger.compute_totals(
        Account(tuple(Charge(claims, times) for claims, times in paid)), delta
    )


def test_totals_of_pure_losses() -> None:
    assert stated(((claim(Pure(0.5)),), 1)) == (
        Total(unit="update", epsilon=0.5, delta=0.0, basis="exact"),
        Total(unit="run", epsilon=0.5, delta=0.0, basis="exact"),
        Total(
            unit="run",
            epsilon=pytest.approx(0.5, rel=1e-3),
            delta=DELTA,
            basis="exact composition of randomised responses",
        ),
    )
    update, run, _ = stated(((claim(Pure(0.5)),), 2), ((claim(Pure(2.0)),), 1))
    assert update == Total(unit="update", epsilon=2.0, delta=0.0, basis="exact")
    assert run == Total(unit="run", epsilon=3.0, delta=0.0, basis="basic composition")


def test_totals_per_smaller_unit() -> None:
    bits = (
        claim(Repeated(Pure(0.5), 10), unit="bit"),
        claim(Repeated(Pure(0.25), 4), unit="bit"),
        claim(GaussianNoise(9.0), unit="vote"),
    )
    bit, update, run = stated(((bits[1], bits[0], bits[2]), 3))[:3]
    assert bit == Total(unit="bit", epsilon=0.5, delta=0.0, basis="exact")
    assert (update.unit, run.unit) == ("update", "run")
    assert update.delta > 0, "noise has no pure epsilon"


def test_totals_of_noise() -> None:
    update, run = stated(((claim(GaussianNoise(3.0), relation=ADD),), 4))
    assert update == Total(
        unit="update",
        epsilon=pytest.approx(compute_epsilon(DELTA, 3.0)),
        delta=DELTA,
        basis="exact",
    )
    assert run == Total(
        unit="run", epsilon=pytest.approx(compute_epsilon(DELTA, 1.5)), delta=DELTA, basis="exact composition of Gaussian noise"
    )  # fmt: skip
    mixed = stated(
        ((claim(GaussianNoise(3.0), relation=ADD),), 1), ((claim(Pure(0.5), relation=ADD),), 2)
    )
    assert mixed[-1].basis == "composition of loss distributions"
    assert mixed[0].epsilon == pytest.approx(compute_epsilon(DELTA, 3.0)), "the dearest answer"
    sampled = stated(((claim(Sampled(GaussianNoise(3.0), 0.1), relation=ADD),), 4))
    assert sampled[-1].basis == "composition of loss distributions"


def test_totals_by_curves() -> None:
    curve = RenyiCurve((2.0, 8.0, 32.0), (0.01, 0.04, 0.16))
    update, run = stated(((claim(curve),), 4))
    assert {update.basis, run.basis} == {"Rényi composition of numerical curves"}
    assert run.epsilon == pytest.approx(losses.compute_renyi_epsilon([(curve, 4)], DELTA))
    assert run.delta == DELTA
    bounded = RenyiCurve((2.0,), (5.0,), most=0.1)
    *_, run = stated(((claim(bounded),), 100))
    assert run.basis == "exact composition of randomised responses", (
        "its pure bound costs less than its curve"
    )
    assert run.epsilon == pytest.approx(stated(((claim(Pure(0.1)),), 100))[-1].epsilon)
    assert run.epsilon is not None
    assert run.epsilon < losses.compute_renyi_epsilon([(bounded, 100)], DELTA)


def test_no_number() -> None:
    peers = replace(claim(Open()), view="peers")
    none = [
        Total(unit=unit, epsilon=None, delta=0.0, basis=NO_NUMBER) for unit in ("update", "run")
    ]
    assert list(stated(((claim(Pure(1.0)), claim(Open())), 1))) == none
    assert list(stated(((peers, claim(Open())), 1))) == none
    assert {total.basis for total in stated(((peers, claim(Pure(1.0))), 1))} == {HIDDEN}


def test_noise_that_is_drawn_too_coarsely_has_no_number() -> None:
    far, apart = (
        GaussianDominated(1.0, distance=1e-8),
        [GaussianDominated(4.0, (rate,), (1e-6,)) for rate in (10.0, 20.0)],
    )
    for events in ([far], apart):
        *_, run = stated(*(((claim(event),), 1) for event in events))
        assert run == Total(unit="run", epsilon=None, delta=DELTA, basis=COARSE)
    *_, mixed = stated(((claim(GaussianDominated(5.0)),), 3), ((claim(Repeated(Pure(0.2), 4)),), 2))
    assert mixed.basis == "composition of loss distributions"


def test_a_pure_sum_counts_where_it_is_less() -> None:
    *_, run = stated(((claim(Pure(5.0)),), 1), ((claim(Approximate(0.5, 1e-7)),), 2))
    assert run.epsilon is not None
    assert run.epsilon <= 6.0 + 1e-6
    assert run.delta == pytest.approx(DELTA + 2e-7)
    whole = stated(((claim(Repeated(Pure(1e-9), 3)),), 1))[-1]
    assert whole.epsilon is not None
    assert 0 <= whole.epsilon <= 3e-9
    assert whole.delta == DELTA
