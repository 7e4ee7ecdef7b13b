"""Laws of the ledger's own fold, over every kind of event: counting, order, noise, and exact costs it may never undercut."""

import math
from dataclasses import dataclass

import pytest
from scipy.stats import binom, norm

from tacit.errors import BudgetError
from tacit.privacy import ledger
from tacit.privacy.accounting import losses
from tacit.privacy.claim import (
    EVENT_NAMES,
    Approximate,
    BiasedVector,
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
    Unproven,
)  # fmt: skip
from tacit.privacy.ledger import Account, charge
from tests.privacy.claims import ADD, claim

DELTA = 1e-5
COUNTED: list[Event] = [
    Free(), Pure(0.01), Pure(1.0), BiasedVector(4.0, chance=0.79, free=0.065, slack=1e-4), Approximate(0.3, 1e-7),
    GaussianNoise(0.8), GaussianNoise(20.0), GaussianDominated(9.0), GaussianDominated(20.0, (10.0, 1e3, 1e5), (1e-6, 1e-4, 0.1), 1e-28),
    RenyiCurve((1.5, 4.0, 32.0), (0.01, 0.02, 0.3)), RenyiCurve((1.5, 4.0), (0.1, 0.2), most=0.4),
    Repeated(RenyiCurve((1.001, 1.1, 4.0), (0.1, 0.15, 0.4), most=0.9), 300),
    Repeated(Pure(0.1), 1000), Repeated(Pure(0.1), 1000, most=3.0), Repeated(GaussianNoise(5.0), 4), Sampled(GaussianNoise(1.1), 0.02),
]  # fmt: skip
NO_NUMBER: list[Event] = [Open(), Disclosed(), Repeated(Open(), 3)]
REFUSED: list[Event] = [Unproven(), Sampled(Pure(1.0), 0.1)]
every = pytest.mark.parametrize("event", COUNTED, ids=str)


def run(*paid: tuple[Event, int], delta: float = DELTA) -> tuple[float, float]:
    """Return epsilon and delta of a run in which these events were paid for that often."""
    account = Account()
    for event, times in paid:
        account = charge(account, (claim(event, relation=ADD),), times, uses=times)
    last = ledger.compute_totals(account, delta)[-1]
    assert last.epsilon is not None
    return last.epsilon, last.delta


def test_every_kind_of_event_is_under_these_laws() -> None:
    assert {type(event) for event in (*COUNTED, *NO_NUMBER, *REFUSED)} == set(EVENT_NAMES)


@every
@pytest.mark.parametrize("times", [2, 50, 5000])
def test_many_charges_cost_as_much_as_one_of_that_count_and_as_one_repeated_event(
    event, times
) -> None:
    account, claims = Account(), (claim(event, relation=ADD),)
    for number in range(1, times + 1):
        account = charge(account, claims, busiest=number)
    assert (
        ledger.compute_totals(account, DELTA)[-1]
        == ledger.compute_totals(charge(Account(), claims, times, uses=times), DELTA)[-1]
    )
    assert run((event, times)) == pytest.approx(run((Repeated(event, times), 1)), rel=1e-12)


@every
def test_more_uses_never_cost_less_and_parts_never_more_than_their_sum(event) -> None:
    costs = [run((event, times))[0] for times in (1, 2, 3, 10, 100)]
    assert costs == sorted(costs)
    assert run((event, 3), (Pure(0.2), 2))[0] >= max(run((event, 3))[0], run((Pure(0.2), 2))[0])
    assert run((event, 3), (Pure(0.2), 2))[0] == pytest.approx(
        run((Pure(0.2), 2), (event, 3))[0], rel=1e-12
    )


@pytest.mark.parametrize(
    "noisier",
    [
        lambda size: Pure(1 / size), lambda size: GaussianNoise(size), lambda size: Approximate(1 / size, 1e-8 / size),
        lambda size: Repeated(Pure(0.1), 100, most=5 / size), lambda size: Sampled(GaussianNoise(1.0), min(1.0, 0.5 / size)),
        lambda size: GaussianDominated(size, (100.0,), (1e-3,)), lambda size: GaussianDominated(5.0, (100.0,), (1 / size,)),
        lambda size: Sampled(GaussianNoise(size), 0.1), lambda size: RenyiCurve((2.0, 9.0), (0.1 / size, 0.2 / size)),
        lambda size: RenyiCurve((2.0, 9.0), (0.1, 0.2), most=0.1 / size),
    ],
)  # fmt: skip
def test_more_noise_never_costs_more(noisier) -> None:
    costs = [run((noisier(size), 7))[0] for size in (0.5, 0.7, 1.0, 1.01, 2.0, 8.0, 40.0)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def chance_beyond_bits(epsilon: float, bit: float, uses: int) -> float:
    """Return the exact delta at `epsilon` of `uses` binary randomised responses: what is more likely by more than e^epsilon."""
    keep = 1 / (1 + math.exp(-bit))
    threshold = math.floor(
        (epsilon / bit + uses) / 2
    )  # with k bits kept the log ratio is (2k - uses) times bit
    return float(binom.sf(threshold, uses, keep)) - math.exp(min(700.0, epsilon)) * float(
        binom.sf(threshold, uses, 1 - keep)
    )


def chance_beyond_noise(epsilon: float, noise_multiplier: float, uses: int) -> float:
    """Return the exact delta at `epsilon` of `uses` Gaussian releases (Balle and Wang 2018, theorem 8)."""
    size = math.sqrt(uses) / noise_multiplier
    return float(norm.cdf(size / 2 - epsilon / size)) - math.exp(epsilon) * float(
        norm.cdf(-size / 2 - epsilon / size)
    )


@pytest.mark.parametrize(
    ("bit", "uses"),
    [(0.01, 1000), (0.1, 10), (0.1, 500), (0.1, 5001), (1.0, 3), (1.0, 30), (3.0, 5)],
)
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
def test_composed_bits_are_never_stated_below_their_exact_cost_and_not_far_above(
    bit, uses, delta
) -> None:
    stated = run((Repeated(Pure(bit), uses), 1), delta=delta)[0]
    assert chance_beyond_bits(stated, bit, uses) <= delta
    rho = uses * bit * math.tanh(bit / 2)
    assert stated <= min(
        uses * bit, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    )  # the zero-concentrated closed form
    if stated < uses * bit:
        assert chance_beyond_bits(0.6 * stated, bit, uses) > delta


@pytest.mark.parametrize(
    ("noise", "uses"), [(0.5, 1), (1.0, 1), (4.0, 1), (4.0, 100), (30.0, 25), (200.0, 3)]
)
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
def test_composed_noise_is_never_stated_below_its_exact_cost_and_not_far_above(
    noise, uses, delta
) -> None:
    stated = run((GaussianNoise(noise), uses), delta=delta)[0]
    assert chance_beyond_noise(stated, noise, uses) <= delta
    assert chance_beyond_noise(0.6 * stated, noise, uses) > delta or stated < 0.05


@pytest.mark.parametrize("uses", [1, 30, 5001])
def test_ours_and_a_borrowed_accountant_agree(uses) -> None:
    """dp-accounting tries fewer orders, so its figures may be larger, never smaller."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    flip = 2 / (1 + math.exp(0.1))
    replaced = dp_accounting.NeighboringRelation.REPLACE_ONE
    for event, theirs, accountant in (
        (
            Pure(0.1),
            dp_accounting.RandomizedResponseDpEvent(flip, 2),
            RdpAccountant(neighboring_relation=replaced),
        ),
        (GaussianNoise(9.0), dp_accounting.GaussianDpEvent(9.0), RdpAccountant()),
    ):
        accountant.compose(theirs, uses)
        borrowed = accountant.get_epsilon(DELTA)
        assert (
            0.9 * borrowed
            <= losses.compute_renyi_epsilon([(event, uses)], DELTA)
            <= borrowed * (1 + 1e-3)
        )


@pytest.mark.parametrize("event", NO_NUMBER, ids=str)
def test_what_has_no_number_makes_a_run_without_one(event) -> None:
    account = charge(charge(Account(), (claim(Pure(1.0)),), 1), (claim(event),), 1)
    assert {total.epsilon for total in ledger.compute_totals(account, DELTA)} == {None}


@pytest.mark.parametrize("event", REFUSED, ids=str)
def test_what_is_not_proved_is_never_added_up(event) -> None:
    with pytest.raises(BudgetError, match="no bound is proved"):
        charge(Account(), (claim(event),), 1)


def test_an_event_the_ledger_does_not_know_raises() -> None:
    @dataclass(frozen=True)
    class Rumour:
        epsilon: float = 0.1

    with pytest.raises(TypeError, match="Rumour"):
        ledger.compute_totals(charge(Account(), (claim(Rumour()),), 1), DELTA)  # type: ignore[arg-type]
