"""Rounds of the PyTorch path, with private word tables on disk, against the bare PyTorch loop that
does the same work.
"""

from __future__ import annotations

from bench.compare import Result, interleave, seconds
from bench.worded import prepared
from bench.worker import BenchmarkWorker

KINDS = {"bilstm": "FedVocab round, BiLSTM", "minilm": "FedVocab round, MiniLM"}
_WALL, _CPU = 0.6, 1.15


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Seconds of a round next to the loop's, on one core ("torch") and with PyTorch's own
    threads on two ("threads").
    """
    results: list[Result] = []
    for group, threads in (("torch", 1), ("threads", 2)):
        for kind, figure in KINDS.items():
            if group in peers:
                prepared(kind)
                results += _against(kind, figure, threads, repeats)
    return results


def _against(kind: str, figure: str, threads: int, repeats: int) -> list[Result]:
    peer = f"bare PyTorch loop, fused Adam, {'one core' if threads == 1 else 'two threads'}"
    with (
        BenchmarkWorker("bench.sides.ours_modules", kind, 2, "dropout") as ours,
        _loop(kind, threads, "dropout") as theirs,
    ):
        ours.repeat()
        theirs.repeat()
        pair = interleave(ours.repeat, theirs.repeat, repeats)
    note = _difference(kind) if threads == 1 else ""
    return seconds(figure, peer, pair, repeats=repeats, wall_bar=_WALL, cpu_bar=_CPU, note=note)


def _difference(kind: str) -> str:
    """How far our first update is from the loop's; without dropout, whose draws need not be
    the same.
    """
    with _loop(kind, 1, "no-dropout") as theirs:
        theirs.ask(do="verify")
    with BenchmarkWorker("bench.sides.ours_modules", kind, 2, "no-dropout") as ours:
        difference = ours.ask(do="verify")["difference"]
    return (
        f"update of round 1, without dropout, differs from the bare loop's by {difference:.1e} of"
        " its norm"
    )


def _loop(kind: str, threads: int, dropout: str) -> BenchmarkWorker:
    return BenchmarkWorker(
        "bench.sides.torch_modules",
        kind,
        threads,
        dropout,
        environment={"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)},
    )
