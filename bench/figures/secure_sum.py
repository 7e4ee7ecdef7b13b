"""A round under a secure sum against the same round added up by the server: 1,000 clients, 20,000 parameters, `dp_sum`."""

from __future__ import annotations

from bench.compare import Result, interleave, seconds
from bench.worker import Worker

BAR = 1.2


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Return what helpers add to a round: to the sum alone, and to a round with local training."""
    results = []
    for work, words in (("nothing", "clients that do nothing"), ("train", "local training on 25 reviews")):
        for helpers in (1, 2):
            with (
                Worker("bench.sides.ours_secure_sum", work, helpers, 2) as ours,
                Worker("bench.sides.ours_secure_sum", work, 0, 2) as theirs,
            ):
                pair = interleave(ours.repeat, theirs.repeat, repeats)
            figure = f"round under a secure sum, {helpers} helper{'s' if helpers > 1 else ''}, {words}"
            bar = BAR if work == "train" and helpers == 1 else None
            note = "dp_sum; clients, server and helpers on one machine, each with all its cryptography"
            results += seconds(figure, "added up by the server", pair, repeats=repeats, wall_bar=bar, note=note)
    return results
