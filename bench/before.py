"""`python -m bench.before --against CHECKOUT [FIGURE …]`: our own speed next to that of another checkout.

Repeats of both checkouts are taken in turns in one run, so that a busy machine slows both alike. A
change that must not cost speed shows ratios (this checkout / the other) of at most 1.03.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import ROOT
from bench.clock import Taken
from bench.compare import Result, interleave, middle, seconds
from bench.show import show
from bench.worker import BenchmarkWorker

_BAR = 1.03
_WORKERS: dict[str, dict[str, tuple[str, tuple[object, ...]]]] = {
    "round": {
        "round, synthetic rows": ("bench.sides.ours_round", ("synthetic", "plain", 2)),
        "round, synthetic rows, one-bit codec": ("bench.sides.ours_round", ("synthetic", "rr", 2)),
    },
    "overhead": {
        "overhead, N = 1,000": ("bench.sides.ours_overhead", (1_000, 2)),
        "overhead, N = 10,000": ("bench.sides.ours_overhead", (10_000, 2)),
    },
    "modules": {
        "FedVocab round, BiLSTM": ("bench.sides.ours_modules", ("bilstm", 2, "dropout")),
        "FedVocab round, MiniLM": ("bench.sides.ours_modules", ("minilm", 2, "dropout")),
    },
}
"""Workers of each figure: their module and arguments, the same in both checkouts."""

_ROWS = {
    "round": "from bench.rows import prepared; prepared('synthetic')",
    "overhead": "from bench.rows import prepared; prepared('synthetic')",
    "modules": "from bench.worded import prepared; prepared('bilstm'); prepared('minilm')",
}
FIGURES = (*_WORKERS, "step")


def compare_figure(figure: str, other: Path, repeats: int) -> Iterator[Result]:
    """Measure one figure in this checkout and in another."""
    if figure == "step":
        yield from _compare_steps(other, repeats)
        return
    for root in (ROOT, other):
        subprocess.run([sys.executable, "-c", _ROWS[figure]], cwd=root, check=True)
    for name, (module, arguments) in _WORKERS[figure].items():
        with (
            BenchmarkWorker(module, *arguments) as ours,
            BenchmarkWorker(module, *arguments, root=other) as theirs,
        ):
            ours.repeat()
            theirs.repeat()
            pair = interleave(ours.repeat, theirs.repeat, repeats)
        yield from seconds(name, "before", pair, repeats=repeats, wall_bar=_BAR, cpu_bar=_BAR)


def _compare_steps(other: Path, repeats: int) -> Iterator[Result]:
    """Local steps of a client. A step has no worker of its own: each checkout runs it in turn."""
    turns = [(_measure_steps(ROOT), _measure_steps(other)) for _ in range(repeats)]
    for name in turns[0][0]:
        pair = (
            middle([ours[name] for ours, _ in turns]),
            middle([theirs[name] for _, theirs in turns]),
        )
        yield from seconds(name, "before", pair, repeats=repeats, wall_bar=_BAR, cpu_bar=_BAR)


def _measure_steps(root: Path) -> dict[str, Taken]:
    command = [sys.executable, "-m", "bench", "step", "--repeats", "3", "--json"]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, float]] = {}
    for one in json.loads(done.stdout):
        found.setdefault(one["figure"], {})[one["kind"]] = one["ours"]
    return {name: Taken(kinds["wall"], kinds["cpu"]) for name, kinds in found.items()}


def main() -> None:
    """Measure the named figures, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench.before", description=__doc__)
    parser.add_argument("figures", nargs="*", help=f"of {', '.join(FIGURES)}; all by default")
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    for figure in asked.figures or FIGURES:
        found = list(compare_figure(figure, asked.against.resolve(), max(1, asked.repeats)))
        show(f"before-{figure}", found, asked.json)


if __name__ == "__main__":
    main()
