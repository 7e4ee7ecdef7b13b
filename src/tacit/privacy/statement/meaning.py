"""Explain an epsilon in plain words and grade the guarantee.

The levels are the tiers of Ponomareva et al. 2023 ("How to DP-fy ML"), which apply to all rows of
one person and the whole training: up to 1 strong, up to 10 reasonable, above that weak to none. An
epsilon per bit or per update has no level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.privacy.claim import Total
from tacit.privacy.statement.prose import format_bound, format_epsilon

Level = Literal["strong", "reasonable", "weak", "none"]
STRONG, REASONABLE = 1.0, 10.0
_SOURCE = "Ponomareva et al. 2023: up to 1 per run strong, up to 10 reasonable, above that weak"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The level of a run's guarantee, and its meaning in plain words."""

    level: Level
    sentence: str


def explain_totals(stated: Sequence[Total], clients: int, owners: str = "") -> Explanation | None:
    """Explain the total per run; None if nothing was sent.

    If owners were simulated, `owners` is the sentence about it; the guarantee then protects no real
    person and is not called strong. Neither is one whose delta allows one of `clients` clients to
    be exposed.
    """
    if not stated:
        return None
    whole = next((total for total in stated if total.unit == "run"), None)
    if whole is None or whole.epsilon is None or math.isinf(whole.epsilon):
        return Explanation(
            level="none",
            sentence=(
                "No protection: there is no epsilon per run, so nothing bounds what can be learned"
                " about a client."
            ),
        )
    figure = format_epsilon(whole.epsilon, "run", whole.delta)
    level = grade_total(whole, clients)
    if level == "strong" and owners:
        level = "reasonable"
    said = f"{figure[:1].upper()}{figure[1:]}: {_IN_WORDS[level]} ({_SOURCE})."
    return Explanation(level=level, sentence=f"{said} {explain_epsilon(whole, owners)}")


_IN_WORDS: dict[Level, str] = {
    "strong": "a strong guarantee",
    "reasonable": "a reasonable guarantee",
    "weak": "a weak guarantee",
    "none": "no guarantee",
}


def grade_total(whole: Total, clients: int) -> Level:
    """Grade the total per run among `clients` clients."""
    if whole.epsilon is None:
        return "none"
    if whole.epsilon > REASONABLE or whole.delta * max(1, clients) >= 1:
        return "weak"
    return "strong" if whole.epsilon <= STRONG else "reasonable"


def explain_epsilon(whole: Total, owners: str = "") -> str:
    """Explain an epsilon per run: the factor on probabilities, and the best success rate of a guess.

    A test between two equally likely cases errs with probability at least (1 - delta) /
    (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015, The composition theorem for differential
    privacy).
    """
    value = whole.epsilon or 0.0
    whose = "one client's rows are used" if owners else "your rows are used"
    if value > 50:
        return (
            f"In plain words: there is no meaningful limit on how much the outcome can depend on"
            f" whether {whose}."
        )
    factor, right = math.exp(value), 1 - (1 - whole.delta) / (1 + math.exp(value))
    except_for = f", except with probability {whole.delta:g}" if whole.delta else ""
    percent = math.ceil(1e4 * right) / 100
    return (
        f"In plain words: whether or not {whose}, the probability of any outcome changes by at most"
        f" a factor of {format_bound(factor)}{except_for}. Anyone guessing whether {whose} is right"
        f" at most {percent:g} % of the time; random guessing is right 50 % of the time."
    )
