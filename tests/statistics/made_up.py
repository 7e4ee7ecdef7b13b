"""Random tables and queries, and what the queries give without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tacit.assembly.queries.learner import StatisticsLearner
from tacit.client import ClientRandomness, ClientSlot
from tacit.plan import Statistics
from tacit.randomness import Draws
from tacit.rows import Clients
from tacit.statistics import encode_cells

WORDS = ("fever", "cough", "pain", "rash", "sleep", "stress", "nausea", "fatigue")
TOWNS = ("Berlin", "Paris", "Rome", "Köln", "Lisbon", "Vienna", "Oslo", "São Paulo")


def make_table(seed: int, people: int, rows_each: int = 1) -> pl.DataFrame:
    """People with an age, an income, a town and a note; some numbers are missing."""
    random = np.random.default_rng(seed)
    count = people * rows_each
    income = np.exp(random.normal(9, random.uniform(0.2, 1), count))
    shares = random.dirichlet(np.ones(len(TOWNS)))
    return pl.DataFrame(
        {
            "person": np.repeat(np.arange(people), rows_each),
            "age": random.integers(0, random.integers(40, 100), count),
            "income": [None if random.random() < 0.02 else float(value) for value in income],
            "change": random.normal(random.uniform(-50, 50), random.uniform(1, 30), count),
            "town": random.choice(TOWNS, count, p=shares),
            "note": [" ".join(random.choice(WORDS, 3, replace=False)) for _ in range(count)],
        }
    )


def build_learner(
    table: pl.DataFrame, queries: dict[str, str], *, stddev: float = 0.0, **settings: Any
) -> StatisticsLearner:
    """The learner of some queries over a table in the order of its people."""
    asked = Statistics(queries=queries, **settings)
    rows = encode_cells(table, list(asked.parse().values()))
    sizes = table.group_by("person", maintain_order=True).len()["len"].to_numpy()
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    learner = StatisticsLearner(asked, rows, Clients(order=np.arange(table.height), starts=starts))
    learner.stddev = stddev
    return learner


def list_contributions(learner: StatisticsLearner, model: np.ndarray, round_no: int) -> np.ndarray:
    """A row of contributions for each person."""
    groups = list_groups(learner, model, round_no)
    return np.array([one.row for group in groups for one in group.updates])


def add_contributions(learner: StatisticsLearner, model: np.ndarray, round_no: int) -> np.ndarray:
    """The sum of all contributions."""
    total = np.zeros(learner.size)
    for group in list_groups(learner, model, round_no):
        np.add.at(total, group.lines.named, group.lines.values)
    return total


def list_groups(learner: StatisticsLearner, model: np.ndarray, round_no: int) -> list[Any]:
    """The contributions of all people, in groups."""
    root = Draws.seeded(1)
    slots = [
        ClientSlot(place, place, ClientRandomness(root, place))
        for place in range(len(learner.clients))
    ]
    draws = [slot.own.train(round_no) for slot in slots]
    return [*learner.worker().train_together(model, slots, draws, round_no)]


def answer(
    learner: StatisticsLearner, noise: np.random.Generator | None = None
) -> dict[str, dict[str, tuple[float | None, float | None, float | None]]]:
    """The figures of each answer by label: value, low and high, with Gaussian noise on every sum."""
    sums, model = [], np.zeros(learner.size, np.float32)
    learner.cohort = 1
    for round_no in range(1, learner.settings.rounds + 1):
        total = add_contributions(learner, model, round_no)
        if noise is not None:
            total = total + noise.normal(0, learner.stddev, learner.size)
        model = (model + total).astype(np.float32)
        sums.append(total)
    # Both sides read the first sums as the model carries them.
    sums[0] = learner.to_sums(sums[0].astype(np.float32))
    return {
        one.name: {figure.label: (figure.value, figure.low, figure.high) for figure in one.figures}
        for one in learner.layout.answer(sums, learner.stddev)
    }
