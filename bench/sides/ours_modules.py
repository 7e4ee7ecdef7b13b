"""Tacit: the module workload, as a run does it, with what stays with clients on disk."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from bench.clock import measure
from bench.lines import serve
from bench.rows import DRAWS
from bench.shapes import ROWS
from bench.sides.ours import EngineRounds
from bench.worded import CLIENTS, learner
from tacit import plan
from tacit.simulation.carrier import Simulation, simulation


def verify(kind: str, rounds: EngineRounds, carrier: Simulation) -> dict[str, Any]:
    """Run the first round; compare its update with the bare loop's."""
    rounds.round(carrier)
    ours, theirs = (
        rounds.model - rounds.first,
        np.fromfile(ROWS / f"worded-{kind}" / "torch_update.f32", np.float32),
    )
    return {"difference": float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))}


def main(kind: str, workers: str, dropout: str) -> None:
    """Serve the harness."""
    with tempfile.TemporaryDirectory() as folder:
        made = learner(kind, Path(folder))
        if dropout != "dropout":
            for module in made.module.modules():
                if isinstance(module, nn.Dropout):
                    module.p = 0.0
        rounds = EngineRounds(
            made, plan.Plain(), CLIENTS[kind], int(workers), made.initial(DRAWS.at("initial"))
        )
        with simulation(rounds.site, (rounds.train,), rounds.workers) as carrier:

            def answer(request: dict[str, Any]) -> dict[str, Any]:
                if request["do"] == "verify":
                    return verify(kind, rounds, carrier)
                return measure(lambda: rounds.round(carrier)).as_dict()

            serve(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
