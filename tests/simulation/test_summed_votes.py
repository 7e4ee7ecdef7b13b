"""Votes under a secure sum: one noise for all votes of a tester, and the same decisions where it is small."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from tacit import plan, simulation
from tacit.codecs.votes import summed_votes
from tacit.privacy.statement.parts import state_planned_parts
from tacit.protocol.exchanges.summed_votes import SummedVotes
from tacit.protocol.round_claims import list_filter_claims
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.roles import encode
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_filter import TEXT, harmful, voted

DP_SUM = {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", rows=1200)


def job(reviews: Path, votes_epsilon: float, least: int = 10, **votes: object) -> plan.Plan:
    data = {"source": str(reviews), "clients": 20, "columns": TEXT, "local_test": 0.33}
    table = {"lr": 0.5, "batch_rows": 40, "votes_epsilon": votes_epsilon, **votes}
    return small_plan(
        reviews, data=data, filter=table, codec=DP_SUM, model={"name": "logistic"}, server__rounds=2,
        secure_aggregation={"helpers": 2, "min_clients": least},
    )  # fmt: skip


@pytest.mark.parametrize("aggregate", ["heads", "updates"])
def test_with_little_noise_clients_with_wrong_labels_are_rejected(
    reviews, tmp_path, monkeypatch, aggregate
) -> None:
    """At 20 for all 19 votes the noise on a sum is 2.0 × √2; honest sums are ±13 and more."""
    harmful(monkeypatch, {2, 5, 11})
    folder = simulation.start(job(reviews, 20.0, aggregate=aggregate), tmp_path)
    assert [set(entry.rejected) for entry in voted(folder)] == [{2, 5, 11}] * 2
    assert not record.select_entries(list(record.read(folder / RECORD)), record.Refused)
    released = record.select_entries(list(record.read(folder / RECORD)), record.Released)
    promise = next(one.promise for one in released if one.exchange == "votes")
    assert "one vector of 19 votes; each of 2 helpers adds Gaussian noise" in promise.mechanism
    assert promise.relation == "add or remove one client"
    errors = voted(folder)[0].errors
    noise = summed_votes.make(plan.Filter(votes_epsilon=20.0), 20, 2).sum_noise(20) / 19
    assert all(
        noise - 1e-4 <= error <= math.hypot(noise, 1 / math.sqrt(19)) + 1e-4 for error in errors
    )


def test_too_few_testers_lose_the_round(reviews, tmp_path, monkeypatch) -> None:
    """Without a sum nobody knows who harms, so nobody is averaged."""
    answer = SummedVotes.respond
    few = lambda self, client, asked: answer(self, client, asked) if client.slot.name < 9 else None  # noqa: E731
    monkeypatch.setattr(SummedVotes, "respond", few)
    folder = simulation.start(job(reviews, 20.0), tmp_path)
    refused = record.select_entries(list(record.read(folder / RECORD)), record.Refused)
    assert {entry.exchange for entry in refused} == {"votes: helper sums", "train: helper sums"}
    assert (
        "round lost: 9 clients responded, and secure aggregation requires at least 10"
        in refused[0].reason
    )
    assert not voted(folder)


@pytest.mark.parametrize(
    ("epsilon", "wrong"), [(1.0, (0.018, 0.059, 0.150)), (2.0, (0.0001, 0.003, 0.035))]
)
def test_wrong_decisions_at_99_votes(epsilon, wrong) -> None:
    noise = summed_votes.make(plan.Filter(votes_epsilon=epsilon), 100, 1).sum_noise(100)
    for agree, expected in zip((0.9, 0.8, 0.7), wrong, strict=True):
        lean = 2 * agree - 1
        found = norm.cdf(-99 * lean / math.sqrt(99 * (1 - lean**2) + noise**2))
        assert found == pytest.approx(expected, abs=max(5e-4, 0.03 * expected))


def test_a_tester_moves_the_sum_by_no_more_than_the_noise_covers() -> None:
    made = summed_votes.make(plan.Filter(votes_epsilon=2.0, testers=7), 20, 1)
    said = np.array([True, False, True, True, False, False, True])
    vector = summed_votes.build_vote_vector(said, np.array([1, 4, 5, 9, 12, 13, 19]), 20)
    unused = Draws(bytes(32))
    for row in (vector, 50 * vector, np.full(20, np.nan, np.float32)):
        steps = (
            made.integers.read(encode(made, row, unused, unused).payload, 20)
            .view("<i4")
            .astype(np.int64)
        )
        noise = made.claims(20, 20)[0].event.noise_multiplier
        assert math.sqrt(float(np.square(steps).sum())) * noise <= 2**20 * (1 + 1e-12)


def test_what_is_said_of_a_plan() -> None:
    claims = list_filter_claims(plan.Filter(votes_epsilon=2.0), 100, 2)
    said = state_planned_parts(claims, 1, 1e-5, "updates")
    assert (
        "Votes: epsilon 2 per tester and round, delta 1e-05, for all votes together, if you add or"
        " remove one client." in said
    )
