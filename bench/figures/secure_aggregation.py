"""A round under a secure sum against the same round added up by the server: 1,000 clients, 20,000
parameters, `dp_sum`.
"""

from __future__ import annotations

from bench.compare import Result, interleave, seconds
from bench.worker import BenchmarkWorker

BAR = 1.2


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Return what a helper adds to a round: to the sum alone, and to a round with local training.

    The simulator's plain sum takes updates as they are; between machines each would be a message.
    """
    results = []
    for work, words in (
        ("nothing", "clients that do nothing"),
        ("train", "local training on 25 reviews"),
    ):
        for way, peer in (
            ("server", "the simulator's plain sum"),
            ("messages", "a plain sum of messages"),
        ):
            with (
                BenchmarkWorker("bench.sides.ours_secure_aggregation", work, 1, 2) as ours,
                BenchmarkWorker("bench.sides.ours_secure_aggregation", work, way, 2) as theirs,
            ):
                pair = interleave(ours.repeat, theirs.repeat, repeats)
            bar = BAR if work == "train" and way == "server" else None
            note = (
                "dp_sum, one helper; clients, server and helper on one machine, each with all its"
                " cryptography"
            )
            results += seconds(
                f"round under a secure sum, {words}",
                peer,
                pair,
                repeats=repeats,
                wall_bar=bar,
                note=note,
            )
    return results
