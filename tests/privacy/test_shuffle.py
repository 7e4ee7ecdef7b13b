"""What a shuffler would be worth: known figures, the exact cost of shuffled bits below them, and what is refused."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tacit import plan
from tacit.codecs import projunit, rr
from tacit.codecs.distributions.privunit import choose_bias
from tacit.errors import BudgetError
from tacit.privacy.accounting import shuffle
from tacit.privacy.accounting.shuffle import (
    compute_shuffled_epsilon,
    compute_split_epsilon,
    estimate_shuffling,
)
from tacit.privacy.claim import BiasedVector, GaussianNoise, Pure, Repeated
from tacit.privacy.ledger import Account, charge
from tacit.report.privacy import describe_shuffled
from tacit.runs.record import Started
from tests.privacy.claims import ADD, claim


@pytest.mark.parametrize(("epsilon", "clients", "run"), [
    (1, 1000, 0.73), (1, 10**4, 0.21), (1, 10**5, 0.06), (4, 1000, 7.98), (4, 10**4, 2.05), (4, 10**5, 0.57),
    (8, 1000, 200.0), (8, 10**4, 60.0), (8, 10**5, 5.7),
])  # fmt: skip
def test_the_specified_pairs_over_25_rounds(epsilon, clients, run) -> None:
    """They were worked out on a coarser grid, and printed with two or three digits."""
    assert 0.97 * run <= compute_shuffled_epsilon(epsilon, clients, 25, 1e-5) <= 1.005 * run


def exact_delta(epsilon: float, bit: float, clients: int) -> float:
    """Return the delta of shuffled randomised responses when one client's bit flips and all others hold a zero."""
    keep = 1 / (1 + math.exp(-bit))
    ones = np.arange(clients + 1)
    others = [binom.pmf(ones - said, clients - 1, 1 - keep) for said in (0, 1)]
    zero, one = (
        keep * others[0] + (1 - keep) * others[1],
        (1 - keep) * others[0] + keep * others[1],
    )
    return max(
        float(np.maximum(0, p - math.exp(epsilon) * q).sum()) for p, q in ((zero, one), (one, zero))
    )


@pytest.mark.parametrize(("bit", "clients"), [(0.5, 60), (1.0, 1000), (3.0, 5000)])
def test_shuffled_bits_never_cost_more_than_is_stated_and_a_twin_that_counts_too_many_clients_is_caught(
    bit, clients
) -> None:
    stated = compute_shuffled_epsilon(bit, clients, 1, 1e-4)
    assert exact_delta(stated, bit, clients) <= 1e-4
    assert exact_delta(0.5 * stated, bit, clients) > 1e-4
    assert exact_delta(compute_shuffled_epsilon(bit, 20 * clients, 1, 1e-4), bit, clients) > 1e-4


def test_more_clients_and_fewer_rounds_never_cost_more_and_nothing_costs_more_than_unshuffled() -> (
    None
):
    costs = [compute_shuffled_epsilon(2.0, clients, 10, 1e-6) for clients in (2, 50, 1000, 30_000)]
    assert costs == sorted(costs, reverse=True)
    assert 19.99 < costs[0] <= 20.0
    assert compute_shuffled_epsilon(400_000.0, 10**6, 3, 1e-5) == 1_200_000.0
    assert compute_shuffled_epsilon(1.0, 5000, 2, 1e-5) < compute_shuffled_epsilon(
        1.0, 5000, 20, 1e-5
    )


def test_the_calculator_says_that_nothing_shuffles() -> None:
    account = charge(Account(), (claim(Repeated(Pure(0.5), 4)),), 25, uses=25)
    found = estimate_shuffling(account, 10_000, 1e-5)
    assert (found.update_epsilon, found.rounds) == (2.0, 25)
    assert "Nothing in this run shuffles" in found.sentence
    assert "per run of 25 rounds, delta 1e-05" in found.sentence
    assert found.shuffled_epsilon < found.run_epsilon


@pytest.mark.parametrize("claims", [(claim(GaussianNoise(3.0), relation=ADD),), ()])
def test_it_is_refused_where_no_bound_is_known(claims) -> None:
    with pytest.raises(
        BudgetError,
        match="a shuffling bound needs one message with a pure epsilon per client and round",
    ):
        estimate_shuffling(charge(Account(), claims, 2, uses=2), 1000, 1e-5)


def leaning(epsilon: float) -> BiasedVector:
    lean = choose_bias(epsilon)
    return BiasedVector(epsilon, chance=lean.chance, free=lean.free, slack=0.0)


def exact_leaning_delta(
    epsilon: float, law: BiasedVector, clients: int, overlap: float, others: str
) -> float:
    """Return the delta of shuffled vectors when one client's direction changes from u to v, and all others lean to one of them.

    A message lies beyond u's plane alone, beyond v's alone, beyond both (with probability `overlap`, if free), or beyond none.
    """
    high, low = law.chance / law.free, (1 - law.chance) / (1 - law.free)
    free = np.array([law.free - overlap, law.free - overlap, overlap, 1 - 2 * law.free + overlap])
    laws = {"u": free * [high, low, high, low], "v": free * [low, high, high, low]}
    laws["either"] = (laws["u"] + laws["v"]) / 2
    crowd = np.ones((1, 1, 1))
    for _ in range(clients - 1):
        crowd = joined(crowd, laws[others])
    one, two = joined(crowd, laws["u"]), joined(crowd, laws["v"])
    return max(
        float(np.maximum(0, p - math.exp(epsilon) * q).sum()) for p, q in ((one, two), (two, one))
    )


def joined(crowd: np.ndarray, law: np.ndarray) -> np.ndarray:
    """Return the law of counts of the first three kinds after one more message."""
    more = np.zeros([size + 1 for size in crowd.shape])
    for place, chance in zip([(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)], law, strict=True):
        more[
            tuple(
                slice(start, start + size) for start, size in zip(place, crowd.shape, strict=True)
            )
        ] += chance * crowd
    return more


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("others", ["u", "either"])
def test_shuffled_vectors_never_cost_more_than_is_stated_by_their_own_law(epsilon, others) -> None:
    law, clients, delta = leaning(epsilon), 40, 1e-3
    stated = compute_shuffled_epsilon(epsilon, clients, 1, delta, law)
    assert stated < 0.95 * compute_shuffled_epsilon(epsilon, clients, 1, delta)
    deltas = [
        exact_leaning_delta(stated, law, clients, share * law.free, others)
        for share in (0.0, 0.3, 0.7)
    ]
    assert deltas[0] <= delta
    assert deltas == sorted(deltas, reverse=True)  # opposite directions are the worst
    twin = compute_shuffled_epsilon(epsilon, 40 * clients, 1, delta, law)
    assert exact_leaning_delta(twin, law, clients, 0.0, others) > delta


def test_the_calculator_knows_projunits_own_law() -> None:
    codec = projunit.make(plan.ProjUnit(epsilon=4.0, clip=1.0))
    account = charge(Account(), codec.claims(20_000, 1), 5, uses=5)
    found = estimate_shuffling(account, 10_000, 1e-5)
    assert found.shuffled_epsilon == pytest.approx(0.75, abs=0.02)
    assert found.shuffled_epsilon < 0.92 * compute_shuffled_epsilon(4.0, 10_000, 5, 1e-5)
    assert "all messages of a round must use the same coordinates" in found.sentence


def rr_account(dim: int, rounds: int, epsilon: float = 0.1) -> Account:
    codec = rr.make(plan.RR(epsilon=epsilon, clip=0.01))
    return charge(Account(), codec.claims(dim, 1), rounds, uses=rounds)


def test_pieces_of_an_update_are_composed_and_their_trust_is_said() -> None:
    found = estimate_shuffling(rr_account(5001, 25), 250, 1e-5, in_pieces=True)
    assert found.pieces == 5001
    assert found.shuffled_epsilon == pytest.approx(11.85, abs=0.05)
    assert found.shuffled_epsilon < found.run_epsilon
    for phrase in ("5,001 parameters", "trusts the shuffler", "Nothing in this run shuffles"):
        assert phrase in found.sentence


def test_moments_and_the_distribution_of_many_losses_agree(monkeypatch) -> None:
    exact = compute_split_epsilon(0.1, 200_000, 250, 5, 1e-5)
    monkeypatch.setattr(shuffle, "_LARGE", 0.0)
    assert exact <= compute_split_epsilon(0.1, 200_000, 250, 5, 1e-5) < 1.15 * exact


def exact_split_delta(epsilon: float, bit: float, clients: int, pieces: int) -> float:
    """Delta of `pieces` parameters whose bits are shuffled, when one client flips all of them and
    all others hold zeros: the sums over parameters of independent counts.
    """
    keep = 1 / (1 + math.exp(-bit))
    counts = [
        np.convolve(binom.pmf(np.arange(clients), clients - 1, 1 - keep), said)
        for said in ([keep, 1 - keep], [1 - keep, keep])
    ]
    losses = np.log(counts[0]) - np.log(counts[1])
    worst = 0.0
    for here, loss in ((counts[0], losses), (counts[1], -losses)):
        total, values = here, loss
        for _ in range(pieces - 1):
            total, values = np.outer(total, here).ravel(), np.add.outer(values, loss).ravel()
        worst = max(worst, float(total @ np.maximum(0, -np.expm1(epsilon - values))))
    return worst


def test_split_bits_never_cost_more_than_is_stated_and_a_twin_without_composition_is_caught() -> (
    None
):
    stated = compute_split_epsilon(1.0, 3, 60, 1, 1e-4)
    assert exact_split_delta(stated, 1.0, 60, 3) <= 1e-4
    twin = compute_split_epsilon(1.0, 1, 60, 1, 1e-4)  # the loss of one piece, as LDP-FL counts
    assert exact_split_delta(twin, 1.0, 60, 3) > 1e-4


def test_an_update_that_is_randomised_as_a_whole_cannot_be_split() -> None:
    codec = projunit.make(plan.ProjUnit(epsilon=4.0, clip=1.0))
    account = charge(Account(), codec.claims(200, 1), 5, uses=5)
    with pytest.raises(BudgetError, match="one by one can be split"):
        estimate_shuffling(account, 1000, 1e-5, in_pieces=True)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"codec": {"name": "rr_sampled"}}, "which coordinates a client reports is public"),
        ({"codec": {"name": "rqm", "coordinates": 5}}, "which coordinates"),
        ({"codec": {"name": "rr"}, "server": {"weights": "rows"}}, "its client's weight"),
        ({"codec": {"name": "rr"}, "filter": {"by": "votes"}}, "reads single updates"),
    ],
)
def test_pieces_that_carry_a_mark_of_their_client_are_refused(tables, why) -> None:
    entries = [Started(plan=tables, versions={})]
    with pytest.raises(BudgetError, match=why):
        describe_shuffled(entries, 1000, in_pieces=True)
