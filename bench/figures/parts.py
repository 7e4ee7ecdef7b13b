"""Where the time of one simulated client goes in the round workload: its local epoch taken apart,
on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bench.clock import Taken, measure
from bench.compare import Result, interleave
from bench.rows import DRAWS, mlp, prepared, read
from bench.shapes import BATCH, CLIENTS, ROWS, ROWS_PER_CLIENT
from bench.sides.ours import EngineRounds
from tacit import plan
from tacit.protocol.aggregation import Intake
from tacit.protocol.round import State as RoundState
from tacit.protocol.site import Client
from tacit.training.compiled import kernels
from tacit.training.compiled.learner import CompiledLearner
from tacit.training.compiled.optimizer import OptimiserState, take_step

_SOME = 20  # clients a repeat
_STEPS = ROWS_PER_CLIENT // BATCH


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Each part's share of the whole: a client's training and its message, until it is added
    up.
    """
    prepared("synthetic")
    learner = mlp(read("synthetic")[0])
    assert isinstance(learner, CompiledLearner)
    model = np.load(ROWS / "synthetic" / "initial.npy")
    parts = _parts(learner, model)
    whole = parts.pop("whole")
    results = []
    for name, part in parts.items():
        ours, theirs = interleave(part, whole, repeats)
        results.append(
            Result(
                figure=f"a client's {name}",
                peer="the whole client",
                ours=1e3 * ours.wall,
                theirs=1e3 * theirs.wall,
                unit="ms",
            )
        )
    return results


def _parts(learner: CompiledLearner, model: np.ndarray) -> dict[str, Callable[[], Taken]]:
    rounds, worker = EngineRounds(learner, plan.Plain(), CLIENTS, 1, model), learner.worker()
    numbers = np.zeros((5, learner.size), np.float32)
    numbers[0] = model
    state = OptimiserState(*numbers)
    outputs = sum(learner.layout.widths[1:])
    acts, slopes = np.zeros((2, BATCH * outputs), np.float32)
    buffers = kernels.Buffers(np.empty((0, 0), np.float32), acts, slopes, acts[:0])
    table, starts = learner.held.table, learner.held.starts
    total = rounds.train.empty()
    asked = rounds.train.build_request(
        RoundState(round_no=1, cohort=np.arange(CLIENTS), model=model, optimizer={})
    )

    def whole(client: int) -> None:
        slot = rounds.site.slot(client)
        update = worker.train(model, slot, DRAWS.at(client))
        message = rounds.train.build_message(Client(rounds.site, slot), model, update.row, asked)
        rounds.train.receive(Intake([client], 1, 1), total, message)

    def train(client: int) -> None:
        worker.train(model, rounds.site.slot(client), DRAWS.at(client))

    def forward(client: int) -> None:
        for rows in np.arange(starts[client], starts[client + 1]).reshape(_STEPS, BATCH):
            kernels.forward(state.net, learner.shape, table, rows, buffers)

    def backward(client: int) -> None:
        for rows in np.arange(starts[client], starts[client + 1]).reshape(_STEPS, BATCH):
            kernels.backward(state.net, state.grad, learner.shape, table, rows, buffers)

    def optimizer(client: int) -> None:
        for step in range(_STEPS):
            take_step(state, learner.rule, step + 1)

    named = {
        "whole": whole,
        "local epoch": train,
        "forward": forward,
        "backward": backward,
        "optimiser steps": optimizer,
    }
    for part in named.values():
        part(0)  # compiled before it is timed
    return {name: partial(_each, part) for name, part in named.items()}


def _each(part: Callable[[int], None]) -> Taken:
    def some() -> None:
        for client in range(min(_SOME, CLIENTS)):
            part(client)

    return measure(some).scaled(1 / min(_SOME, CLIENTS))
