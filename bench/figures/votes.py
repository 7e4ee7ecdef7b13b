"""The voting of a round at 1,000 clients against the local training of the same round: everybody
votes on everybody, or on five.

Exact leave-one-out would repeat the round once per client, without that client; its cost is that
many measured rounds.
"""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from bench.compare import Result
from bench.rows import DRAWS
from tacit import plan, simulation
from tacit.protocol.observer import Silence
from tacit.runs import record

CLIENTS, ROWS, INPUTS, CLASSES = 1000, 150, 784, 10
MODELS: dict[str, dict[str, Any]] = {
    "one hidden layer": {"name": "mlp", "hidden": [200]},
    "linear": {"name": "logistic"},
}
TESTERS = {"everybody votes on everybody": None, "five votes each": 5}


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Seconds that votes add to a round, per model and number of testers, next to the
    round without them.
    """
    table, results = _table(), list[Result]()
    for name, model in MODELS.items():
        without = _seconds(table, _tree(model), repeats)
        for words, testers in TESTERS.items():
            votes = {"lr": 0.01, "vote_epsilon": 1.6, **({"testers": testers} if testers else {})}
            added = _seconds(table, {**_tree(model), "filter": votes}, repeats) - without
            for peer, theirs, bar in (
                ("local training", without, 3.0),
                ("leave-one-out", CLIENTS * without, None),
            ):
                results.append(
                    Result(
                        figure=f"votes at {CLIENTS:,} clients, {name}, {words}",
                        peer=peer,
                        ours=added,
                        theirs=theirs,
                        unit="s",
                        kind="cpu",
                        bar=bar,
                        repeats=repeats,
                        note="100 rows to train on and 50 to test on; heads, commitments and votes",
                    )
                )
    return results


def _table() -> pl.DataFrame:
    """Made-up pictures of ten classes, far more rows than any client tells apart by
    itself.
    """
    random = DRAWS.at("votes").generator()
    labels = random.integers(0, CLASSES, CLIENTS * ROWS + CLIENTS)
    middles = random.integers(0, 128, (CLASSES, INPUTS), np.uint8)
    pixels = middles[labels] + random.integers(0, 128, (len(labels), INPUTS), np.uint8)
    return pl.DataFrame({"label": labels, "image": pixels})


def _tree(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "votes",
        "data": {
            "source": plan.GIVEN,
            "clients": CLIENTS,
            "columns": {"image": "image", "label": "label"},
            "test": 1 / (ROWS + 1),
            "local_test": 1 / 3,
        },
        "model": model,
        "local": {"optimizer": "sgd", "lr": 0.1, "batch": 25, "epochs": 1},
        "codec": {"name": "plain"},
    }


class _Rounds(Silence):
    """The processor's time at the end of each round."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def entry(self, entry: record.Entry) -> None:
        """Note the time when a round ends."""
        if isinstance(entry, record.Round):
            self.ends.append(time.process_time())


def _seconds(table: pl.DataFrame, tree: dict[str, Any], repeats: int) -> float:
    """Median of some rounds, after one that compiles; the last one is measured on
    test rows and left out.
    """
    rounds, seen = repeats + 2, _Rounds()
    job = plan.parse({**tree, "server": {"rounds": rounds, "evaluate_every": rounds}})
    with tempfile.TemporaryDirectory() as root:
        simulation.start(job, Path(root), seen, table)
    return median(after - before for before, after in pairwise(seen.ends[:-1]))
