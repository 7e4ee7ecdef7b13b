"""Starting: the command's help against importing PyTorch, and a first run against a second."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench import ROOT, SOURCE
from bench.clock import Taken, measure
from bench.compare import Result, interleave, seconds
from bench.installs import python_of

_HELP = "import sys; sys.argv = ['tacit', '--help']; from tacit.cli import main; main()"
_TINY_RUN = ROOT / "examples" / "one_round.py"


def run(repeats: int, peers: set[str]) -> list[Result]:
    """How long starting takes."""
    results = []
    if "torch" in peers:
        torch = python_of("pfl")
        pair = interleave(
            lambda: _started(_tacit()), lambda: _started([torch, "-c", "import torch"]), repeats + 1
        )
        results += seconds(
            "tacit --help", "python -c 'import torch'", pair, repeats=repeats + 1, wall_bar=0.3
        )
    return results + _kernels(min(repeats, 3))


def _tacit() -> list[str]:
    command = Path(sys.executable).parent / "tacit"
    return [str(command), "--help"] if command.exists() else [sys.executable, "-c", _HELP]


def _started(command: list[str], environment: Mapping[str, str] | None = None) -> Taken:
    def start() -> None:
        subprocess.run(
            command,
            check=True,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(SOURCE), **(environment or {})},
        )

    return measure(start)


def _kernels(repeats: int) -> list[Result]:
    """Second start of a tiny run against its first: with an empty kernel cache
    everything is compiled.
    """
    cache = tempfile.mkdtemp(prefix="tacit-kernels-")
    command, environment = [sys.executable, str(_TINY_RUN)], {"NUMBA_CACHE_DIR": cache}

    def first() -> Taken:
        shutil.rmtree(cache)
        return _started(command, environment)

    try:
        # Taken in turns as well: the first start of each turn fills the cache the second one reads.
        turns = [
            (first(), _started(command, environment), _compiled(cache)) for _ in range(repeats)
        ]
        again = _compiled(cache)
        _started(command, environment)
        fresh = _compiled(cache) - again
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    pair = interleave(
        iter([second for _, second, _ in turns]).__next__,
        iter([first for first, _, _ in turns]).__next__,
        repeats,
    )
    note = f"{turns[0][2]} kernels compiled by the first start, {fresh} by the second"
    return seconds(
        "one round from scratch, second start",
        "first start, kernels compiled",
        pair,
        repeats=repeats,
        note=note,
    )


def _compiled(cache: str) -> int:
    return sum(1 for _ in Path(cache).rglob("*.nbc"))
