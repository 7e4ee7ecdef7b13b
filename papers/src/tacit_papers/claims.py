"""Claims of papers: sentences, the cells that decide each, and a verdict with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.reproduction import JudgedClaim, Verdict
from tacit_papers.checks import Check, CheckResult
from tacit_papers.estimate import MOST_SEEDS, Estimate
from tacit_papers.published import At


@dataclass(frozen=True, kw_only=True)
class PaperClaim:
    """One claim of a paper. It holds if all of its checks pass.

    The checks are those of the claim's own sentence: a sign, an order, a limit that it names. A
    limit that the sentence only implies is explained in `limit`. A printed size goes into `sizes`,
    which decide nothing.
    """

    claim: str  # the paper's sentence, in our words
    where: str  # where it stands in the paper
    checks: tuple[Check, ...] = ()
    sizes: tuple[Check, ...] = ()  # printed sizes
    limit: str = ""  # how a limit that the sentence does not name was read, if there is one
    correction: str = ""  # what had to be put right for the checks to pass, if anything
    refuted: str = ""  # why it fails, if it does
    untestable: str = ""  # what is missing, if there are no checks


def judge(claim: PaperClaim, found: Mapping[At, Estimate]) -> JudgedClaim:
    """Judge a claim by the estimates that exist.

    It fails if one check fails. Otherwise it is not tested if runs or seeds are missing, and
    inconclusive if more seeds must decide a check.
    """
    results = [check.decide(found) for check in claim.checks]
    size = [_compare_size(check.decide(found)) for check in claim.sizes]
    failed = [one for one in results if one.passed is False]
    missing = [one for one in results if one.missing]
    open_ones = [one for one in results if one.passed is None]
    if failed:
        reason = claim.refuted or failed[0].words
        return _judged(claim, "does not hold here", reason, failed, size)
    if missing or not results:
        reason = claim.untestable or missing[0].words
        return _judged(claim, "not tested", reason, missing, size)
    if open_ones:
        seeds, shown = _count_seeds(open_ones)
        reason = f"{_say_seeds(seeds)}; {shown.words}"
        return _judged(claim, "inconclusive", reason, open_ones, size, seeds)
    reason = claim.correction or results[0].words
    verdict: Verdict = "holds with a correction" if claim.correction else "holds"
    return _judged(claim, verdict, reason, results, size)


def _judged(
    claim: PaperClaim, verdict: Verdict, reason: str, results: Sequence[CheckResult], size: list[str], seeds: int | None = None
) -> JudgedClaim:  # fmt: skip
    return JudgedClaim(
        claim=claim.claim,
        where=claim.where,
        verdict=verdict,
        reason=reason,
        figures=(
            *(one.words for one in results),
            *([f"limit: {claim.limit}"] if claim.limit and results else []),
        ),
        size=tuple(size),
        seeds=seeds,
    )


def _count_seeds(results: Sequence[CheckResult]) -> tuple[int | None, CheckResult]:
    """The seeds that decide open checks, and the check that needs them.

    One check that fails decides a claim, so the nearest of those that lean that way counts. If none
    does, all must pass, and the last one counts.
    """
    fails = [one for one in results if not one.leans]
    chosen = min(fails, key=_distance) if fails else max(results, key=_distance)
    return chosen.seeds, chosen


def _distance(result: CheckResult) -> int:
    return MOST_SEEDS + 1 if result.seeds is None else result.seeds


def _say_seeds(seeds: int | None) -> str:
    if seeds is None:
        return f"more than {MOST_SEEDS:,} seeds would be needed"
    return f"about {seeds:,} seeds would decide"


def _compare_size(result: CheckResult) -> str:
    place = {True: "as printed", False: "not as printed", None: "open"}[result.passed]
    return f"{result.words} ({place})"
