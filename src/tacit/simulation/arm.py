"""One arm of a simulated run: a site with everybody's rows, its exchanges, and how its models are
measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

import numpy as np

from tacit import codecs, server, training
from tacit.assembly.first_model import first_model
from tacit.assembly.negotiated import held
from tacit.client import ClientRandomness, ClientSlot
from tacit.codecs.distributions.banded import coefficients
from tacit.errors import PlanError
from tacit.models.token_rows import find_checkpoint
from tacit.plan import DPSum, Plan
from tacit.privacy.claim import Claim
from tacit.privacy.ledger.client_ledgers import ClientLedgers
from tacit.protocol import loop
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges import SecureTrain, Train, exchanges_of
from tacit.protocol.exchanges.sharing import Sharing, sharing_for
from tacit.protocol.exchanges.train import Judge, Member, nobody
from tacit.protocol.loop import Arm, Desk, Evaluator
from tacit.protocol.release import released
from tacit.protocol.round import State
from tacit.protocol.site import OwnRows, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector
from tacit.runs import record, run_folder
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.record import RUN
from tacit.simulation.adversaries.behaviour import Misbehaving
from tacit.simulation.adversaries.canaries import SEEN, Canaries
from tacit.simulation.adversaries.clean_rows import CleanRows
from tacit.simulation.adversaries.corruption import with_rows_before
from tacit.simulation.baselines.arms import central_settings, pooled
from tacit.simulation.baselines.early_stop import EarlyStopped, held_out, in_one_hand, kept_model
from tacit.simulation.baselines.local_only import measure_local_only
from tacit.simulation.baselines.own_baselines import choose_rate
from tacit.simulation.carrier import simulation
from tacit.simulation.evaluate import OneModel, OwnModels, tests_of
from tacit.simulation.facts import pooled_rows
from tacit.simulation.helpers import helper_keys, simulated_helpers
from tacit.simulation.prepared_rows import SimulatedData
from tacit.simulation.reshuffled_rows import ReshuffledRows


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the arms of a simulated run share: the desk, the root of its randomness, the rows, a
    module from Python.
    """

    desk: Desk
    draws: Draws
    data: SimulatedData
    module: object | None = None


class Pooled(Train):
    """Central training as a round: one client holds every row, in the form the plan's features give
    it.
    """

    def __init__(self, setting: Setting, plan: Plan, site: Site) -> None:
        super().__init__(site.agreement, setting.draws)
        self._handed_over = pooled_rows(plan)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return that all rows are in one place, and in what form."""
        return (self._handed_over,)


class SimulatedArm:
    """An arm ready to run on one machine."""

    def __init__(self, setting: Setting, name: str, plan: Plan) -> None:
        self.setting, self.name, self.plan = setting, name, plan
        self.regime = plan.regime
        data, draws = setting.data, setting.draws
        self.disclosure = data.disclosure if name == RUN else None
        chooses = plan.regime == "central" and plan.baseline_settings == "own"
        aside = (
            name == "central" or chooses
        ) and not plan.personal  # a plan's own central training has all rows
        self.halves = (
            held_out(data.train, data.clients, draws.at("central", "validation")) if aside else None
        )
        if self.halves and chooses:
            self.plan = plan = replace(
                plan, local=choose_rate(plan, self.halves, draws.at("central"), setting.module)
            )
        self.learner = self._learner()
        self.site = self._site()
        head = self.learner.head
        if plan.filter is not None and head is None:
            raise PlanError(
                "filter: needs a model whose last layer is linear with a bias and the same for all"
                f" clients, got model.name = {plan.model.name!r}"
            )
        self.exchanges = exchanges_of(
            self.plan, self._train(), name, head, len(self.site.names), self._sharing
        )
        self.arm = Arm(
            name=name,
            plan=plan,
            exchanges=self.exchanges,
            first=self._first_model,
            evaluator=self._evaluator(),
            draws=draws,
            crosses=self.regime != "central",
            in_rounds=self.regime != "local_only",
            release=self._release,
        )

    def run(self, checkpointed: Checkpoint | None) -> Checkpoint:
        """Return the arm after its last round."""
        desk, workers = self.setting.desk, self.plan.engine.workers
        now = (
            self._taken_up(checkpointed)
            if checkpointed
            else loop.begun(self.arm, desk, len(self.site.names))
        )
        if self.regime == "local_only":
            return self._local_only(now)
        helpers = simulated_helpers(
            self.plan, self.site, self.exchanges, self.setting.draws, self._folder("helpers")
        )
        with simulation(self.site, self.exchanges, workers, helpers) as carrier:
            return loop.run_rounds(self.arm, desk, carrier, now)

    def _taken_up(self, begun: Checkpoint) -> Checkpoint:
        """Return a checkpoint of this arm if it fits the plan's model and clients, and what clients
        kept fits it.
        """
        readable = self.site.agreement.codec.decoded_by == "server"
        size = self.learner.size if readable else 0
        state = (
            server.initial_state(self.plan.server, np.zeros(size, np.float32)) if readable else {}
        )
        begun.check_sizes(self.setting.desk.folder, size, state, len(self.site.names))
        self.learner.check_kept(begun.last_round, begun.progress.round_no + 1)
        return begun

    def last_model(self, now: Checkpoint) -> Vector:
        """Return the arm's model after its last round; where only clients can read it, as the
        simulated ones do.
        """
        kept = kept_model(now.evaluated) if self.halves else None
        if kept is not None:
            return kept
        if now.model is not None:
            return self._release(now.model, now.state, now.progress.round_no)
        state = State(
            round_no=now.progress.round_no + 1,
            cohort=np.empty(0, np.int64),
            model=None,
            optimizer={},
            arrays=now.arrays,
        )
        return self.site.model(self.exchanges[0].ask(state))

    def _release(self, model: Vector, state: server.ServerState, rounds: int) -> Vector:
        return released(
            self.site.agreement,
            self.plan.server.cohort_size or len(self.site.names),
            model,
            state,
            rounds,
        )

    def _learner(self) -> training.Learner:
        data, plan, settings = self.setting.data, self.plan, self.plan.local
        rows, holders = data.train, data.clients
        if self.regime == "central":
            holders, settings = pooled(data.clients), central_settings(plan.local, data.clients)
            rows, holders = (
                (self.halves[0], in_one_hand(self.halves[0])) if self.halves else (rows, holders)
            )
        elif self.disclosure:
            rows, holders = self.disclosure.train, self.disclosure.holders
        elif self.regime == "federated":
            rows, holders = with_rows_before(rows, holders, data.corruption)

        def build(rows: Rows, holders: Clients) -> training.Learner:
            return training.build(
                plan.model, settings, rows, holders, self.setting.module, self._home()
            )

        match plan.data.deal:
            case "once":
                return build(rows, holders)
            case "every_round":
                dealt = self.regime == "federated"
                return (
                    ReshuffledRows(build, rows, holders, self.setting.draws.at("deal"))
                    if dealt
                    else build(rows, holders)
                )
            case _:
                assert_never(plan.data.deal)

    def _home(self) -> training.Home | None:
        """Return the clients' side of a run whose models are partly private; None for any other
        run.
        """
        if not self.plan.personal:
            return None
        return training.Home(
            private=self.plan.private,
            folder=self._folder("model"),
            beginning=self.setting.draws.at("initial"),
            lexicon=self.setting.data.lexicon,
            buckets=self.plan.features.buckets,
            checkpoint=find_checkpoint(self.plan),
        )

    def _folder(self, what: str) -> Path:
        """Return where clients keep their part of the model, or what they remember of the codec."""
        kept = self.setting.desk.folder / run_folder.PRIVATE
        return kept / self.name if what == "model" else kept / f"{self.name}.{what}"

    def _site(self) -> Site:
        data, draws = self.setting.data, self.setting.draws
        clients = (
            pooled(data.clients)
            if self.regime == "central"
            else self.disclosure.clients
            if self.disclosure
            else data.clients
        )
        weights, settings = (
            training.compute_weights(self.plan.server, clients.sizes()),
            self.plan.server,
        )
        extent = codecs.Extent.of(self.plan, len(clients), self.learner.layers)
        agreement = Agreement(
            run=self.setting.desk.folder.name,
            identity=self.setting.desk.fingerprints.identity,
            dim=self.learner.size,
            codec=codecs.build(self.plan.codec, extent),
            public=draws.publish("public"),
            server=settings,
            largest_weight=max(1, int(weights.max(initial=1))),
            sum_at_site=settings.sums_at_site,
        )
        agreement.check(len(clients))
        site = Site(
            agreement,
            range(len(clients)),
            draws,
            clients.sizes(),
            self.learner,
            self._folder("codec"),
        )
        if self.regime == "federated":
            kept = self._folder("ledger").with_suffix(".ledger.safetensors")
            site.client_ledgers = ClientLedgers(
                self.plan.ledger, len(clients), self.plan.delta, kept
            )
        corruption = data.corruption if self.regime == "federated" else None
        if corruption:
            before = corruption.before is not None
            site.behaviour = Misbehaving(
                corruption.settings, corruption.clients, draws.at("attack"), rows_before=before
            )
        rows = (
            self.disclosure.train if self.disclosure and self.regime == "federated" else data.train
        )
        site.own_rows = OwnRows(
            *with_rows_before(rows, clients, corruption), data.own, data.own_clients
        )
        negotiated = held(self.plan)
        if negotiated:
            site.use_secret(negotiated.secret, negotiated.codec)
        return site

    def _train(self) -> Train:
        match self.regime:
            case "central":
                return Pooled(self.setting, self.plan, self.site)
            case "federated" | "local_only":
                return self._train_apart()
            case _:
                assert_never(self.regime)

    def _train_apart(self) -> Train:
        """Return the exchange of clients that keep their rows."""
        if self.plan.secure_sum is not None and self.site.agreement.codec.whole is not None:
            terms = self.site.agreement
            return SecureTrain(
                terms,
                self.setting.draws,
                self._sharing(Train.name, terms.codec, terms.dim),
                self._member(),
            )
        return Train(
            self.site.agreement, self.setting.draws, self._member(), self._judge(), self._canaries()
        )

    def _canaries(self) -> Canaries | None:
        """Return the canaries that take part, if the plan wants some."""
        count, terms = self.plan.audit.canaries, self.site.agreement
        if count is None:
            return None
        extent = codecs.Extent.of(self.plan, len(self.site.names))
        together = isinstance(self.plan.codec, DPSum) and self.plan.codec.noise == "banded"
        bands = (
            coefficients(extent.rounds, min(extent.separation, extent.rounds)) if together else ()
        )
        return Canaries(
            count=count,
            terms=terms,
            draws=self.setting.draws.at("canaries", terms.identity),
            extent=extent,
            bands=bands,
        )

    def audited(self, now: Checkpoint) -> list[record.Audited]:
        """Return what the arm's canaries show about the loss its plan states, if there were any."""
        settings, canaries = self.plan.codec, self._canaries()
        if canaries is None or SEEN not in now.arrays or not isinstance(settings, DPSum):
            return []
        return [canaries.audited(now.arrays[SEEN], settings.epsilon, settings.delta)]

    def _sharing(self, exchange: str, made: codecs.Codec, dim: int) -> Sharing:
        """Return how answers of an exchange are split, in a plan with a secure sum."""
        assert self.plan.secure_sum is not None
        keys = helper_keys(self.plan.secure_sum, self.setting.draws)
        return sharing_for(self.plan.secure_sum, self.site.agreement, keys, exchange, made, dim)

    def _judge(self) -> Judge | None:
        """Return the center with its public rows, if the plan's rule needs them."""
        setting = self.setting
        if not self.plan.server.judges or setting.data.public is None:
            return None
        return CleanRows(self.plan, setting.data.public, setting.draws, setting.module).at

    def _member(self) -> Member:
        """Return what the server learns from the rows it was sent; they stand after the last
        client's.
        """
        disclosure, learner = self.disclosure, self.learner
        if disclosure is None or disclosure.rows.height == 0:
            return nobody
        worker, slot = (
            learner.worker(),
            ClientSlot(-1, len(disclosure.clients), ClientRandomness(self.setting.draws, "server")),
        )

        def own(model: Vector, round_no: int) -> server.Own:
            update = worker.train(model, slot, slot.own.train(round_no), round_no).row
            return server.Own(
                update=update, rows=disclosure.rows.height, clients_weight=disclosure.clients_weight
            )

        return own

    def _first_model(self) -> Vector | None:
        self.learner.forget()
        self.site.forget()
        if self.site.agreement.codec.decoded_by == "clients":
            return None
        setting = self.setting
        model, started = first_model(
            self.plan,
            setting.data.public,
            setting.data.test,
            setting.draws,
            self.learner,
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
            return EarlyStopped(inside=one, validation=self.halves[1]) if self.halves else one
        return OwnModels(
            arm=self.name,
            plan=self.plan,
            site=self.site,
            tests=tests_of(self.plan, data, draws),
            draws=draws,
            tick=lambda round_no, done, total: desk.observer.clients(
                self.name, round_no, done, total
            ),
        )

    def _local_only(self, now: Checkpoint) -> Checkpoint:
        """Train every client by itself and measure the average of their models' figures."""
        began, desk, clients = time.perf_counter(), self.setting.desk, len(self.site.names)

        def tick(done: int) -> None:
            desk.observer.clients(self.name, 1, done, clients)

        metrics: dict[str, float] = {}  # clients' own models are all measured at the end
        if not self.learner.personal:
            assert now.model is not None
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
