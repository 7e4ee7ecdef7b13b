"""One arm of a simulated run: a site with all clients' rows, its exchanges, and how its models are
evaluated.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tacit import training
from tacit.assembly.agreement import RunFacts, build_agreement
from tacit.assembly.client_side import PrivateParts, SiteClients, build_learner, build_site
from tacit.assembly.exchanges import ServerParts, build_exchanges, build_train
from tacit.assembly.server_side import (
    ServerRows,
    build_first_model,
    build_member,
    build_release,
    choose_member_pace,
)
from tacit.plan import Local, Plan
from tacit.privacy.claim import Claim
from tacit.protocol import loop
from tacit.protocol.exchanges.train import Judge, Member, Train, UpdateExchange, nobody
from tacit.protocol.loop import Arm, Desk, Evaluator
from tacit.protocol.round import Carrier
from tacit.protocol.site import OwnRows, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector
from tacit.runs import record, run_folder
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.record import RUN
from tacit.simulation.baselines.arms import central_settings, pooled
from tacit.simulation.carrier import Helpers, simulation
from tacit.simulation.evaluate import OneModel
from tacit.simulation.facts import pooled_rows
from tacit.simulation.prepared_rows import SimulatedData

if TYPE_CHECKING:
    from tacit.simulation.adversaries.canaries import Canaries


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the arms of a simulated run share: the desk, the root of its randomness, the rows, and a
    module given in Python.
    """

    desk: Desk
    draws: Draws
    data: SimulatedData
    module: object | None = None


class Pooled(Train):
    """Central training as a round: one client has all rows, with the plan's features."""

    def __init__(self, setting: Setting, plan: Plan, site: Site) -> None:
        super().__init__(site.agreement, setting.draws)
        self._handed_over = pooled_rows(plan)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The claim that all rows are in one place, and in what form."""
        return (self._handed_over,)


class SimulatedArm:
    """An arm ready to run on one machine."""

    def __init__(self, setting: Setting, name: str, plan: Plan) -> None:
        self.setting, self.name, self.plan = setting, name, plan
        self.regime = plan.regime
        data, draws = setting.data, setting.draws
        self.disclosure = data.disclosure if name == RUN else None
        self.halves = self._set_validation_rows_aside()
        plan = self.plan
        self.learner = self._learner()
        clients = self._clients()
        facts = self._facts(clients)
        self.agreement = build_agreement(self.plan, facts, self.learner)
        self.site = self._site(clients)
        self.exchanges = build_exchanges(self.plan, facts, self._train(facts), self.learner.head)
        self.arm = Arm(
            name=name,
            plan=plan,
            exchanges=self.exchanges,
            first=self._first_model,
            evaluator=self._evaluator(),
            draws=draws,
            optimizer=self.agreement.optimizer,
            crosses=self.regime != "central",
            in_rounds=self.regime != "local_only",
            release=build_release(plan, self.agreement, len(clients)),
        )

    def _set_validation_rows_aside(self) -> tuple[Rows, Rows] | None:
        """Set validation rows aside in central training, which keeps the pass with the best
        validation loss.

        A plan whose own regime is central trains on all rows.
        """
        plan, data, draws = self.plan, self.setting.data, self.setting.draws
        chooses = plan.regime == "central" and plan.baseline_settings == "own"
        if plan.personal or not (self.name == "central" or chooses):
            return None
        from tacit.simulation.baselines.early_stop import hold_rows_out
        from tacit.simulation.baselines.own_baselines import choose_rate

        halves = hold_rows_out(data.train, data.clients, draws.at("central", "validation"))
        if halves and chooses:
            rate = choose_rate(plan, halves, draws.at("central"), self.setting.module)
            self.plan = replace(plan, local=rate)
        return halves

    def run(self, checkpointed: Checkpoint | None) -> Checkpoint:
        """Run the arm to its last round."""
        desk, workers = self.setting.desk, self.plan.engine.workers
        now = (
            self._taken_up(checkpointed)
            if checkpointed
            else loop.start_arm(self.arm, desk, len(self.site.names))
        )
        if self.regime == "local_only":
            return self._local_only(now)
        helpers = self._helpers()
        with simulation(self.site, self.exchanges, workers, helpers) as carrier:
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
            self._clients().sizes(),
            arm=self.name,
            note=self.setting.desk.note,
        )

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

    def _learner(self) -> training.Learner:
        data, plan, settings = self.setting.data, self.plan, self.plan.local
        rows, holders = data.train, data.clients
        if self.regime == "central":
            from tacit.simulation.baselines.early_stop import give_to_one_client

            settings = central_settings(plan.local, data.clients)
            holders = pooled(data.clients)
            if self.halves:
                rows, holders = self.halves[0], give_to_one_client(self.halves[0])
        elif self.disclosure:
            rows, holders = self.disclosure.train, self.disclosure.holders
        elif self.regime == "federated" and data.corruption is not None:
            from tacit.simulation.adversaries.corruption import append_rows_before

            rows, holders = append_rows_before(rows, holders, data.corruption)

        def build(rows: Rows, holders: Clients) -> training.Learner:
            return self._build_learner(settings, rows, holders)

        match plan.data.deal:
            case "once":
                return build(rows, holders)
            case "every_round":
                if self.regime != "federated":
                    return build(rows, holders)
                from tacit.simulation.reshuffled_rows import ReshuffledRows

                return ReshuffledRows(build, rows, holders, self.setting.draws.at("deal"))
            case _:
                assert_never(plan.data.deal)

    def _build_learner(self, local: Local, rows: Rows, holders: Clients) -> training.Learner:
        setting = self.setting
        parts = PrivateParts(
            folder=self._folder("model"), draws=setting.draws, lexicon=setting.data.lexicon
        )
        return build_learner(replace(self.plan, local=local), rows, holders, parts, setting.module)

    def _folder(self, what: str) -> Path:
        """The folder where clients store their part of the model, or their state of the codec."""
        kept = self.setting.desk.folder / run_folder.PRIVATE
        return kept / self.name if what == "model" else kept / f"{self.name}.{what}"

    def _clients(self) -> Clients:
        """The rows that each client trains on: its own, or one client with all of them."""
        data = self.setting.data
        if self.regime == "central":
            return pooled(data.clients)
        return self.disclosure.clients if self.disclosure else data.clients

    def _facts(self, clients: Clients) -> RunFacts:
        desk, draws = self.setting.desk, self.setting.draws
        weights = training.compute_weights(self.plan.server, clients.sizes())
        return RunFacts(
            run=desk.folder.name,
            identity=desk.fingerprints.identity,
            clients=len(clients),
            public=draws.publish("public"),
            largest_weight=max(1, int(weights.max(initial=1))),
            helpers=self._helper_keys(),
            arm=self.name,
        )

    def _helper_keys(self) -> tuple[bytes, ...]:
        if self.plan.secure_aggregation is None:
            return ()
        from tacit.simulation.helpers import draw_public_keys

        return draw_public_keys(self.plan, self.setting.draws)

    def _helpers(self) -> Helpers:
        if self.plan.secure_aggregation is None:
            return ()
        from tacit.simulation.helpers import build_simulated_helpers

        return build_simulated_helpers(
            self.plan, self.site, self.exchanges, self.setting.draws, self._folder("helpers")
        )

    def _site(self, clients: Clients) -> Site:
        data, draws = self.setting.data, self.setting.draws
        is_federated = self.regime == "federated"
        corruption = data.corruption if is_federated else None
        rows = self.disclosure.train if self.disclosure and is_federated else data.train
        holders = clients
        if corruption is not None:
            from tacit.simulation.adversaries.corruption import append_rows_before

            rows, holders = append_rows_before(rows, clients, corruption)
        site = build_site(
            self.plan,
            self.agreement,
            self.learner,
            SiteClients(
                names=range(len(clients)),
                sizes=clients.sizes(),
                root=draws,
                rows=self._own_rows(rows, holders),
                codec_folder=self._folder("codec"),
                ledger_file=self._folder("ledger.safetensors") if is_federated else None,
            ),
        )
        if is_federated and self.plan.negotiation is not None:
            from tacit.assembly.negotiated import negotiate_in_simulation

            negotiate_in_simulation(self.plan, site, draws, self._folder("negotiated"))
        if corruption is not None:
            from tacit.simulation.adversaries.behaviour import Misbehaving

            site.behaviour = Misbehaving(
                corruption.settings,
                corruption.clients,
                draws.at("attack"),
                rows_before=corruption.before is not None,
            )
        return site

    def _own_rows(self, rows: Rows, holders: Clients) -> OwnRows:
        """The rows of clients: those they train on, and those on which they evaluate others."""
        data = self.setting.data
        if self.disclosure is None or not self.plan.data.local_test or self.plan.data.divide_test:
            return OwnRows(rows, holders, data.own, data.own_clients)
        tests = data.own_clients.select(self.disclosure.tests)
        return OwnRows(rows, holders, data.own.take(tests.order), tests.in_place())

    def _train(self, facts: RunFacts) -> UpdateExchange:
        match self.regime:
            case "central":
                return Pooled(self.setting, self.plan, self.site)
            case "federated" | "local_only":
                parts = ServerParts(
                    member=self._member(), judge=self._judge(), canaries=self._canaries()
                )
                return build_train(self.plan, facts, self.agreement, self.setting.draws, parts)
            case _:
                assert_never(self.regime)

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
            learner = self._build_learner(pace, disclosure.train, disclosure.holders)
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
