"""A finished run of the hashcomb codec, continued from its last model: what its clients send in
further rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tacit import codecs, plan, server, training
from tacit.assembly.negotiated import apply_agreed, read_negotiated
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import RunError
from tacit.negotiation.exchange import load_agreed_secret
from tacit.plan import GIVEN, HashComb
from tacit.randomness import Draws
from tacit.rows import Clients, Vector
from tacit.runs import run_folder
from tacit.runs.allowed_code import require_permission
from tacit.runs.record import RUN
from tacit.simulation.prepared_rows import SimulatedData, prepare

Sent = NDArray[np.float32]
"""What clients encode, before it is quantised: one row per client, weights or updates as the run
sends them.
"""


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A finished run: its plan and codec settings, its rows, and its last model."""

    job: plan.Plan
    settings: HashComb
    data: SimulatedData
    learner: training.Learner
    model: Vector
    draws: Draws

    @property
    def secret(self) -> bytes:
        """The clients' secret in this audit; the secret of the run is not used."""
        return self.draws.sealed("secret").key

    def clients(self) -> int:
        """Number of clients of the run."""
        return len(self.data.clients)

    def build_client_codec(
        self, round_no: int, settings: HashComb | None = None, secret: bytes | None = None
    ) -> codecs.Codec:
        """Codec of the clients in a round, with the audit's own secret unless another is given."""
        made = codecs.build(settings or self.settings).keyed
        assert made is not None
        return made(self.secret if secret is None else secret, round_no)

    def sent(self, model: Vector, update: Vector) -> Vector:
        """Values that a client encodes after an update."""
        return update.copy() if self.settings.of == "updates" else model + update

    def next_model(self, model: Vector, mean: Vector) -> Vector:
        """Model after the server's step with the decoded mean."""
        update = mean if self.settings.of == "updates" else mean - model
        optimizer = server.build_optimizer(self.job.server)
        return optimizer.update(model, update, optimizer.init(model))[0]

    def figures(self, model: Vector) -> dict[str, float]:
        """Evaluate a model on the run's test rows."""
        return server.measure(
            self.learner.predict(model, self.data.test.inputs), self.data.test.labels
        )

    def list_next_values(self, model: Vector, count: int, round_no: int) -> Sent:
        """Values that the first `count` clients send in a round after training on their own rows."""
        return self._train_clients(self.learner, model, count, round_no)

    def resample_values(self, count: int) -> Sent:
        """Values that `count` clients send next: the run's own clients if there are enough, else
        clients from a new division of its rows.
        """
        if count <= self.clients():
            return self.list_next_values(self.model, count, 1)
        rows = self.data.train
        order = self.draws.at("dealt", count).generator().permutation(len(rows))
        starts = np.linspace(0, len(rows), count + 1).astype(np.int64)
        dealt = Clients(order=np.arange(len(rows)), starts=starts)
        learner = training.build(self.job.model, self.job.local, rows.take(order), dealt)
        return self._train_clients(learner, self.model, count, 1)

    def _train_clients(
        self, learner: training.Learner, model: Vector, count: int, round_no: int
    ) -> Sent:
        worker, found = learner.worker(), np.empty((count, learner.size), np.float32)
        for client in range(count):
            slot = ClientSlot(client, client, ClientRandomness(self.draws, client))
            found[client] = self.sent(
                model, worker.train(model, slot, slot.own.train(round_no), round_no).row
            )
        return found


def load_finished_run(folder: Path, *, allow_code: bool = False) -> FinishedRun:
    """Load a finished run for an attack; raise RunError if it has another codec or cannot be loaded
    here.
    """
    job = run_folder.read_plan(folder)
    if not isinstance(job.codec, HashComb):
        raise RunError(
            f"audit tokens {folder.name}: the run has codec.name = {job.codec.name!r}; name a run "
            "of the codec 'hashcomb'"
        )
    if job.personal or job.data.source == GIVEN:
        got = (
            "parts of the model that stay with clients"
            if job.personal
            else "rows that were passed in Python"
        )
        raise RunError(
            f"audit tokens {folder.name}: the audit cannot read {got}; audit another run"
        )
    if isinstance(job.codec.x_min, tuple):
        raise RunError(
            f"audit tokens {folder.name}: each layer has its own range, and the attacks require "
            "one range for all layers; audit another run"
        )
    require_permission(folder / run_folder.PLAN, job, allow_code=allow_code)
    draws = Draws.seeded(job.seed)
    data = prepare(job, draws)
    learner = training.build(job.model, job.local, data.train, data.clients)
    model = _last_model(folder, learner)
    # One token of 28 bits is attacked: longer ones and paths of several show at least as much.
    codec = _find_settings(job, folder)
    settings = replace(codec, path=False, token_bits=28)
    return FinishedRun(
        job=job,
        settings=settings,
        data=data,
        learner=learner,
        model=model,
        draws=draws.at("audit tokens"),
    )


def _find_settings(job: plan.Plan, folder: Path) -> HashComb:
    """The settings of the clients' codec, with the range they negotiated if they did."""
    assert isinstance(job.codec, HashComb)
    agreed = load_agreed_secret(folder / run_folder.PRIVATE / f"{RUN}.negotiated")
    if job.negotiates_range and agreed is not None:
        return apply_agreed(job, agreed).settings or job.codec
    if job.negotiated_file:
        return read_negotiated(job).settings or job.codec
    return job.codec


def _last_model(folder: Path, learner: training.Learner) -> Vector:
    """The stored model as one flat vector, in the learner's order of parameters."""
    model = training.flatten_parameters(learner, load_file(folder / run_folder.MODEL))
    run_folder.check_model(folder, model)
    return model
