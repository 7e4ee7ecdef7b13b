"""What a client's rows are worth to a small logistic model, found in four ways: three that the literature trusts, and votes.

A client's value is how much lower the loss on all testers' rows is because of it; above zero it helps. Leave-one-out trains
again without each client. Influence (Koh and Liang 2017) takes the first order of that, with the exact Hessian. The Shapley
value (truncated Monte Carlo: Ghorbani and Zou 2019) is a client's mean gain over random orders of arrival. Each returns how
often a whole model was trained for it, which is its cost; votes need no training but one step per client.
Rows have a last column of ones; labels are 0 and 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import local
from tacit.codec import vote
from tacit.draws import Draws
from tacit.engine.exchanges.question import helps
from tacit.errors import DataError
from tacit.local.head import Steps
from tacit.server import Ballots

Numbers = NDArray[np.float64]
_NEWTON = 50
_STILL = 1e-9
"""At most so many Newton steps, which end when no gradient is longer than this."""


class Rows(NamedTuple):
    """Rows and their labels."""

    inputs: Numbers
    labels: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A small case: what each client trains on and tests others on, and how strongly weights are pulled to zero.

    The pull (ridge / 2 times the squared length) is added to the summed loss, so that it is also the Hessian's damping.
    """

    train: tuple[Rows, ...]
    tests: tuple[Rows, ...]
    ridge: float = 1.0

    def __post_init__(self) -> None:
        labels = {int(label) for rows in (*self.train, *self.tests) for label in np.unique(rows.labels)}
        if len(self.train) != len(self.tests) or len(self.train) < 2 or not labels <= {0, 1} or self.ridge <= 0:
            raise DataError(
                "Case needs at least two clients, each with train and test rows, labels of 0 and 1, and a ridge above 0; "
                f"got {len(self.train)} and {len(self.tests)} clients, {len(labels)} labels, ridge {self.ridge}"
            )

    @property
    def clients(self) -> int:
        """Return how many clients there are."""
        return len(self.train)


class Worth(NamedTuple):
    """A value for each client, and how many whole models were trained for it."""

    values: Numbers
    trainings: int


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One way to value clients: its values, its cost, and how far its order agrees with that of leave-one-out."""

    name: str
    values: Numbers
    trainings: int
    seconds: float
    agreement: float


def fitted(rows: Rows, ridge: float) -> Numbers:
    """Return the weights with the least summed loss and pull, by Newton's method; zeros without rows."""
    weights = np.zeros(rows.inputs.shape[1])
    for _ in range(_NEWTON):
        slope = _slope(rows, weights, ridge)
        if np.linalg.norm(slope) <= _STILL * max(1, len(rows.labels)):
            break
        move, before, share = np.linalg.solve(_hessian(rows, weights, ridge), slope), _penalised(rows, weights, ridge), 1.0
        while share > _STILL and _penalised(rows, weights - share * move, ridge) > before:
            share /= 2  # a whole step can overshoot where the data are nearly separable
        weights = weights - share * move
    return weights


def loss(rows: Rows, weights: Numbers) -> float:
    """Return the mean loss on rows."""
    logits = rows.inputs @ weights
    return float(np.logaddexp(0, np.where(rows.labels == 1, -logits, logits)).mean())


def pooled(parts: Sequence[Rows], width: int) -> Rows:
    """Return the rows of several clients as one; `width` says how wide no rows are."""
    if not parts:
        return Rows(np.empty((0, width)), np.empty(0, np.int64))
    return Rows(np.concatenate([one.inputs for one in parts]), np.concatenate([one.labels for one in parts]))


def leave_one_out(case: Case) -> Worth:
    """Return how much the loss rises when a model is trained without each client."""
    whole = _loss_of(case, range(case.clients))
    without = [_loss_of(case, [other for other in range(case.clients) if other != client]) for client in range(case.clients)]
    return Worth(np.array(without) - whole, case.clients + 1)


def influence(case: Case) -> Worth:
    """Return the first order of the same, from one model: test gradient, inverse Hessian, and the client's summed gradient."""
    train = pooled(case.train, _width(case))
    weights, tests = fitted(train, case.ridge), pooled(case.tests, _width(case))
    towards = np.linalg.solve(_hessian(train, weights, case.ridge), _slope(tests, weights, 0.0) / len(tests.labels))
    # Without its rows the optimum moves along the inverse Hessian times their gradient.
    return Worth(np.array([towards @ _slope(rows, weights, 0.0) for rows in case.train]), 1)


def shapley(case: Case, random: np.random.Generator, orders: int = 50, tolerance: float = 1e-3) -> Worth:
    """Return each client's mean gain over random orders of arrival.

    A client that arrives when the loss is already within `tolerance` of that of all clients gains nothing, and neither do those
    after it. With a tolerance of 0 nothing is cut off, and the values sum to the gain of all clients over none.
    """
    gains, trainings = np.zeros(case.clients), 2
    nobody, everybody = _loss_of(case, []), _loss_of(case, range(case.clients))
    for _ in range(orders):
        order, before = random.permutation(case.clients), nobody
        for place, client in enumerate(order.tolist()):
            if tolerance and abs(before - everybody) < tolerance:
                break
            last = place == case.clients - 1
            after = everybody if last else _loss_of(case, order[: place + 1].tolist())
            trainings += not last
            gains[client] += before - after
            before = after
    return Worth(gains / orders, trainings)


def lazy(case: Case, first: Numbers, draws: Draws, lr: float = 0.1, epsilon: float | None = None) -> Worth:
    """Return the score of each client: one step from the model `first`, and the vote of every other client on it."""
    head = first[:, None].astype(np.float32)
    trains, tests = ([_as_head_rows(rows) for rows in side] for side in (case.train, case.tests))
    heads = np.stack([head + local.trained(*rows, head, Steps(epochs=1, lr=lr)) for rows in trains])
    total, everybody = Ballots.none(case.clients), np.arange(case.clients)
    for tester, rows in enumerate(tests):
        others = everybody[everybody != tester]
        before, after = (local.losses(*rows, local.beside(tried)) for tried in (head[None], heads[others]))
        helped = helps(before - after, "set_sign")
        asked = [int(other).to_bytes(8, "little") for other in others]
        sent = vote.encode(helped, asked, epsilon, draws.at("tester", tester).for_client())
        said, kept = vote.decode(sent, len(others))
        about, votes = np.zeros(case.clients), np.zeros(case.clients)
        about[others], votes[others] = 1, kept * said
        more = Ballots(votes=votes, squares=kept**2 * about, fourths=kept**4 * about, count=about)
        total = total.plus(more)
    return Worth(total.scores(), 0)


def agreement(ours: Numbers, theirs: Numbers) -> float:
    """Return Spearman's rank correlation; 0 where one of them does not tell clients apart."""
    from scipy.stats import spearmanr  # slow to load

    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return 0.0
    return float(spearmanr(ours, theirs).statistic)


def compared(case: Case, first: Numbers, draws: Draws, epsilon: float | None = None) -> tuple[Compared, ...]:
    """Return all four ways on one case, leave-one-out first; `epsilon` is that of a vote. Seconds are for ratios only."""
    ways: dict[str, Callable[[], Worth]] = {
        "leave-one-out": lambda: leave_one_out(case),
        "influence": lambda: influence(case),
        "Shapley, truncated": lambda: shapley(case, draws.at("orders").generator()),
        "votes": lambda: lazy(case, first, draws.at("votes"), epsilon=epsilon),
    }
    found = [_timed(name, way) for name, way in ways.items()]
    return tuple(replace(one, agreement=agreement(one.values, found[0].values)) for one in found)


def _timed(name: str, way: Callable[[], Worth]) -> Compared:
    begun = time.perf_counter()
    worth = way()
    return Compared(name=name, values=worth.values, trainings=worth.trainings, seconds=time.perf_counter() - begun, agreement=0.0)


def _as_head_rows(rows: Rows) -> tuple[local.Matrix, NDArray[np.int32]]:
    return rows.inputs.astype(np.float32), rows.labels.astype(np.int32)


def _width(case: Case) -> int:
    return int(case.train[0].inputs.shape[1])


def _loss_of(case: Case, clients: Sequence[int]) -> float:
    width = _width(case)
    return loss(pooled(case.tests, width), fitted(pooled([case.train[client] for client in clients], width), case.ridge))


def _odds(rows: Rows, weights: Numbers) -> Numbers:
    return np.asarray(np.exp(-np.logaddexp(0, -(rows.inputs @ weights))))


def _penalised(rows: Rows, weights: Numbers, ridge: float) -> float:
    summed = len(rows.labels) * loss(rows, weights) if len(rows.labels) else 0.0
    return summed + 0.5 * ridge * float(weights @ weights)


def _slope(rows: Rows, weights: Numbers, ridge: float) -> Numbers:
    return np.asarray(rows.inputs.T @ (_odds(rows, weights) - rows.labels) + ridge * weights)


def _hessian(rows: Rows, weights: Numbers, ridge: float) -> Numbers:
    odds = _odds(rows, weights)
    return np.asarray((rows.inputs * (odds * (1 - odds))[:, None]).T @ rows.inputs + ridge * np.eye(len(weights)))
