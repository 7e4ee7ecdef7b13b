"""Choose a clip, and estimate whether there are enough clients, from simulated updates of the plan
itself.

The updates of some clients in the first round are computed without protection (in simulation, or on
public data: a choice made from real clients' updates would itself be a release). There is a
trade-off: a small clip removes signal, a large clip increases the noise of randomised response. The
advice is the clip with the smallest mean squared error of the decoded update, the sum of both
errors.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import codecs, training
from tacit.assembly.server_side import ServerRows, build_first_model
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError
from tacit.plan import RR, Plan
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.simulation.prepared_rows import prepare

_CLIENTS = 24
_COORDINATES = 200_000


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One clip and its effect on the mean update of the plan's cohort, per coordinate."""

    clip: float
    clipped_share: float  # of the coordinates that changed
    cut_error: float  # rms of what clipping takes away
    noise_error: float  # rms of what randomised response adds
    error: float  # both together


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The best clip, the errors with the plan's own clip, and the number of clients or rounds that
    a target error requires.
    """

    clients: int
    parameters: int
    signal: float  # rms of the mean update itself
    best: Choice
    planned: Choice
    measured_error: (
        float  # of the planned codec, on the sampled clients scaled to the plan's cohort
    )
    target: float
    clients_needed: int
    rounds_needed: int
    grid: tuple[Choice, ...]

    def as_json(self) -> dict[str, Any]:
        """The advice as plain values."""
        return asdict(self)


def advise(plan: Plan, target: float = 1.0, input_rows: object | None = None) -> Advice:
    """Advise on a plan with one-bit randomised response; `target` is error divided by signal, per
    coordinate.
    """
    if not isinstance(plan.codec, RR):
        raise PlanError(
            f"advise(codec.name={plan.codec.name!r}) requires codec.name = 'rr', the only codec"
            " whose clip it chooses"
        )
    draws = Draws.seeded(plan.seed)
    data = prepare(plan, draws, input_rows)
    learner = training.build(plan.model, plan.local, data.train, data.clients)
    cohort = min(plan.server.cohort_size or len(data.clients), len(data.clients))
    first, _ = build_first_model(
        plan, learner, draws, ServerRows(public=data.public, test=data.test)
    )
    updates = _updates(learner, first, min(_CLIENTS, cohort), draws)
    keep = math.tanh(plan.codec.epsilon / 2)
    signal = _rms(updates.mean(axis=0))
    largest = float(np.abs(updates).max()) or plan.codec.clip
    grid = tuple(
        _choice(updates, clip, keep, cohort)
        for clip in np.geomspace(largest / 300, largest, 25).tolist()
    )
    best = min(grid, key=lambda choice: choice.error)
    planned = _choice(updates, plan.codec.clip, keep, cohort)
    noise_of_one = planned.noise_error * math.sqrt(cohort)
    return Advice(
        clients=cohort,
        parameters=learner.size,
        signal=signal,
        best=best,
        planned=planned,
        measured_error=_measure_error(plan.codec, updates, cohort, draws),
        target=target,
        clients_needed=math.ceil((noise_of_one / (target * signal)) ** 2) if signal else 0,
        rounds_needed=math.ceil((planned.noise_error / (target * signal)) ** 2) if signal else 0,
        grid=grid,
    )


def _updates(
    learner: training.Learner, model: Vector, clients: int, draws: Draws
) -> NDArray[np.float32]:
    """First-round updates of some clients; with very many coordinates, at a fixed sample of them."""
    worker = learner.worker()
    size = min(_COORDINATES, learner.size)
    chosen = np.sort(draws.at("advice").generator().choice(learner.size, size, replace=False))
    slots = [
        ClientSlot(client, client, ClientRandomness(draws, client)) for client in range(clients)
    ]
    return np.stack(
        [worker.train(model, slot, slot.own.train(1)).row[chosen].copy() for slot in slots]
    )


def _choice(updates: NDArray[np.float32], clip: float, keep: float, cohort: int) -> Choice:
    cut = np.clip(updates, -clip, clip)
    moved = updates != 0
    cut_error = _rms(updates.mean(axis=0) - cut.mean(axis=0))
    noise = math.sqrt(
        max(0.0, (clip / keep) ** 2 - float(np.mean(cut.astype(np.float64) ** 2))) / cohort
    )
    return Choice(
        clip=clip,
        clipped_share=float((np.abs(updates) > clip).sum() / max(1, moved.sum())),
        cut_error=cut_error,
        noise_error=noise,
        error=math.hypot(cut_error, noise),
    )


def _measure_error(settings: RR, updates: NDArray[np.float32], cohort: int, draws: Draws) -> float:
    """The rms error of actually encoding and decoding the sampled updates, scaled from their number
    to the cohort's.
    """
    made = codecs.build(replace(settings, decoder="corrected"))
    total, public = made.empty(updates.shape[1]), draws.publish("advice")
    for number, update in enumerate(updates):
        sent = made.encode(
            np.ascontiguousarray(update),
            {},
            own=draws.at("advice", number).for_client(),
            public=public,
        )
        total.add(sent.payload, 1, public)
    cut = np.stack([made.clip_update(update) for update in updates])
    mean = made.decode(total, public=public, own=draws.for_server())
    noise = _rms(mean - cut.mean(axis=0)) * math.sqrt(len(updates) / cohort)
    return math.hypot(noise, _rms(updates.mean(axis=0) - cut.mean(axis=0)))


def _rms(row: Vector) -> float:
    return float(np.sqrt(np.mean(row.astype(np.float64) ** 2)))
