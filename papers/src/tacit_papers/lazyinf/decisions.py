"""How often noise alone reverses a decision: predicted from the number of testers who agree, and
observed in runs.

A plan is run twice on the same rows: with exact votes, which show what testers found, and with
randomised votes. The probability of a reversal for each contributor follows from the first run; the
second shows the number of reversals.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from tacit import plan as plans
from tacit import simulation
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit_papers.published import Figures

Tree = dict[str, Any]


def compute_rejection_probability(helped: int, votes: int, epsilon: float) -> float:
    """Probability that a contributor whom `helped` of these testers found helpful is rejected at
    threshold zero.

    Reported votes in its favour are a sum of two binomials: votes for it that are kept, and votes
    against it that are flipped.
    """
    kept = 1 / (1 + math.exp(-epsilon))
    says_yes = np.convolve(
        binom.pmf(np.arange(helped + 1), helped, kept),
        binom.pmf(np.arange(votes - helped + 1), votes - helped, 1 - kept),
    )
    return float(says_yes[: (votes + 1) // 2].sum())


def turned(plan: Tree, epsilon: float, seed: int) -> Figures:
    """Share of contributors whose decision noise reverses: predicted, observed, and the difference
    in standard errors.
    """
    clear, noised = (
        _run_votes({**plan, "seed": seed, "filter": {**plan["filter"], **more}})
        for more in ({}, {"vote_epsilon": epsilon})
    )
    votes = len(clear.clients) - 1
    helped = [round((score + 1) / 2 * votes) for score in clear.scores]
    chances = np.array([_compute_reversal_probability(count, votes, epsilon) for count in helped])
    seen = np.isin(clear.clients, clear.rejected) != np.isin(noised.clients, noised.rejected)
    spread = math.sqrt(float((chances * (1 - chances)).sum())) or 1.0
    agreed = float(np.mean(np.maximum(helped, votes - np.array(helped)) / votes))
    return {
        "last": {
            "predicted": float(chances.mean()), "seen": float(seen.mean()), "agreement": agreed,
            "apart": float((seen.sum() - chances.sum()) / spread),
        }
    }  # fmt: skip


def _compute_reversal_probability(helped: int, votes: int, epsilon: float) -> float:
    chance = compute_rejection_probability(helped, votes, epsilon)
    return 1 - chance if 2 * helped < votes else chance


def _run_votes(tree: Tree) -> record.Voted:
    with tempfile.TemporaryDirectory() as root:
        entries = list(record.read(simulation.start(plans.parse(tree), Path(root), None) / RECORD))
    return record.select_entries(entries, record.Voted, record.RUN)[0]
