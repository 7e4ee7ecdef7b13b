"""One arm of a simulated run: a site with all clients' rows, its exchanges, and how its models are
evaluated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.assembly.exchanges import ServerParts
from tacit.assembly.server_side import (
    ServerRows,
    build_first_model,
    build_member,
    build_release,
    choose_member_pace,
)
from tacit.plan import Plan
from tacit.protocol import loop
from tacit.protocol.exchanges.train import Judge, Member, nobody
from tacit.protocol.loop import Arm, Desk, Evaluator
from tacit.protocol.round import Carrier
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.runs import record
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.record import RUN
from tacit.simulation.arm_clients import ArmClients, ClientSetting
from tacit.simulation.carrier import Helpers, Simulation, in_one_thread, simulation
from tacit.simulation.evaluate import OneModel
from tacit.simulation.prepared_rows import SimulatedData

if TYPE_CHECKING:
    from tacit.simulation.adversaries.canaries import Canaries
    from tacit.simulation.cluster.driver import Cluster, RemoteArm


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the arms of a simulated run share: the desk, the root of its randomness, the rows, a module
    given in Python, and the cluster that computes responses (None: this machine does).
    """

    desk: Desk
    draws: Draws
    data: SimulatedData
    module: object | None = None
    cluster: Cluster | None = None

    @property
    def for_clients(self) -> ClientSetting:
        """The part of it that clients need."""
        return ClientSetting(
            folder=self.desk.folder,
            identity=self.desk.fingerprints.identity,
            draws=self.draws,
            data=self.data,
            module=self.module,
        )


class SimulatedArm:
    """An arm ready to run on this machine, or with its clients on a cluster."""

    def __init__(self, setting: Setting, name: str, plan: Plan) -> None:
        self.setting, self.name = setting, name
        self.clients = clients = ArmClients(setting.for_clients, name, plan)
        self.plan = plan = clients.plan
        self.regime, self.disclosure, self.halves = plan.regime, clients.disclosure, clients.halves
        self.learner, self.agreement, self.site = clients.learner, clients.agreement, clients.site
        self.remote = self._open_on_cluster()
        self.exchanges = clients.build_exchanges(self._build_server_parts())
        self.arm = Arm(
            name=name,
            plan=plan,
            exchanges=self.exchanges,
            first=self._first_model,
            evaluator=self._evaluator(),
            draws=setting.draws,
            optimizer=self.agreement.optimizer,
            crosses=self.regime != "central",
            in_rounds=self.regime != "local_only",
            release=build_release(plan, self.agreement, len(self.site.names)),
        )

    def run(
        self, checkpointed: Checkpoint | None, account: Sequence[dict[str, Any]] = ()
    ) -> Checkpoint:
        """Run the arm to its last round; `account` is what its clients were charged before it."""
        desk, workers = self.setting.desk, self.plan.engine.workers
        now = (
            self._taken_up(checkpointed)
            if checkpointed
            else loop.start_arm(self.arm, desk, len(self.site.names), account)
        )
        if self.regime == "local_only":
            return self._local_only(now)
        with self._carrier(workers) as carrier:
            return loop.run_rounds(self.arm, desk, self._within_network(carrier), now)

    def _within_network(self, carrier: Carrier) -> Carrier:
        """The carrier within the plan's simulated network, if the arm's messages cross one."""
        if self.plan.network is None or not self.arm.crosses:
            return carrier
        from tacit.simulation.network import attach_network

        return attach_network(
            carrier,
            self.site,
            self.plan,
            self.setting.draws,
            self.clients.sizes,
            arm=self.name,
            note=self.setting.desk.note,
        )

    def _open_on_cluster(self) -> RemoteArm | None:
        """Let the actors of a cluster build the arm's clients; None if this machine computes their
        responses, as for pooled rows.
        """
        cluster = self.setting.cluster
        if cluster is None or self.regime == "central":
            return None
        return cluster.open_arm(self.clients)

    def _carrier(self, workers: int) -> AbstractContextManager[Simulation]:
        helpers = self._helpers()
        if self.remote is not None:
            return nullcontext(Simulation(self.site, self.remote.sum_chunks, helpers))
        if self.setting.cluster is not None:
            return in_one_thread(self.site, self.exchanges, helpers)
        return simulation(self.site, self.exchanges, workers, helpers)

    def _taken_up(self, begun: Checkpoint) -> Checkpoint:
        """Accept a checkpoint of this arm if it matches the plan's model and clients, and the state
        that clients stored matches it.
        """
        readable = self.site.agreement.codec.decoded_by == "server"
        size = self.learner.size if readable else 0
        state = self.agreement.optimizer.init(np.zeros(size, np.float32)) if readable else {}
        begun.check_sizes(self.setting.desk.folder, size, state, len(self.site.names))
        self.learner.check_kept(begun.last_round, begun.progress.round_no + 1)
        return begun

    def last_model(self, now: Checkpoint) -> Vector:
        """The arm's model after its last round; if only clients can decode it, as the simulated
        ones do.
        """
        if self.halves:
            from tacit.simulation.baselines.early_stop import read_kept_model

            kept = read_kept_model(now.evaluated)
            if kept is not None:
                return kept
        if now.model is not None:
            return self.arm.release(now.model, now.state, now.progress.round_no)
        return self.site.model(
            self.arm.build_request_after(now.progress.round_no, None, now.arrays)
        )

    def _helpers(self) -> Helpers:
        if self.plan.secure_aggregation is None:
            return ()
        from tacit.simulation.helpers import build_simulated_helpers

        return build_simulated_helpers(
            self.plan, self.site, self.exchanges, self.setting.draws, self.clients.folder("helpers")
        )

    def _build_server_parts(self) -> ServerParts:
        """What the server adds to a round's sum; in central training nothing."""
        if self.regime == "central":
            return ServerParts()
        return ServerParts(member=self._member(), judge=self._judge(), canaries=self._canaries())

    def _canaries(self) -> Canaries | None:
        """The canaries that take part, if the plan has any."""
        if self.plan.audit.canaries is None:
            return None
        from tacit.simulation.adversaries.canaries import build_canaries

        return build_canaries(self.plan, self.agreement, len(self.site.names), self.setting.draws)

    def list_audits(self, now: Checkpoint) -> list[record.Audited]:
        """What the arm's canaries show about the privacy loss that the plan states, if there are
        any.
        """
        canaries = self._canaries()
        return canaries.list_audits(self.plan, now.arrays) if canaries is not None else []

    def _judge(self) -> Judge | None:
        """The server with its public rows, if the plan's rule needs them."""
        setting = self.setting
        if not self.plan.server.judges or setting.data.public is None:
            return None
        from tacit.simulation.adversaries.clean_rows import CleanRows

        return CleanRows(self.plan, setting.data.public, setting.draws, setting.module).at

    def _member(self) -> Member:
        """The server as a client, with the rows it was sent; they follow the last client's rows."""
        disclosure = self.disclosure
        if disclosure is None or disclosure.rows.height == 0:
            return nobody
        learner, clients = self.learner, len(disclosure.clients)
        pace = choose_member_pace(
            self.plan.data.share, self.plan.local, disclosure.clients_weight, clients
        )
        if pace != self.plan.local:
            learner = self.clients.build_learner_over(pace, disclosure.train, disclosure.holders)
        return build_member(
            learner,
            clients,
            disclosure.rows.height,
            disclosure.clients_weight,
            self.setting.draws,
        )

    def _first_model(self) -> Vector | None:
        self.learner.forget()
        self.site.forget()
        if self.agreement.codec.decoded_by == "clients":
            return None
        setting = self.setting
        model, started = build_first_model(
            self.plan,
            self.learner,
            setting.draws,
            ServerRows(public=setting.data.public, test=setting.data.test),
            setting.module,
        )
        if started and self.name == RUN:
            setting.desk.note(started)
        return model

    def _evaluator(self) -> Evaluator:
        data, draws, desk = self.setting.data, self.setting.draws, self.setting.desk
        if self.plan.statistics is not None:
            from tacit.assembly.queries.answers import build_answer_reader

            return build_answer_reader(self.learner, self.name)
        if not self.learner.personal:
            one = OneModel(
                arm=self.name,
                plan=self.plan,
                data=data,
                learner=self.learner,
                site=self.site,
                spread=self.regime != "local_only",
            )
            if self.halves is None:
                return one
            from tacit.simulation.baselines.early_stop import EarlyStopped

            return EarlyStopped(inside=one, validation=self.halves[1])
        from tacit.simulation.evaluate_clients import OwnModels, build_tests

        return OwnModels(
            arm=self.name,
            plan=self.plan,
            site=self.site,
            tests=build_tests(self.plan, data, draws),
            draws=draws,
            evaluate=None if self.remote is None else self.remote.evaluate,
            tick=lambda round_no, done, total: desk.observer.clients(
                self.name, round_no, done, total
            ),
        )

    def _local_only(self, now: Checkpoint) -> Checkpoint:
        """Train every client by itself and average the metrics of their models."""
        began, desk, clients = time.perf_counter(), self.setting.desk, len(self.site.names)

        def tick(done: int) -> None:
            desk.observer.clients(self.name, 1, done, clients)

        metrics: dict[str, float] = {}  # clients' own models are all measured at the end
        if not self.learner.personal:
            assert now.model is not None
            from tacit.simulation.baselines.local_only import measure_local_only

            metrics = measure_local_only(
                self.plan,
                self.setting.data,
                self.setting.draws,
                now.model,
                self.setting.module,
                tick,
            )
        seconds = time.perf_counter() - began
        desk.note(
            record.Round(
                arm=self.name,
                round_no=1,
                rounds=1,
                cohort=clients,
                seconds=seconds,
                bytes_up=0,
                bytes_down=0,
                metrics=metrics,
            )
        )
        return replace(
            now, progress=replace(now.progress, round_no=1, metrics=metrics, seconds=seconds)
        )
