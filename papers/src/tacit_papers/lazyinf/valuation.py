"""The value of clients' rows to a small logistic model by four methods: three of the literature,
and votes.

A client's value is the decrease of the loss on all testers' rows that it causes; a positive value
helps. Leave-one-out trains again without each client. Influence (Koh and Liang 2017) is its
first-order approximation, with the exact Hessian. The Shapley value (truncated Monte Carlo:
Ghorbani and Zou 2019) is a client's mean gain over random orders of arrival. Each method returns
the number of models it trained, which is its cost; votes need one step per client and no training.
Rows have a last column of ones; labels are 0 and 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import training
from tacit.codecs.votes import single_vote
from tacit.errors import DataError
from tacit.protocol.exchanges.contributor_heads import decide_votes
from tacit.randomness import Draws
from tacit.server import Ballots
from tacit.training.head import Steps

Numbers = NDArray[np.float64]
_NEWTON = 50
_STILL = 1e-9
"""Largest number of Newton steps, and the norm of the gradient at which they end."""


class LabelledRows(NamedTuple):
    """Rows and their labels."""

    inputs: Numbers
    labels: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ValuationProblem:
    """A small problem: each client's training rows, its rows for testing others, and the ridge
    penalty.

    The penalty (ridge / 2 times the squared L2 norm) is added to the summed loss, so it also damps
    the Hessian.
    """

    train: tuple[LabelledRows, ...]
    tests: tuple[LabelledRows, ...]
    ridge: float = 1.0

    def __post_init__(self) -> None:
        labels = {
            int(label) for rows in (*self.train, *self.tests) for label in np.unique(rows.labels)
        }
        if (
            len(self.train) != len(self.tests)
            or len(self.train) < 2
            or not labels <= {0, 1}
            or self.ridge <= 0
        ):
            raise DataError(
                "a valuation problem must have at least two clients, each with train and test"
                f" rows, labels 0 and 1, and a positive ridge; got {len(self.train)} and"
                f" {len(self.tests)} clients, {len(labels)} labels, ridge {self.ridge}"
            )

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)


class Worth(NamedTuple):
    """A value for each client, and the number of models trained for it."""

    values: Numbers
    trainings: int


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One valuation method: its values, its cost, and its rank correlation with leave-one-out."""

    name: str
    values: Numbers
    trainings: int
    seconds: float
    rank_correlation: float


def fit(rows: LabelledRows, ridge: float) -> Numbers:
    """Minimise summed loss and penalty by Newton's method; zeros without rows."""
    weights = np.zeros(rows.inputs.shape[1])
    for _ in range(_NEWTON):
        slope = _slope(rows, weights, ridge)
        if np.linalg.norm(slope) <= _STILL * max(1, len(rows.labels)):
            break
        move, before, share = (
            np.linalg.solve(_hessian(rows, weights, ridge), slope),
            _compute_objective(rows, weights, ridge),
            1.0,
        )
        while share > _STILL and _compute_objective(rows, weights - share * move, ridge) > before:
            share /= 2  # a whole step can overshoot where the data are nearly separable
        weights = weights - share * move
    return weights


def loss(rows: LabelledRows, weights: Numbers) -> float:
    """The mean loss on rows."""
    logits = rows.inputs @ weights
    return float(np.logaddexp(0, np.where(rows.labels == 1, -logits, logits)).mean())


def pool_rows(parts: Sequence[LabelledRows], width: int) -> LabelledRows:
    """Concatenate the rows of several clients; `width` is used if there are none."""
    if not parts:
        return LabelledRows(np.empty((0, width)), np.empty(0, np.int64))
    return LabelledRows(
        np.concatenate([one.inputs for one in parts]), np.concatenate([one.labels for one in parts])
    )


def leave_one_out(case: ValuationProblem) -> Worth:
    """The increase of the loss when a model is trained without each client."""
    whole = _compute_loss(case, range(case.clients))
    without = [
        _compute_loss(case, [other for other in range(case.clients) if other != client])
        for client in range(case.clients)
    ]
    return Worth(np.array(without) - whole, case.clients + 1)


def influence(case: ValuationProblem) -> Worth:
    """First-order approximation of leave-one-out from one model: test gradient, inverse Hessian,
    the client's summed gradient.
    """
    train = pool_rows(case.train, _width(case))
    weights, tests = fit(train, case.ridge), pool_rows(case.tests, _width(case))
    towards = np.linalg.solve(
        _hessian(train, weights, case.ridge), _slope(tests, weights, 0.0) / len(tests.labels)
    )
    # Without its rows the optimum moves along the inverse Hessian times their gradient.
    return Worth(np.array([towards @ _slope(rows, weights, 0.0) for rows in case.train]), 1)


def shapley(
    case: ValuationProblem, random: np.random.Generator, orders: int = 50, tolerance: float = 1e-3
) -> Worth:
    """Each client's mean gain over random orders of arrival.

    Once the loss is within `tolerance` of that of all clients, clients that arrive later gain
    nothing. With a tolerance of 0 nothing is truncated, and the values sum to the gain of all
    clients over none.
    """
    gains, trainings = np.zeros(case.clients), 2
    nobody, everybody = _compute_loss(case, []), _compute_loss(case, range(case.clients))
    for _ in range(orders):
        order, before = random.permutation(case.clients), nobody
        for place, client in enumerate(order.tolist()):
            if tolerance and abs(before - everybody) < tolerance:
                break
            last = place == case.clients - 1
            after = everybody if last else _compute_loss(case, order[: place + 1].tolist())
            trainings += not last
            gains[client] += before - after
            before = after
    return Worth(gains / orders, trainings)


def score_by_votes(
    case: ValuationProblem,
    first: Numbers,
    draws: Draws,
    lr: float = 0.1,
    epsilon: float | None = None,
) -> Worth:
    """Score each client by one step from the model `first` and every other client's vote on it."""
    head = first[:, None].astype(np.float32)
    trains, tests = ([_to_head_rows(rows) for rows in side] for side in (case.train, case.tests))
    heads = np.stack(
        [head + training.train_head(*rows, head, Steps(epochs=1, lr=lr)) for rows in trains]
    )
    total, everybody = Ballots.none(case.clients), np.arange(case.clients)
    for tester, rows in enumerate(tests):
        others = everybody[everybody != tester]
        before, after = (
            training.compute_losses(*rows, training.stack_heads(tried))
            for tried in (head[None], heads[others])
        )
        helped = decide_votes(before - after, "set_sign")
        asked = [int(other).to_bytes(8, "little") for other in others]
        sent = single_vote.encode_votes(
            helped, asked, epsilon, draws.at("tester", tester).for_client()
        )
        said, kept = single_vote.decode_votes(sent, len(others))
        about, votes = np.zeros(case.clients), np.zeros(case.clients)
        about[others], votes[others] = 1, kept * said
        more = Ballots(votes=votes, squares=kept**2 * about, fourths=kept**4 * about, count=about)
        total = total.plus(more)
    return Worth(total.scores(), 0)


def rank_correlation(ours: Numbers, theirs: Numbers) -> float:
    """Spearman's rank correlation; 0 if one side is constant."""
    from scipy.stats import spearmanr  # slow to load

    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return 0.0
    return float(spearmanr(ours, theirs).statistic)


def compare_values(
    case: ValuationProblem, first: Numbers, draws: Draws, epsilon: float | None = None
) -> tuple[Compared, ...]:
    """All four methods on one problem, leave-one-out first; `epsilon` is per vote. Seconds are for
    ratios only.
    """
    ways: dict[str, Callable[[], Worth]] = {
        "leave-one-out": lambda: leave_one_out(case),
        "influence": lambda: influence(case),
        "Shapley, truncated": lambda: shapley(case, draws.at("orders").generator()),
        "votes": lambda: score_by_votes(case, first, draws.at("votes"), epsilon=epsilon),
    }
    found = [_time_call(name, way) for name, way in ways.items()]
    return tuple(
        replace(one, rank_correlation=rank_correlation(one.values, found[0].values))
        for one in found
    )


def _time_call(name: str, way: Callable[[], Worth]) -> Compared:
    begun = time.perf_counter()
    worth = way()
    return Compared(
        name=name,
        values=worth.values,
        trainings=worth.trainings,
        seconds=time.perf_counter() - begun,
        rank_correlation=0.0,
    )


def _to_head_rows(rows: LabelledRows) -> tuple[training.Matrix, NDArray[np.int32]]:
    return rows.inputs.astype(np.float32), rows.labels.astype(np.int32)


def _width(case: ValuationProblem) -> int:
    return int(case.train[0].inputs.shape[1])


def _compute_loss(case: ValuationProblem, clients: Sequence[int]) -> float:
    width = _width(case)
    return loss(
        pool_rows(case.tests, width),
        fit(pool_rows([case.train[client] for client in clients], width), case.ridge),
    )


def _odds(rows: LabelledRows, weights: Numbers) -> Numbers:
    return np.asarray(np.exp(-np.logaddexp(0, -(rows.inputs @ weights))))


def _compute_objective(rows: LabelledRows, weights: Numbers, ridge: float) -> float:
    summed = len(rows.labels) * loss(rows, weights) if len(rows.labels) else 0.0
    return summed + 0.5 * ridge * float(weights @ weights)


def _slope(rows: LabelledRows, weights: Numbers, ridge: float) -> Numbers:
    return np.asarray(rows.inputs.T @ (_odds(rows, weights) - rows.labels) + ridge * weights)


def _hessian(rows: LabelledRows, weights: Numbers, ridge: float) -> Numbers:
    odds = _odds(rows, weights)
    return np.asarray(
        (rows.inputs * (odds * (1 - odds))[:, None]).T @ rows.inputs + ridge * np.eye(len(weights))
    )
