"""Claims of papers: sentences, the cells that decide each, and a verdict with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.reproduction import JudgedClaim, Verdict
from tacit_papers.checks import Check, CheckResult
from tacit_papers.estimate import Estimate
from tacit_papers.published import At


@dataclass(frozen=True, kw_only=True)
class PaperClaim:
    """One claim of a paper. It holds if all of its checks pass."""

    claim: str  # the paper's sentence, in our words
    where: str  # where it stands in the paper
    checks: tuple[Check, ...] = ()
    correction: str = ""  # what had to be put right for the checks to pass, if anything
    refuted: str = ""  # why it fails, if it does
    untestable: str = ""  # why there are no checks


def judge(claim: PaperClaim, found: Mapping[At, Estimate]) -> JudgedClaim:
    """Judge a claim by the estimates that exist; one that is missing or has too few seeds decides
    nothing.
    """
    verdict, reason = _verdict(claim, [check.decide(found) for check in claim.checks])
    return JudgedClaim(claim=claim.claim, where=claim.where, verdict=verdict, reason=reason)


def _verdict(claim: PaperClaim, decisions: list[CheckResult]) -> tuple[Verdict, str]:
    failed = [one.words for one in decisions if one.passed is False]
    if failed:
        return "does not hold here", _sentence(claim.refuted, *failed)
    undecided = [one.words for one in decisions if one.passed is None]
    if undecided or not decisions:
        return "cannot be tested here", _sentence(claim.untestable, *undecided[:1])
    words = [one.words for one in decisions]
    return ("holds with a correction" if claim.correction else "holds"), _sentence(
        claim.correction, *words
    )


def _sentence(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
