"""Kernels, one thread each: hashing, randomise-and-pack, unpack-and-sum."""

from __future__ import annotations

from collections.abc import Callable

from bench.compare import Result, interleave, speeds
from bench.installs import python_of
from bench.rows import imdb_table
from bench.shapes import CLIENTS, PARAMETERS, PASSES
from bench.worker import BenchmarkWorker


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Every kernel's result."""
    results: list[Result] = []
    if "sklearn" in peers:
        table, _ = imdb_table()
        megabytes = float(table.train["text"].str.len_bytes().sum()) / 1e6
        results += _against(
            "hashing",
            "scikit-learn HashingVectorizer",
            lambda: _plain("hashing"),
            (megabytes, megabytes),
            "MB/s",
            repeats,
            20,
        )
    once = PARAMETERS / 1e6
    ours = PASSES * once
    if "opendp" in peers:
        start = lambda: BenchmarkWorker("bench.sides.opendp_bits", python=python_of("opendp"))  # noqa: E731
        results += _against(
            "randomising",
            "OpenDP bit-vector randomised response",
            start,
            (ours, once),
            "Mparam/s",
            repeats,
            100,
        )
    if "numpy" in peers:
        results += _against(
            "randomising",
            "numpy",
            lambda: _plain("randomising"),
            (ours, ours),
            "Mparam/s",
            repeats,
            5,
        )
        bits = CLIENTS * PARAMETERS / 1e9
        results += _against(
            "adding",
            "numpy, client by client",
            lambda: _plain("adding"),
            (PASSES * bits, bits),
            "Gbit/s",
            repeats,
            3,
        )
        at_once = lambda: _plain("adding-at-once")  # noqa: E731
        results += _against(
            "adding", "numpy, cohort at once", at_once, (PASSES * bits, bits), "Gbit/s", repeats, 3
        )
    return results


_NAMES = {
    "hashing": "hash text",
    "randomising": "quantise, randomise, pack",
    "adding": "unpack and sum",
}


def _plain(which: str) -> BenchmarkWorker:
    return BenchmarkWorker("bench.sides.plain_kernels", which)


def _against(
    which: str,
    peer: str,
    start: Callable[[], BenchmarkWorker],
    amounts: tuple[float, float],
    unit: str,
    repeats: int,
    bar: float,
) -> list[Result]:
    with start() as theirs, BenchmarkWorker("bench.sides.ours_kernels", which) as ours:
        pair = interleave(ours.repeat, theirs.repeat, repeats)
    return speeds(_NAMES[which], peer, pair, amounts, unit=unit, repeats=repeats, bar=bar)
