"""What one shuffled round tells, by definition for few clients; and fixed values of the calculator for more."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from tacit.errors import BudgetError
from tacit.privacy.accounting.shuffle import compute_shuffled_epsilon, estimate_shuffling
from tacit.privacy.accounting.shuffle_distributions import (
    _bin_losses,
    _count_pairs,
    _group_blankets,
    bound_by_blanket,
    bound_by_epsilon,
)
from tacit.privacy.claim import BiasedVector, GaussianNoise, Pure, Repeated
from tacit.privacy.ledger import Account, charge
from tests.privacy.claims import claim

LAW = BiasedVector(4.0, chance=0.7909458073884266, free=0.06480549960616058, slack=0.0)


def test_how_many_hide_a_client() -> None:
    each = list(_group_blankets(10, 0.3, 60))
    assert [hiding for hiding, _ in each] == list(range(11))
    assert [likely for _, likely in each] == pytest.approx(binom.pmf(range(11), 10, 0.3).tolist())
    few = list(_group_blankets(10, 0.3, 4))
    assert [hiding for hiding, _ in few] == [0, 2, 5, 8]
    assert [likely for _, likely in few] == pytest.approx(
        [sum(binom.pmf(range(*ends), 10, 0.3)) for ends in ((0, 2), (2, 5), (5, 8), (8, 11))]
    )
    many = list(_group_blankets(10**6, 0.01, 60))
    assert many[0][0] == binom.ppf(1e-12, 10**6, 0.01)
    assert sum(likely for _, likely in many) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("share", [0.25, 0.4, 0.5])
def test_pairs_of_counts(share: float) -> None:
    found = _count_pairs(4, share, np.arange(5))
    for a in range(5):
        for b in range(5):
            wanted = (
                multinomial.pmf([a, b, 4 - a - b], 4, [share, share, 1 - 2 * share])
                if a + b <= 4
                else 0.0
            )
            assert found[a, b] == pytest.approx(wanted, abs=1e-15)


def test_losses_are_rounded_up() -> None:
    values, chances = _bin_losses(
        np.array([[0.0, -1.0], [0.50001, 1.0]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    )
    assert len(values) == 40_001
    assert values[chances > 0].tolist() == pytest.approx([-1.0, 0.0, 0.50005, 1.0])
    assert chances[chances > 0].tolist() == [0.2, 0.1, 0.3, 0.4]
    values, chances = _bin_losses(np.array([[-2.0, -1.0]]), np.array([[0.1, 0.2]]))
    assert (len(values), values[chances > 0].tolist()) == (20_001, [-2.0, -1.0])


def test_two_clients_by_definition() -> None:
    """One other client hides with probability h; then the kinds of two messages are counted, else one message tells."""
    epsilon = 1.5
    truth, hides = 1 / (1 + math.exp(-epsilon)), 2 / (1 + math.exp(epsilon))
    losses, chances, failing = bound_by_epsilon(epsilon, 2)
    first = [(1 - hides) * (1 - truth), (1 - hides) * truth]
    second = [hides * chance for chance in (0.5 * (1 - truth), 0.5, 0.5 * truth)]
    assert sorted(chances.tolist()) == pytest.approx(sorted([*first, *second]))
    assert sorted(losses.tolist()) == pytest.approx(
        [-epsilon, -epsilon, 0.0, epsilon, epsilon], abs=1e-12
    )
    assert failing == pytest.approx(2e-12, rel=1e-3)


def test_leaning_vectors_of_two_clients_by_definition() -> None:
    losses, chances, failing = bound_by_blanket(LAW, 2)
    high, low = LAW.chance / LAW.free, (1 - LAW.chance) / (1 - LAW.free)
    mean = 0.0
    for total, likely in ((1, 1 - LAW.blanket), (2, LAW.blanket)):
        for a in range(total + 1):
            for b in range(total + 1 - a):
                free = multinomial.pmf(
                    [a, b, total - a - b], total, [LAW.free, LAW.free, 1 - 2 * LAW.free]
                )
                one, two = ((total * low + count * (high - low)) / total for count in (a, b))
                mean += likely * free * one * math.log(one / two)
    assert (losses * chances).sum() == pytest.approx(mean, rel=1e-3)
    assert chances.sum() == pytest.approx(1.0, abs=1e-9)
    assert failing == pytest.approx(2e-12, abs=1e-9)
    assert bound_by_blanket(replace(LAW, chance=0.7, free=0.6), 2) is None
    assert bound_by_blanket(LAW, 10**9) is None


@pytest.mark.parametrize(
    ("given", "epsilon"),
    [
        ((1.0, 100, 1, 1e-5), 0.4445484171223871),
        ((1.0, 100, 10, 1e-5), 1.5560162232407952),
        ((4.0, 1000, 3, 1e-6), 2.874488105446019),
        ((4.0, 40, 1, 1e-3, LAW), 3.1839547280395273),
        ((4.0, 40, 2, 1e-3, replace(LAW, slack=0.01)), 5.80578510403715),
        ((30.0, 5, 1, 1e-5), 30.0),
        ((30.5, 10**6, 2, 1e-5), 61.0),
        ((2.0, 1, 3, 1e-5), 6.0),
        ((1.0, 1000, 10, 1e-12), 10.0),
    ],
)
def test_fixed_values(given: tuple, epsilon: float) -> None:
    assert compute_shuffled_epsilon(*given) == pytest.approx(epsilon, rel=1e-6)


def test_what_a_shuffler_would_be_worth_in_words() -> None:
    found = estimate_shuffling(charge(Account(), (claim(Pure(2.0)),), 1), 1234, 1e-5)
    assert (found.clients, found.rounds, found.update_epsilon, found.delta, found.leans) == (
        1234,
        1,
        2.0,
        1e-5,
        False,
    )
    assert (
        found.sentence
        == "If a shuffler mixed the messages of 1,234 clients in each round before anybody saw"
        " them, epsilon would be at most 0.3029 per run of 1 round, delta 1e-05, instead of 2"
        " (epsilon 2 per message; numerical, if you replace all rows of one client). Nothing in"
        " this run shuffles: the server sees who sent what, and the figures above apply."
    )
    law = estimate_shuffling(charge(Account(), (claim(LAW),), 1), 40, 1e-3)
    assert law.leans
    assert law.shuffled_epsilon == pytest.approx(3.1839547280395273, rel=1e-6)
    assert "; all messages of a round must use the same coordinates). Nothing" in law.sentence
    both = estimate_shuffling(charge(Account(), (claim(LAW), claim(Pure(1.0))), 1), 40, 1e-3)
    assert not both.leans
    many = estimate_shuffling(charge(Account(), (claim(Pure(0.001)),), 1000, uses=1000), 40, 1e-3)
    assert "run of 1,000 rounds" in many.sentence


@pytest.mark.parametrize(
    ("payments", "said"),
    [
        ([], "nothing"),
        ([(claim(GaussianNoise(3.0), mechanism="noise"),)], "noise"),
        ([(claim(Pure(1.0), mechanism="a"),), (claim(Pure(2.0), mechanism="b"),)], "a, b"),
        ([(replace(claim(Repeated(Pure(1.0), 2), mechanism="a"), view="peers"),)], "a"),
    ],
)
def test_where_no_bound_holds(payments: list, said: str) -> None:
    account = Account()
    for claims in payments:
        account = charge(account, claims, 1)
    with pytest.raises(BudgetError) as error:
        estimate_shuffling(account, 100, 1e-5)
    assert (
        str(error.value)
        == f"a shuffling bound needs one message with a pure epsilon per client and round, but clients"
        f" sent {said}; use rr, rr_sampled or projunit"
    )
