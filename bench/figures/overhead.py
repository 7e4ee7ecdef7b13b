"""What an engine costs by itself: milliseconds per client whose local step does nothing, with the 2
MB model.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.compare import Result, interleave, middle, seconds
from bench.figures.round import flower, pfl
from bench.rows import prepared
from bench.worker import BenchmarkWorker

_SIZES = (100, 1_000, 10_000)
_FLOWER_SIZES = (100, 1_000)
"""Flower keeps every reply until the round ends: 10,000 of 2 MB do not fit, and 1,000 take a minute
a round.
"""


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Overhead against each peer, and how it grows with the number of clients."""
    prepared("synthetic")
    results = []
    for clients in _SIZES:
        if "pfl" in peers:
            start = _starter(lambda clients: pfl("synthetic", 1, "empty", clients), clients)
            results += _against(
                "pfl, one process", start, clients, repeats, bar=0.7 if clients == 100 else None
            )
        if "flower" in peers and clients in _FLOWER_SIZES:
            start = _starter(
                lambda clients: flower("synthetic", "fused", "empty", clients), clients
            )
            few = repeats if clients == 100 else 1
            results += _against(
                "Flower, two actors", start, clients, few, bar=1 / 40 if clients == 100 else None
            )
    return results + _growth(repeats)


def _starter(
    start: Callable[[int], BenchmarkWorker], clients: int
) -> Callable[[], BenchmarkWorker]:
    return lambda: start(clients)


def _against(
    peer: str, start: Callable[[], BenchmarkWorker], clients: int, repeats: int, bar: float | None
) -> list[Result]:
    with start() as theirs, BenchmarkWorker("bench.sides.ours_overhead", clients, 2) as ours:
        pair = interleave(ours.repeat, theirs.repeat, repeats)
    each = (pair[0].scaled(1e3 / clients), pair[1].scaled(1e3 / clients))
    return seconds(
        f"overhead per client, N = {clients:,}",
        peer,
        each,
        repeats=repeats,
        wall_bar=bar,
        unit="ms",
    )


def _growth(repeats: int) -> list[Result]:
    """Our time per client at each size against that at 100; sizes are taken in turns."""
    workers = {
        clients: BenchmarkWorker("bench.sides.ours_overhead", clients, 2) for clients in _SIZES
    }
    try:
        turns = [
            {clients: worker.repeat() for clients, worker in workers.items()}
            for _ in range(repeats)
        ]
    finally:
        for worker in workers.values():
            worker.close()
    each = {
        clients: middle([turn[clients] for turn in turns]).scaled(1e3 / clients)
        for clients in _SIZES
    }
    results = []
    for clients in _SIZES[1:]:
        bar = 1.2 if clients == _SIZES[-1] else None
        figure = f"overhead per client, N = {clients:,}"
        results += seconds(
            figure,
            "ours at N = 100",
            (each[clients], each[100]),
            repeats=repeats,
            wall_bar=bar,
            unit="ms",
        )
    return results
