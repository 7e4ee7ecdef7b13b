"""Checks and verdicts: what figures with seeds decide, and what too few do not."""

from __future__ import annotations

import pytest

from tacit_papers.checks import (
    Above,
    Alike,
    AsPredicted,
    AtLeast,
    AtMost,
    Best,
    Check,
    Printed,
    Ratio,
    Rises,
)
from tacit_papers.claims import PaperClaim, judge
from tacit_papers.estimate import Estimate, difference, ratio
from tacit_papers.published import At

A, B, C = (At("1", row, "c") for row in "abc")


def seeds(mean: float, deviation: float = 0.01, number: int = 5) -> Estimate:
    return Estimate(mean, deviation, number)


NEAR, FAR = seeds(0.80), seeds(0.90)


def test_welch_agrees_with_scipy() -> None:
    from scipy.stats import ttest_ind

    mine, other = [0.81, 0.80, 0.83, 0.79], [0.70, 0.75, 0.72]
    wanted = ttest_ind(mine, other, equal_var=False).confidence_interval(0.95)
    assert difference(Estimate.of(mine), Estimate.of(other)) == pytest.approx(
        (wanted.low, wanted.high)
    )


def test_the_ratio_of_counts_is_exact() -> None:
    assert ratio(Estimate(3.0, 0.0, 0), Estimate(4.0, 0.0, 0)) == (0.75, 0.75)


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
        (Ratio(A, B, 0.89), True),
        (Ratio(A, B, 0.5), False),
    ],
)
def test_figures_decide(check: Check, passed: bool | None) -> None:
    found = {A: NEAR, B: FAR, C: seeds(0.805)}
    assert check.decide(found).passed is passed


EVERY_KIND = [
    Above(A, B), Alike(A, B, 1.0), AtLeast(A, 0.0), AtMost(A, 1.0), Rises((A, B)), Best(A, (A, B)), Printed(((A, 0.8),)),
    Ratio(A, B, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("check", EVERY_KIND, ids=lambda check: type(check).__name__)
def test_missing_figures_and_two_seeds_decide_nothing(check: Check) -> None:
    assert check.decide({}).passed is None
    assert "not run" in check.decide({}).words
    few = {A: seeds(0.8, number=2), B: seeds(0.9, number=2)}
    assert check.decide(few).passed is None
    assert "2 seeds" in check.decide(few).words


def test_verdicts() -> None:
    found = {A: NEAR, B: FAR}
    rises, falls, missing = (Above(B, A),), (Above(A, B),), (Above(B, C),)
    assert judge(PaperClaim(claim="c", where="w", checks=rises), found).verdict == "holds"
    corrected = judge(
        PaperClaim(claim="c", where="w", checks=rises, correction="it divides"), found
    )
    assert (corrected.verdict, corrected.reason.startswith("it divides; ")) == (
        "holds with a correction",
        True,
    )
    failed = judge(
        PaperClaim(claim="c", where="w", checks=(*missing, *falls), refuted="it cannot"), found
    )
    assert (failed.verdict, failed.reason.startswith("it cannot; a, c .800")) == (
        "does not hold here",
        True,
    )
    assert (
        judge(PaperClaim(claim="c", where="w", checks=(*rises, *missing)), found).verdict
        == "cannot be tested here"
    )
    assert judge(PaperClaim(claim="c", where="w", untestable="no file"), found).reason == "no file"
