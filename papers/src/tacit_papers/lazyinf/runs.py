"""LazyInf's runs that are more than one plan: the share of colluders at which honest clients are
outvoted.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from tacit import plan as plans
from tacit import simulation
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit_papers.published import Figures

Tree = dict[str, Any]


def collusion(plan: Tree, shares: list[float], seed: int) -> Figures:
    """The share of honest clients that are rejected at each share of colluders, and where it passes
    one half.

    Between two shares the crossing is interpolated linearly; outside of all shares the nearest one
    counts.
    """
    rejected = {share: _honest_rejected({**plan, "seed": seed}, share) for share in shares}
    found = {f"rejected_{share:g}": value for share, value in rejected.items()}
    return {"last": {**found, "flip": _crossing(list(rejected.items()))}}


def _honest_rejected(plan: Tree, share: float) -> float:
    corrupt = {**plan["corrupt"], "clients": share, "votes": "colluding"}
    with tempfile.TemporaryDirectory() as root:
        folder = simulation.start(plans.parse({**plan, "corrupt": corrupt}), Path(root), None)
        entries = list(record.read(folder / RECORD))
    bad = set(record.select_entries(entries, record.Corrupted)[0].clients)
    voted = record.select_entries(entries, record.Voted, record.RUN)[-1]
    honest = [client for client in voted.clients if client not in bad]
    return sum(client in set(voted.rejected) for client in honest) / max(1, len(honest))


def _crossing(points: list[tuple[float, float]]) -> float:
    for (left, low), (right, high) in pairwise(points):
        if low < 0.5 <= high:
            return left + (right - left) * (0.5 - low) / (high - low)
    return points[0][0] if points[0][1] >= 0.5 else points[-1][0]
