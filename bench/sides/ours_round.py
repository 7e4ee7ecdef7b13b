"""Tacit: the round workload."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bench.clock import measure
from bench.lines import serve
from bench.rows import mlp, read
from bench.shapes import CLIENTS, ROWS, VERIFIED_ROUNDS
from bench.sides.ours import EngineRounds
from tacit import plan, server
from tacit.rows import Rows
from tacit.simulation.carrier import Simulation, simulation

CODECS: dict[str, plan.Codec] = {"plain": plan.Plain(), "rr": plan.RR(epsilon=10.0, clip=0.003)}


def verify(kind: str, rounds: EngineRounds, test: Rows, carrier: Simulation) -> dict[str, Any]:
    """Run the verified rounds from the first model; compare the first with the bare loop's if it is
    there.
    """
    rounds.reset()
    rounds.round(carrier)
    answer: dict[str, Any] = {}
    theirs = ROWS / kind / "torch_round_1.f32"
    if theirs.exists():
        ours, other = rounds.model - rounds.first, np.fromfile(theirs, np.float32) - rounds.first
        answer["difference"] = float(np.linalg.norm(ours - other) / np.linalg.norm(other))
    for _ in range(1, VERIFIED_ROUNDS):
        rounds.round(carrier)
    return {
        **answer,
        "loss": server.measure(rounds.learner.predict(rounds.model, test.inputs), test.labels)[
            "loss"
        ],
    }


def main(kind: str, codec_name: str, workers: str) -> None:
    """Serve the harness."""
    train, test = read(kind)
    rounds = EngineRounds(
        mlp(train), CODECS[codec_name], CLIENTS, int(workers), np.load(ROWS / kind / "initial.npy")
    )
    with simulation(rounds.site, (rounds.train,), rounds.workers) as carrier:
        rounds.round(carrier)  # loads the compiled kernels

        def answer(request: dict[str, Any]) -> dict[str, Any]:
            if request["do"] == "verify":
                return verify(kind, rounds, test, carrier)
            return measure(lambda: rounds.round(carrier)).as_dict()

        serve(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
