"""The privacy loss of LazyInf's messages by Tacit's ledger, and its votes compared with exact
influence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit.privacy import ledger
from tacit.privacy.claim import Claim
from tacit.protocol.round_claims import list_round_claims
from tacit.randomness import Draws
from tacit.reproduction import Scale
from tacit_papers.lazyinf.settings import SIZES, VOTE, plan, votes
from tacit_papers.lazyinf.valuation import (
    LabelledRows,
    ValuationProblem,
    Worth,
    fit,
    leave_one_out,
    rank_correlation,
    score_by_votes,
)
from tacit_papers.lazyinf.valuation import influence as influence_of
from tacit_papers.published import Figures, PaperCell, PaperTable, PaperTrial

Tree = dict[str, Any]

DELTA = 1e-5
_TRUTH = np.array([1.5, -1.0, 0.8, 0.5, -0.3, 0.2])
_PARAMETERS = 100
"""Parameters of the last layer: nine directions and a constant, ten classes."""


def equation_4(kept: float) -> Figures:
    """Epsilon by the paper's equation 4 for a vote that is kept with a given probability, and the
    true epsilon of the vote.
    """
    really = math.log(kept / (1 - kept))
    return {"last": {"stated": 2 * really, "really": really}}


def losses(plan: Tree, parameters: int) -> Figures:
    """The privacy loss of one round for a tester and for a contributor, and the number of a
    contributor's messages without a bound.
    """
    messages = list_round_claims(plans.parse({**plan, "seed": 1}), parameters)
    by_sender = [_epsilons(one) for one in messages]
    tester = by_sender[[one[0].unit for one in messages].index("vote")]
    contributor = [
        one for one, claims in zip(by_sender, messages, strict=True) if claims[0].unit != "vote"
    ]
    bounded = [one["run_at"] for one in contributor if "run_at" in one]
    return {
        "last": {
            **tester,
            "head": max(bounded),
            "unbounded": float(len(contributor) - len(bounded)),
        }
    }


def _epsilons(claims: tuple[Claim, ...]) -> dict[str, float]:
    """The losses of one round by unit, that of the run also at `DELTA`; empty if no bound exists."""
    found = dict[str, float]()
    for total in ledger.compute_totals(ledger.charge(ledger.Account(), claims, 1), DELTA):
        if total.epsilon is not None:
            found["run_at" if total.unit == "run" and total.delta else total.unit] = total.epsilon
    return found


def valued(clients: int, wrong: int, seed: int) -> Figures:
    """Compare votes with exact influence on synthetic clients, the first few of which have random
    labels.

    Each has 100 training rows and 50 rows for testing others, as in the paper; there are two
    classes.
    """
    random = np.random.default_rng(seed)
    train = tuple(
        _drawn(random, 100, turned=0.45 if client < wrong else 0.0) for client in range(clients)
    )
    case = ValuationProblem(train=train, tests=tuple(_drawn(random, 50) for _ in range(clients)))
    first, draws = fit(_drawn(random, 15), 1.0), Draws.seeded(seed)
    exact, seconds = _time_call(lambda: leave_one_out(case))
    _, first_order = _time_call(lambda: influence_of(case))
    by_votes, voted = _time_call(lambda: score_by_votes(case, first, draws))
    lowest = set(np.argsort(by_votes.values, kind="stable")[:wrong].tolist())
    return {
         "last": { "signs": float(np.mean((exact.values > 0) == (by_votes.values > 0))), "always":
        float(np.mean(exact.values > 0)), "ranks": rank_correlation(by_votes.values, exact.values),
        "found": len(lowest & set(range(wrong))) / wrong, "trainings": float(exact.trainings),
        "slower": seconds / voted, "influence_slower": first_order / voted, }
    }  # fmt: skip


def _time_call(way: Callable[[], Worth]) -> tuple[Worth, float]:
    """Values and the CPU time for them; a first call, which imports and compiles, is not counted."""
    way()
    began = time.process_time()
    return way(), time.process_time() - began


def _drawn(random: np.random.Generator, count: int, turned: float = 0.0) -> LabelledRows:
    inputs = np.hstack([random.normal(size=(count, len(_TRUTH) - 1)), np.ones((count, 1))])
    labels = (random.random(count) < 1 / (1 + np.exp(-inputs @ _TRUTH))).astype(np.int64)
    return LabelledRows(inputs, np.where(random.random(count) < turned, 1 - labels, labels))


def promise(scale: Scale) -> PaperTable:
    """The privacy loss of the setting that the paper calls eps = 1, by vote and by round."""
    tree = plan(scale, "mnist", filter=votes("client", vote_epsilon=VOTE))
    counted = PaperTrial(
        kind="lazyinf_losses", settings={"plan": tree, "parameters": _PARAMETERS}, seeds=()
    )
    formula = PaperTrial(
        kind="lazyinf_equation_4", settings={"kept": 1 / (1 + math.exp(-VOTE))}, seeds=()
    )
    cells = (
         PaperCell(row="tester", column="epsilon by Eq. 4", paper=1.0, trial=formula, metric="stated",
        digits=0), PaperCell(row="tester", column="epsilon per vote", paper=1.0, trial=counted,
        metric="vote", digits=0), PaperCell(row="tester", column="epsilon per round", paper=1.0,
        trial=counted, metric="run", digits=0), PaperCell(row="tester",
        column="epsilon per round at delta 1e-5", paper=1.0, trial=counted, metric="run_at",
        digits=0), PaperCell( row="contributor", column="epsilon per round at delta 1e-5", paper=1.0,
        trial=counted, metric="head", digits=0, ), PaperCell(row="contributor",
        column="messages without a bound", paper=0.0, trial=counted, metric="unbounded", digits=0),
    )  # fmt: skip
    note = (
        "By the ledger, per round in which every client votes on every other. Equation 4"
        " doubles the loss of a vote, as if two bits could differ where only one can; and every"
        " tester votes 99 times on the same rows. The contributor's bound covers the last layer"
        " that is voted on; the update that is averaged has none."
    )
    return PaperTable(
        name="promise",
        title="Stated and actual privacy loss of votes",
        cells=cells,
        note=note,
    )


def influence(scale: Scale) -> PaperTable:
    """Votes compared with exact influence."""
    trial = PaperTrial(
        kind="lazyinf_valued", settings={"clients": 20, "wrong": 6}, seeds=SIZES[scale].seeds
    )
    columns = {
        "signs that agree": "signs",
        "signs that agree if all are said to help": "always",
        "rank correlation": "ranks",
        "corrupted among the lowest": "found",
        "models that exact influence trains": "trainings",
        "time of exact influence, votes = 1": "slower",
        "time of first-order influence, votes = 1": "influence_slower",
    }
    cells = [
        PaperCell(row="votes", column=name, paper=None, trial=trial, metric=metric)
        for name, metric in columns.items()
    ]
    note = (
        "Synthetic rows, 20 clients with 100 training rows and 50 test rows each, six with 90 %"
        " random labels (two classes), a logistic model of six parameters; votes in the clear."
        " Exact influence trains a model without each client; first-order influence (Koh and Liang)"
        " inverts the Hessian, which is cheap for six parameters and needs all rows in one place."
        " CPU time."
    )
    return PaperTable(
        name="influence", title="Votes next to exact influence", cells=tuple(cells), note=note
    )
