"""Queries: whether intervals hold at the stated rate, whether outputs stay within the claim, and the
error next to OpenDP's.

`python -m bench.ask` asks 200 random queries about random tables and writes bench/out/ask.json.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from scipy.stats import binom

from bench import ROOT
from tacit.audit.epsilon import lower_bound
from tacit.codecs.distributions.gaussian_noise import STEPS, draw_gaussian
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.randomness import Draws
from tests.statistics.made_up import answer, build_learner, list_contributions, make_table

OUT = ROOT / "bench" / "out" / "ask.json"
QUERIES, CONFIDENCE, EPSILON, DELTA, DRAWS = 200, 0.95, 1.0, 1e-5, 1_000_000
_FORMS = (
    "count people",
    "missing in income",
    "count by town among Berlin, Paris, Oslo",
    "histogram of age from 0 to {high} in {bins} bins",
    "sum of change from -{high} to {high}",
    "mean of income from 0 to {large}",
    "mean of change from -{high} to {high}",
    "quantiles .1 .5 .9 of income from 0 to {large}",
    "correlation of age from 0 to {high} and change from -{high} to {high}",
    "frequent values of town",
    "frequent words of note",
    "distinct values of town above {bins}",
)


def measure_coverage(seed: int = 1) -> dict[str, Any]:
    """Figures within their intervals, over random tables, queries and noise levels."""
    random, hits, trials, kinds = np.random.default_rng(seed), 0, 0, dict[str, list[int]]()
    for number in range(QUERIES):
        form = _FORMS[random.integers(len(_FORMS))]
        sentence = form.format(
            high=int(random.integers(20, 120)),
            large=int(random.integers(5_000, 60_000)),
            bins=int(random.integers(2, 30)),
        )
        table = make_table(seed * 1000 + number, int(random.integers(200, 3000)))
        stddev = float(random.uniform(0.5, 6.0))
        exact, noisy = (
            answer(build_learner(table, {"a": sentence}, stddev=one, confidence=CONFIDENCE), draw)[
                "a"
            ]
            for one, draw in ((1e-3, None), (stddev, random))
        )
        for label, (_, low, high) in noisy.items():
            true = exact[label][0] if label in exact else None
            if true is not None and low is not None and high is not None:
                inside = low <= true <= high
                hits, trials = hits + inside, trials + 1
                kind = kinds.setdefault(sentence.split()[0], [0, 0])
                kind[0], kind[1] = kind[0] + int(inside), kind[1] + 1
    return {
        "queries": QUERIES,
        "figures": trials,
        "covered": hits / trials,
        "stated": CONFIDENCE,
        "p": float(binom.cdf(hits, trials, CONFIDENCE)),
        "by kind": {kind: f"{inside} of {count}" for kind, (inside, count) in kinds.items()},
    }


def measure_epsilon() -> dict[str, float]:
    """Lower bounds on epsilon at a claim of 1 per run, from noisy sums with and without a person, and
    of a twin that bounds no rows.
    """
    table = make_table(1, 3, 8)
    steps = math.floor(STEPS / calibrate_multiplier(EPSILON, DELTA))
    found = {}
    for name, sentence, factor in (
        ("mean", "mean of age from 0 to 50", 1.0),
        ("histogram", "histogram of age from 0 to 50 in 7 bins", 1.0),
        ("frequent words", "frequent words of note", 1.0),
        ("quantiles", "quantiles .5 of income from 0 to 9000", 1.0),
        ("twin: 8 rows, not bounded", "count rows", 8.0),
    ):
        learner = build_learner(table, {"a": sentence}, stddev=1.0, rows_per_person=8)
        sent = list_contributions(learner, np.zeros(learner.size, np.float32), 1)
        shift = round(float(np.linalg.norm(sent, axis=1).max()) * factor * steps)
        noise = [draw_gaussian(Draws.seeded(9).at(side), DRAWS) for side in range(2)]
        edges = np.linspace(-3 * STEPS, 3 * STEPS, 13)
        here, there = (
            np.digitize(one + add, edges) for one, add in zip(noise, (shift, 0), strict=True)
        )
        found[name] = lower_bound(here, there, delta=DELTA)
    return found


def compare_with_opendp() -> dict[str, Any]:
    """Standard deviation of the noise on a count at the same epsilon and delta, as a ratio."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=float)

    def epsilon(scale: float) -> float:
        made: Any = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
        return float(made.map(1.0).epsilon(DELTA))

    low, high = 0.1, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon(middle) <= EPSILON else (middle, high)
    ours = calibrate_multiplier(EPSILON, DELTA)
    return {
        "tacit gaussian": ours,
        "opendp gaussian": high,
        "ratio": ours / high,
        "opendp laplace": math.sqrt(2) / EPSILON,
        "ratio to laplace": ours / (math.sqrt(2) / EPSILON),
        "names seen from, tacit": 21 * ours * math.sqrt(2),
        "names seen from, stability threshold": 1 + math.log(1 / (2 * DELTA)) / EPSILON,
    }


def main() -> None:
    """Measure all of it."""
    found = {
        "coverage": measure_coverage(),
        "epsilon at least": measure_epsilon(),
        "opendp": compare_with_opendp(),
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
