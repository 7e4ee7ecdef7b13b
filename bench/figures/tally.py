"""The tally of 8-bit tokens against the sum of one bit per parameter: 100 clients, 506,451
parameters.
"""

from __future__ import annotations

from bench.compare import Result, interleave, seconds
from bench.shapes import PASSES
from bench.worker import BenchmarkWorker


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Return what a tally takes and how many one-bit sums that is."""
    with (
        BenchmarkWorker("bench.sides.sums", "tokens") as ours,
        BenchmarkWorker("bench.sides.sums", "bits") as theirs,
    ):
        first, second = interleave(ours.repeat, theirs.repeat, repeats)
    pair = first.scaled(1 / PASSES), second.scaled(1 / PASSES)
    note = "the tally sorts in up to four threads, the sum of bits has one"
    return seconds(
        "tally of 8-bit tokens", "one-bit sum", pair, repeats=repeats, wall_bar=3.0, note=note
    )
