"""Tacit: rounds of any size, one process per size so that its peak memory is its own."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bench.clock import measure, peak_bytes
from bench.lines import serve
from bench.rows import CLASSES, DRAWS, even_clients, imdb
from bench.shapes import CLIENTS
from bench.sides.ours import EngineRounds
from tacit import plan, training
from tacit.rows import Rows, Sparse
from tacit.simulation.carrier import simulation

_PER_ROW = 25
"""Non-zero entries of a made-up row."""


def made_up(rows: int, width: int) -> Rows:
    """Rows with a fixed number of entries each, in memory proportional to the rows."""
    random = DRAWS.at("growth", rows, width).generator()
    columns = random.integers(0, width, rows * _PER_ROW, np.int32)
    labels = random.integers(0, 2, rows, np.int32)
    starts = np.arange(rows + 1, dtype=np.int64) * _PER_ROW
    return Rows(
        inputs=Sparse(starts=starts, columns=columns, values=None, width=width),
        labels=labels,
        classes=CLASSES,
    )


def bytes_of(rows: Rows) -> int:
    """Return what the rows themselves take."""
    assert isinstance(rows.inputs, Sparse)
    return rows.inputs.starts.nbytes + rows.inputs.columns.nbytes + rows.labels.nbytes


def main(model: str, clients: str, rows_each: str, width: str) -> None:
    """Serve the harness: `model` is logistic or mlp on made-up rows, or imdb-logistic or
    imdb-embedding.
    """
    count = int(clients)
    if model.startswith("imdb-"):
        rows, name = (
            imdb(buckets=int(width), sequence=model.endswith("embedding"))[0],
            model.removeprefix("imdb-"),
        )
        count = CLIENTS
    else:
        rows, name = made_up(count * int(rows_each), int(width)), model
    kinds: dict[str, plan.Model] = {
        "logistic": plan.Logistic(),
        "mlp": plan.MLP(hidden=(100,)),
        "embedding": plan.Embedding(),
    }
    learner = training.build(
        kinds[name],
        plan.Local(optimizer="adam", lr=1e-3, epochs=1, batch=25),
        rows,
        even_clients(len(rows), count),
    )
    rounds = EngineRounds(learner, plan.Plain(), count, 2, learner.initial(DRAWS.at("initial")))
    with simulation(rounds.site, (rounds.train,), rounds.workers) as carrier:

        def answer(request: dict[str, Any]) -> dict[str, Any]:
            taken = measure(lambda: rounds.round(carrier))
            data = bytes_of(rows) if isinstance(rows.inputs, Sparse) else 0
            return {**taken.as_dict(), "peak": peak_bytes(), "data": data, "size": learner.size}

        serve(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
