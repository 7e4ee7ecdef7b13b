"""Checks and verdicts: what figures with seeds decide, and what too few do not."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.reproduction import JudgedClaim
from tacit_papers.checks import (
    Above,
    Alike,
    AsPredicted,
    AtLeast,
    AtMost,
    Best,
    Check,
    Positive,
    Printed,
    Rises,
)
from tacit_papers.claims import PaperClaim, judge
from tacit_papers.estimate import MOST_SEEDS, Estimate, compare, count_seeds_needed
from tacit_papers.published import At

A, B, C = (At("1", row, "c") for row in "abc")


def seeds(mean: float, deviation: float = 0.01, number: int = 5) -> Estimate:
    return Estimate(mean, deviation, number)


NEAR, FAR = seeds(0.80), seeds(0.90)


def test_welch_agrees_with_scipy() -> None:
    from scipy.stats import ttest_ind

    mine, other = [0.81, 0.80, 0.83, 0.79], [0.70, 0.75, 0.72]
    wanted = ttest_ind(mine, other, equal_var=False).confidence_interval(0.95)
    found = compare(Estimate.of(mine), Estimate.of(other))
    assert found is not None
    assert found.ends == pytest.approx((wanted.low, wanted.high))
    assert not found.is_paired


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (Above(B, A), True),
        (Above(A, B), False),
        (Above(B, A, by=0.05), True),
        (Above(B, A, by=0.15), False),
        (Above(B, A, by=0.1), None),
        (Above(C, A), None),  # C is .805, and that is not beyond the interval
        (Alike(A, C, 0.05), True),
        (Alike(A, B, 0.05), False),
        (Alike(A, C, 0.01), None),  # the interval is wider than what is allowed
        (AtLeast(A, 0.75), True),
        (AtLeast(A, 0.85), False),
        (AtLeast(A, 0.795), None),  # above it on average, but not beyond the interval
        (AtMost(A, 0.85), True),
        (AtMost(A, 0.75), False),
        (AtMost(A, 0.805), None),
        (Rises((A, C, B)), True),
        (Rises((A, B, C)), False),
        (Rises((A, C)), None),
        (Best(B, (A, B, C)), True),
        (Best(A, (A, B, C)), False),
        (Best(A, (A, C)), None),  # nothing is worse, so nothing is shown
        (Printed(((A, 0.81), (B, 0.91))), True),
        (Printed(((A, 0.81), (B, 0.99))), False),
        (AsPredicted((A, B)), False),  # .9 after five seeds is two standard errors
        (AsPredicted((A,)), True),
        (Positive(A), True),
    ],
)
def test_figures_decide(check: Check, passed: bool | None) -> None:
    found = {A: NEAR, B: FAR, C: seeds(0.805)}
    assert check.decide(found).passed is passed


EVERY_KIND = [
    Above(A, B), Alike(A, B, 1.0), AtLeast(A, 0.0), AtMost(A, 1.0), Rises((A, B)), Best(A, (A, B)), Printed(((A, 0.8),)),
    Positive(A),
]  # fmt: skip


@pytest.mark.parametrize("check", EVERY_KIND, ids=lambda check: type(check).__name__)
def test_missing_figures_and_two_seeds_decide_nothing(check: Check) -> None:
    assert check.decide({}).passed is None
    assert "not run" in check.decide({}).words
    few = {A: seeds(0.8, number=2), B: seeds(0.9, number=2)}
    assert check.decide(few).passed is None
    assert "2 seeds" in check.decide(few).words


def judged(found: dict[At, Estimate], *checks: Check, **words: object) -> JudgedClaim:
    return judge(PaperClaim(claim="c", where="w", checks=checks, **words), found)  # type: ignore[arg-type]


def test_verdicts() -> None:
    found = {A: NEAR, B: FAR}
    rises, falls, missing = Above(B, A), Above(A, B), Above(B, C)
    assert judged(found, rises).verdict == "holds"
    corrected = judged(found, rises, correction="it divides")
    assert (corrected.verdict, corrected.reason) == ("holds with a correction", "it divides")
    failed = judged(found, missing, falls, refuted="it cannot")
    assert (failed.verdict, failed.reason) == ("does not hold here", "it cannot")
    assert failed.figures[0].startswith("a, c .800 against b, c .900: difference -.100")
    untested = judged(found, rises, missing)
    assert (untested.verdict, untested.reason) == ("not tested", "not run: c, c (table 1)")
    assert judged(found, untestable="no file").reason == "no file"


def by_seed(*values: float) -> Estimate:
    return Estimate.of_seeds(dict(enumerate(values)))


NOISY = by_seed(0.50, 0.70, 0.90, 0.60)
AHEAD = by_seed(0.51, 0.71, 0.92, 0.62)  # of NOISY in every seed
SHUFFLED = by_seed(0.92, 0.51, 0.62, 0.71)  # the same values under other seeds


def test_estimates_with_common_seeds_are_compared_seed_by_seed() -> None:
    assert judged({A: AHEAD, B: NOISY}, Above(A, B)).verdict == "holds"
    twin = judged({A: SHUFFLED, B: NOISY}, Above(A, B))
    assert twin.verdict == "inconclusive", "the same means, without the pairing"
    unpaired = Estimate(AHEAD.mean, AHEAD.deviation, AHEAD.seeds)
    assert judged({A: unpaired, B: NOISY}, Above(A, B)).verdict == "inconclusive"


def test_the_direction_decides_and_the_size_stands_on_a_line_of_its_own() -> None:
    small = by_seed(0.010, 0.011, 0.012)
    claim = judged({A: small}, Positive(A), sizes=(AtLeast(A, 0.05),))
    assert claim.verdict == "holds"
    assert claim.size == ("a, c .011 ± .002; at least .050 is claimed (not as printed)",)
    twin = judged({A: by_seed(-0.010, 0.011, 0.012)}, Positive(A), sizes=(AtLeast(A, -0.5),))
    assert twin.verdict == "inconclusive", "the size is as printed, which decides nothing"
    assert twin.size[0].endswith("(as printed)")
    assert judged({A: by_seed(-0.010, -0.011, -0.012)}, Positive(A)).verdict == "does not hold here"


def test_a_reason_states_a_difference_as_people_read_it() -> None:
    tiny = judged({A: by_seed(-0.0001, 0.00002, 0.00001)}, Positive(A))
    assert "-.000 " not in tiny.reason
    assert "0.000" not in tiny.reason
    assert "least" not in tiny.reason, "a limit of zero needs no words"
    same = judged({A: by_seed(0.0, 0.0, 0.0)}, Positive(A))
    assert (same.verdict, same.reason) == ("does not hold here", "a, c 0 ± 0")


def test_an_inconclusive_claim_says_how_many_seeds_would_decide() -> None:
    close = judged({A: by_seed(0.01, 0.03, -0.01, 0.02)}, Positive(A))
    assert close.verdict == "inconclusive"
    assert close.seeds == count_seeds_needed(
        0.0125, Estimate.of([0.01, 0.03, -0.01, 0.02]).deviation or 0
    )
    assert close.reason.startswith(f"about {close.seeds} seeds would decide; ")
    nothing = judged({A: by_seed(-0.01, 0.01, 0.0)}, Positive(A))
    assert (nothing.verdict, nothing.seeds) == ("inconclusive", None)
    assert nothing.reason.startswith(f"more than {MOST_SEEDS:,} seeds would be needed")
    twin = judged({A: by_seed(0.01, 0.03)}, Positive(A))
    assert (twin.verdict, twin.seeds) == ("not tested", None), "two seeds say nothing about spread"


def test_one_check_that_leans_towards_failure_needs_fewest_seeds() -> None:
    near, far = by_seed(-0.03, 0.01, -0.02, -0.04), by_seed(-0.03, 0.02, -0.01, 0.01)
    for order in ((A, B), (B, A)):
        claim = judged({A: near, B: far}, *(Positive(at) for at in order))
        alone = judged({A: near}, Positive(A))
        assert (claim.seeds, claim.reason) == (alone.seeds, alone.reason)


@pytest.mark.parametrize(("effect", "deviation"), [(0.5, 1.0), (0.2, 1.0), (1.0, 0.5)])
def test_the_number_of_seeds_has_the_stated_power(effect: float, deviation: float) -> None:
    """False alarms: at 4,000 trials the share deviates by .02 with a probability below 2 in 1,000."""
    from scipy.stats import t

    seeds = count_seeds_needed(effect, deviation)
    assert seeds is not None
    drawn = np.random.default_rng(5).normal(effect, deviation, (4000, seeds))
    half = t.ppf(0.975, seeds - 1) * drawn.std(axis=1, ddof=1) / seeds**0.5
    power = float((drawn.mean(axis=1) > half).mean())
    assert power > 0.78
    if seeds > 3:
        fewer = drawn[:, : seeds * 2 // 3]
        half = t.ppf(0.975, fewer.shape[1] - 1) * fewer.std(axis=1, ddof=1) / fewer.shape[1] ** 0.5
        assert float((fewer.mean(axis=1) > half).mean()) < 0.78


def test_a_printed_number_inside_an_interval_wider_than_the_effect_counts_as_nothing() -> None:
    wide, narrow = by_seed(0.6, 0.8, 1.0), by_seed(0.799, 0.8, 0.801)
    numbers = ((A, 0.80), (B, 0.85))
    assert judged({A: narrow, B: narrow}, Printed(numbers)).verdict == "does not hold here"
    assert judged({A: wide, B: wide}, Printed(numbers)).verdict == "inconclusive"
    assert judged({A: narrow}, Printed(((A, 0.80),))).verdict == "holds"
    assert judged({A: narrow}, Printed(((A, 0.80),), effect=0.001)).verdict == "inconclusive"
