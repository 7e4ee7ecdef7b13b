"""Estimate whether there are enough clients for the noise of a private codec, from simulated
updates of the plan's first round.

For codecs other than `rr`, which `advise` handles: the error that clipping causes in the mean
update, the noise that the codec adds, and the number of clients that would make that noise small.
As with `advise`, updates are computed without protection, so use simulated or public rows.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import codecs, training
from tacit.assembly.server_side import ServerRows, build_first_model
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import prepare

_CLIENTS, _NUMBERS = 24, 20_000_000
CODECS = ("rr_sampled", "projunit", "rqm", "gaussian", "dp_sum", "onebit", "skellam")
"""Codecs other than `rr` whose noise level is known before a run."""


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Errors per parameter of the first mean update, and the number of clients that would make the
    noise small enough.
    """

    codec: str
    clients: int
    parameters: int
    signal: float  # rms of the mean update itself
    cut_error: float  # rms of what clipping takes away
    noise_error: float  # rms of what the codec adds
    target: float
    clients_needed: int

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def outlook(plan: Plan, target: float = 1.0, input_rows: object | None = None) -> Outlook:
    """Estimate what the plan's codec does to the first mean update; `target` is noise divided by
    signal, per parameter.
    """
    if plan.codec.name not in CODECS:
        raise PlanError(
            f"advise(codec.name={plan.codec.name!r}) requires codec.name = 'rr' or a codec with its"
            f" own noise ({', '.join(CODECS)}); this codec adds no noise"
        )
    draws = Draws.seeded(plan.seed)
    data = prepare(plan, draws, input_rows)
    learner = training.build(plan.model, plan.local, data.train, data.clients)
    made = codecs.build(plan.codec, codecs.Extent.of(plan, len(data.clients), learner.layers))
    cohort = min(plan.server.cohort_size or len(data.clients), len(data.clients))
    first, _ = build_first_model(
        plan, learner, draws, ServerRows(public=data.public, test=data.test)
    )
    worker, signal, kept, variance = (
        learner.worker(),
        np.zeros(learner.size),
        np.zeros(learner.size),
        0.0,
    )
    count = min(_CLIENTS, cohort, max(1, _NUMBERS // learner.size))
    for slot in (
        ClientSlot(client, client, ClientRandomness(draws, client)) for client in range(count)
    ):
        update = worker.train(first, slot, slot.own.train(1)).row.copy()
        signal += update / count
        kept += made.clip_update(update) / count
        variance += float(np.mean(made.variance(update))) / count
    # Noise on a sum does not depend on the number of clients; noise of each client averages out by the
    # root of their number.
    summed = made.known_noise is not None
    noise = (
        made.known_noise(learner.size) / cohort
        if made.known_noise
        else math.sqrt(variance / cohort)
    )
    ratio = noise / (target * _rms(signal)) if _rms(signal) else 0.0
    return Outlook(
        codec=made.name,
        clients=cohort,
        parameters=learner.size,
        signal=_rms(signal),
        cut_error=_rms(signal - kept),
        noise_error=noise,
        target=target,
        clients_needed=math.ceil(cohort * (ratio if summed else ratio**2)),
    )


def _rms(row: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(row**2)))
