"""Charges and totals: what different claims add up to, and what is refused."""

import json
import math

import pytest

from tacit import codecs, plan
from tacit.errors import BudgetError
from tacit.privacy import ledger
from tacit.privacy.accounting.gaussian_loss import compute_epsilon
from tacit.privacy.claim import (
    Approximate,
    Disclosed,
    Free,
    GaussianDominated,
    GaussianNoise,
    Open,
    Pure,
    Repeated,
    Sampled,
    Total,
    Unproven,
)
from tacit.privacy.ledger import Account, charge
from tests.privacy.claims import ADD, claim


def paid(*events_and_times) -> Account:
    account = Account()
    for event, times in events_and_times:
        account = charge(
            account,
            (claim(event, "bit" if isinstance(event, Repeated) else "update"),),
            times,
            uses=times,
        )
    return account


def by_unit(account: Account, delta: float = 1e-5) -> dict[str, float | None]:
    return {
        f"{one.unit}{' at delta' if one.delta else ''}": one.epsilon
        for one in ledger.compute_totals(account, delta)
    }


@pytest.mark.parametrize(("dim", "epsilon", "update", "run_at_delta"), [
    (5_001, 0.1, 500.1, 794), (5_001, 1.0, 5_001, 59_407), (506_451, 0.1, 50_645, 64_960), (506_451, 1.0, 506_451, 5.87e6),
])  # fmt: skip
def test_the_specified_totals_over_25_rounds(dim, epsilon, update, run_at_delta) -> None:
    claims = codecs.build(plan.RR(epsilon=epsilon, clip=1e-3)).claims(dim, 1)
    found = by_unit(charge(Account(), claims, 25, uses=25))
    assert found["bit"] == pytest.approx(epsilon, rel=1e-6)
    assert found["update"] == pytest.approx(update, rel=1e-4)
    assert found["run"] == pytest.approx(25 * update, rel=1e-4)
    assert run_at_delta * 0.97 <= found["run at delta"] <= run_at_delta * 1.001


def test_different_claims_of_one_run_add_up() -> None:
    account = paid((Repeated(Pure(8.0), 10), 4), (Repeated(Pure(0.5), 10), 1))
    assert by_unit(account)["bit"] == 8.0
    assert by_unit(account)["update"] == 80.0
    assert by_unit(account)["run"] == 325.0


def test_claims_of_one_answer_are_paid_together() -> None:
    both = (claim(Pure(1.0)), claim(Pure(2.0), mechanism="another"))
    found = by_unit(charge(Account(), both, 3, uses=3))
    assert (found["update"], found["run"]) == (3.0, 9.0)


def test_the_bound_on_a_whole_update_caps_its_bits() -> None:
    found = by_unit(paid((Repeated(Pure(1.0), 100, most=5.0), 2)))
    assert (found["bit"], found["update"], found["run"]) == (1.0, 5.0, 10.0)
    assert found["run at delta"] <= 10.0


def test_the_busiest_client_pays_once_a_round_and_no_more_than_it_answered() -> None:
    account, one, other = Account(), (claim(Pure(1.0)),), (claim(Pure(2.0)),)
    for claims, busiest in ((one, 1), (one, 1), (other, 2), (one, 2), (one, 3)):
        account = charge(account, claims, busiest)
    assert (account.times(one), account.times(other)) == (3, 1)


@pytest.mark.parametrize("event", [Open(), Disclosed(), Repeated(Disclosed(), 7)])
def test_what_is_not_protected_has_no_number_whatever_else_was_paid(event) -> None:
    assert {
        total.epsilon for total in ledger.compute_totals(paid((Pure(1.0), 9), (event, 1)), 1e-5)
    } == {None}


def test_nothing_paid_and_nothing_released_differ() -> None:
    assert ledger.compute_totals(Account(), 1e-5) == ()
    assert set(by_unit(paid((Free(), 3))).values()) == {0.0}


def test_approximate_losses_add_up_in_both() -> None:
    *_, run = ledger.compute_totals(paid((Approximate(0.5, 1e-7), 4)), 1e-5)
    assert run == Total(
        unit="run", epsilon=2.0, delta=pytest.approx(4e-7), basis="basic composition"
    )
    *_, mixed = ledger.compute_totals(
        paid((Approximate(0.5, 1e-7), 4), (GaussianNoise(5.0), 10)), 1e-5
    )
    *_, noise = ledger.compute_totals(paid((GaussianNoise(5.0), 10)), 1e-5)
    assert mixed.epsilon == pytest.approx(2.0 + noise.epsilon)
    assert mixed.delta == pytest.approx(1e-5 + 4e-7)


def test_losses_under_different_changes_of_data_are_not_added() -> None:
    account = charge(paid((Pure(1.0), 1)), (claim(Pure(1.0), relation=ADD),), 1)
    assert {(total.epsilon, total.basis) for total in ledger.compute_totals(account, 1e-5)} == {
        (None, ledger.account.UNLIKE)
    }


@pytest.mark.parametrize("event", [
    Unproven(), Repeated(Unproven(), 3), Sampled(Pure(1.0), 0.1), Sampled(GaussianNoise(1.0), 0.1), Repeated(Sampled(Open(), 0.5), 2),
])  # fmt: skip
def test_the_ledger_refuses_what_nobody_has_proved(event) -> None:
    with pytest.raises(
        BudgetError, match=r"home-made: no bound is proved \(.*\), so nothing may be released"
    ):
        charge(Account(), (claim(event, mechanism="home-made"),), 1)
    with pytest.raises(BudgetError, match="home-made"):
        ledger.compute_totals(
            Account((ledger.Charge((claim(event, mechanism="home-made"),), 1),)), 1e-5
        )


def test_gaussian_noise_on_a_poisson_sample_is_accounted() -> None:
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    sampled = (claim(Sampled(GaussianNoise(1.0), 0.01), relation=ADD),)
    *_, run = ledger.compute_totals(charge(Account(), sampled, 1000, uses=1000), 1e-5)
    by_orders, by_losses = RdpAccountant(), PLDAccountant(value_discretization_interval=1e-3)
    for borrowed in (by_orders, by_losses):
        borrowed.compose(
            dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 1000
        )
    assert by_losses.get_epsilon(1e-5) <= run.epsilon <= 1.01 * by_losses.get_epsilon(1e-5)
    assert run.epsilon < 0.95 * by_orders.get_epsilon(1e-5)


def test_an_account_is_the_same_after_json() -> None:
    account = paid((Repeated(Pure(1.0), 5, most=math.pi), 2), (GaussianNoise(3.0), 1), (Open(), 1))
    assert Account.from_json(json.loads(json.dumps(account.to_json(), allow_nan=False))) == account


def test_folding_the_record_gives_the_account_that_was_charged() -> None:
    account, entries = Account(), []
    seen = 0
    for round_no, (loss, takes_part) in enumerate(
        [(1.0, True), (1.0, False), (2.0, True), (1.0, True)], start=1
    ):
        claims, seen = (
            (
                claim(Pure(loss)),
                claim(Pure(loss / 2), mechanism="beside it"),
            ),
            seen + takes_part,
        )
        account = charge(account, claims, seen)
        entries += [
            ledger.build_release(
                one, "run", round_no, "train", clients=5, busiest=account.times(claims)
            )
            for one in claims
        ]
    assert ledger.fold_releases(entries) == account


# Mechanisms that Gaussian noise dominates


def test_what_gaussian_noise_dominates_composes_like_it_at_almost_the_whole_delta() -> None:
    account = paid(
        (GaussianDominated(3.0), 4), (GaussianDominated(6.0), 16), (GaussianNoise(9.0), 9)
    )
    total = ledger.compute_totals(account, 1e-5)[-1]
    assert (total.delta, total.basis) == (1e-5, "composition of dominating Gaussian noise")
    assert total.epsilon == pytest.approx(compute_epsilon(1e-5 * (1 - 1 / 256), 1.0), rel=1e-9)


def test_an_excess_is_added_at_its_best_rate() -> None:
    """Two uses: squared shifts of 2 / 16, and the least of (2 excess + log 512 / delta) / rate."""
    account = paid((GaussianDominated(4.0, (10.0, 1000.0, 1e6), (1e-6, 0.5, 1e6)), 2))
    shift = 2 / 16 + (2 * 0.5 + math.log(512 / 1e-5)) / 1000
    assert ledger.compute_totals(account, 1e-5)[-1].epsilon == pytest.approx(
        compute_epsilon(1e-5 * (1 - 1 / 256), shift**-0.5), rel=1e-9
    )


def test_dominated_noise_composes_with_pure_losses_and_keeps_what_approximate_ones_bring() -> None:
    alone = ledger.compute_totals(
        paid((GaussianNoise(5.0), 3), (Repeated(Pure(0.2), 4), 2)), 1e-5 * (1 - 1 / 256)
    )[-1]
    both = ledger.compute_totals(
        paid((GaussianDominated(5.0), 3), (Repeated(Pure(0.2), 4), 2)), 1e-5
    )[-1]
    assert both.epsilon == pytest.approx(alone.epsilon, rel=1e-9)
    brought = ledger.compute_totals(
        paid((GaussianDominated(5.0), 3), (Approximate(0.5, 1e-6), 2)), 1e-5
    )[-1]
    assert brought.delta == pytest.approx(1.2e-5)
    assert brought.epsilon == pytest.approx(
        1 + compute_epsilon(1e-5 * (1 - 1 / 256), 5 / math.sqrt(3)), rel=1e-9
    )


@pytest.mark.parametrize(
    "event", [GaussianDominated(0.2, distance=1e-20), GaussianDominated(1.0, distance=1e-8)]
)
def test_no_epsilon_is_stated_that_the_drawn_distribution_does_not_keep(event) -> None:
    """A distance of d costs d (1 + e^epsilon) of delta; where that is more than was set aside, there is no number."""
    account = paid((event, 1))
    stated = ledger.compute_totals(account, 1e-5)
    assert [total.epsilon for total in stated] == [None, None]
    said = ledger.write_statement(account, stated)
    assert said.startswith("There is no guarantee: no epsilon can be proved for this run.")
    assert "(random draws are too coarse for so large an epsilon)" in said


def test_rates_that_no_two_mechanisms_share_give_no_number() -> None:
    account = paid(
        (GaussianDominated(4.0, (10.0,), (1e-6,)), 1), (GaussianDominated(4.0, (20.0,), (1e-6,)), 1)
    )
    assert ledger.compute_totals(account, 1e-5)[-1].epsilon is None
