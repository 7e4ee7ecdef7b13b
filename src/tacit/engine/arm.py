"""One arm of a run: its rounds one after the other, each recorded and checkpointed."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit import codec, ledger, local, record, server, wire
from tacit.draws import Draws
from tacit.engine import checkpoint, embedded, personal, run_folder, sharing
from tacit.engine.alone import measure_alone
from tacit.engine.arms import central_settings, pooled
from tacit.engine.checkpoint import Checkpoint, Progress
from tacit.engine.facts import POOLED, model_facts, prepared, released_in_the_clear, started
from tacit.engine.fingerprint import Fingerprints
from tacit.engine.prepare import Ground
from tacit.engine.round import Terms, model_message, server_half
from tacit.engine.trying import History, remember
from tacit.engine.watch import Watch
from tacit.errors import RunError
from tacit.files import replace_file
from tacit.plan import Plan
from tacit.record import RUN
from tacit.rows import Clients, Vector


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the arms of one run share: where it is kept, its plan, its randomness, its record and who looks on."""

    place: Path
    plan: Plan
    draws: Draws
    writer: record.Writer
    watch: Watch
    module: object | None
    fingerprints: Fingerprints

    def note(self, entry: record.Entry) -> None:
        """Add an entry to the record and show it."""
        self.writer.append(entry)
        self.watch.entry(entry)

    def save(self, now: Checkpoint) -> Checkpoint:
        """Force the record onto the disk, then replace the checkpoint; return it with how much of the record it covers."""
        whole = replace(now, mark=self.writer.sync(), fingerprints=self.fingerprints)
        checkpoint.write(self.place, whole)
        return whole


class Arm:
    """One arm of a run, from its first round to its last."""

    def __init__(self, desk: Desk, name: str, plan: Plan, ground: Ground) -> None:
        self.desk, self.name, self.plan, self.ground = desk, name, plan, ground
        self.central = self.plan.local.method == "central"
        self.given = ground.given if name == RUN else None
        self.clients = pooled(ground.clients) if self.central else self.given.clients if self.given else ground.clients
        rows, holders = (self.given.train, self.given.holders) if self.given else (ground.train, self.clients)
        settings = central_settings(self.plan.local, ground.clients) if self.central else self.plan.local
        home = personal.home_of(self.plan, ground, desk.place / run_folder.PRIVATE / name, desk.draws)
        self.learner = local.build(self.plan.model, settings, rows, holders, desk.module, home)
        self.codec = codec.build(self.plan.codec)
        self.claim = POOLED if self.central else self.codec.claim(self.learner.size)
        self.terms = Terms(
            run=desk.place.name,
            dim=self.learner.size,
            codec=self.codec,
            draws=desk.draws.at("rounds"),
            public=desk.draws.at("public"),
        )
        self.weights = server.weights_for(self.plan.server, self.clients.sizes())
        self.own_worker: local.Worker | None = None
        self.evaluated: History = {}

    def run(self, begun: Checkpoint | None, following: str) -> None:
        """Run the rounds that are left, then close the arm and hand over to the following one."""
        now = self._take_up(begun) if begun and begun.progress.begun else self._begin()
        if self.plan.local.method == "local":
            now = self._alone(now)
        else:
            with embedded.crew(self.terms, self.learner, self.plan.engine.workers) as work:
                while now.progress.round_no < self.plan.server.rounds and not self._stopped(now.progress):
                    now = self._round(work, now)
        self._finish(now, following)

    def _begin(self) -> Checkpoint:
        if self.name == RUN:
            self.desk.note(started(self.desk.plan, self.learner, self.desk.fingerprints))
            self.desk.note(prepared(self.plan, self.ground, self.learner))
            for sentence in self.ground.released:
                self.desk.note(released_in_the_clear(sentence, len(self.ground.clients)))
            self._take_rows()
        model = self.learner.initial(self.desk.draws.at("initial"))
        if self.learner.personal:
            personal.forget(self.learner)
        state = server.initial_state(self.plan.server, len(model))
        nothing = np.zeros(len(self.clients), np.int64)
        progress = Progress(arm=self.name, round_no=0)
        return self.desk.save(Checkpoint(progress=progress, model=model, state=state, updates=nothing, last_round=nothing))

    def _take_up(self, begun: Checkpoint) -> Checkpoint:
        """Return a checkpoint of this arm if it fits the plan's model and clients, and what clients kept fits it."""
        begun.check_sizes(
            self.desk.place, self.learner.size, server.initial_state(self.plan.server, self.learner.size), len(self.clients)
        )
        if self.learner.personal:
            personal.check_kept(self.learner, begun.last_round, begun.progress.round_no + 1)
        self.evaluated = begun.evaluated
        return begun

    def _take_rows(self) -> None:
        """Keep the rows clients share with the server in the run's folder, and say in the record what they are."""
        if self.given:
            replace_file(self.desk.place / sharing.FILE, self.given.parquet())
            self.desk.note(self.given.facts)
            for entry in ledger.disclosures(self.given.facts):
                self.desk.note(entry)

    def _own_update(self, model: Vector, round_no: int) -> server.Own | None:
        """Return what the server learns from the rows it was given; they stand after the last client's."""
        if self.given is None or self.given.rows.height == 0:
            return None
        self.own_worker = self.own_worker or self.learner.worker()
        update = self.own_worker.train(model, len(self.clients), self.terms.draws.at(round_no, "server", "train"))
        return server.Own(update=update.row, rows=self.given.rows.height, clients_weight=int(self.weights.sum()))

    def _round(self, work: embedded.Work, now: Checkpoint) -> Checkpoint:
        """Run one round and leave a checkpoint behind."""
        begun, round_no, settings = time.perf_counter(), now.progress.round_no + 1, self.plan.server
        cohort = server.choose(settings, len(self.clients), self.desk.draws.at("cohort", round_no))
        cohort = cohort[self.weights[cohort] > 0]  # a client that shares all its rows has nothing to train on
        down = wire.size(model_message(self.terms, round_no, now.model))

        def tick(done: int) -> None:
            self.desk.watch.clients(self.name, round_no, done, len(cohort))

        share = embedded.sum_cohort(
            work, self.terms, now.model, round_no, cohort, self.weights[cohort], self.plan.engine.workers, tick
        )
        model, state = server_half(settings, self.terms, now.model, share.total, now.state, self._own_update(now.model, round_no))
        _check_finite(model, self.name, round_no)
        updates = now.updates.copy()
        updates[cohort] += 1
        last_round = now.last_round.copy()
        last_round[cohort] = round_no
        up, all_down = (0, 0) if self.central else (share.bytes_up, down * len(cohort))
        metrics = self._measure(model, round_no, cohort)
        seconds = time.perf_counter() - begun
        self._note_round(round_no, len(cohort), seconds, up, all_down, metrics, int(updates.max()))
        progress = replace(
            now.progress,
            round_no=round_no,
            seconds=now.progress.seconds + seconds,
            losses=[*now.progress.losses, metrics["loss"]] if metrics else now.progress.losses,
            bytes_up=now.progress.bytes_up + up,
            bytes_down=now.progress.bytes_down + all_down,
            messages=now.progress.messages + len(cohort),
            metrics=metrics or now.progress.metrics,
        )
        after = replace(
            now, progress=progress, model=model, state=state, updates=updates, last_round=last_round, evaluated=self.evaluated
        )
        return self.desk.save(after)

    def _measure(self, model: Vector, round_no: int, cohort: NDArray[np.int64]) -> dict[str, float]:
        if not personal.measured(self.plan.server, round_no):
            return {}
        if self.learner.personal:
            entry, metrics = personal.after_round(self.learner, self.name, model, round_no, cohort, self.plan.engine.workers)
            self.desk.note(entry)
            self.evaluated = remember(self.evaluated, entry, len(self.clients))
            return metrics
        return server.measure(self.learner.predict(model, self.ground.test.inputs), self.ground.test.labels)

    def _note_round(
        self, round_no: int, cohort: int, seconds: float, up: int, down: int, metrics: dict[str, float], updates: int
    ) -> None:
        if cohort:
            self.desk.note(ledger.entry(self.claim, self.name, round_no, cohort))
        totals = ledger.totals(self.claim, updates, self.plan.ledger.delta)
        words = ledger.statement(self.claim, totals, updates)
        if self.given:
            words = f"{words} {ledger.disclosure(self.given.facts)}"
        self.desk.note(record.Spent(arm=self.name, round_no=round_no, totals=totals, statement=words))
        self.desk.note(
            record.Round(
                arm=self.name, round_no=round_no, rounds=self.plan.server.rounds, cohort=cohort, seconds=seconds,
                bytes_up=up, bytes_down=down, metrics=metrics,
            )
        )  # fmt: skip

    def _stopped(self, progress: Progress) -> bool:
        return server.should_stop(progress.losses, self.plan.server.patience)

    def _alone(self, now: Checkpoint) -> Checkpoint:
        """Train every client by itself and measure the average of their models' figures."""
        begun = time.perf_counter()

        def tick(done: int) -> None:
            self.desk.watch.clients(self.name, 1, done, len(self.clients))

        if self.learner.personal:
            metrics = {}  # measured with all clients' own models at the end
        else:
            metrics = measure_alone(self.plan, self.ground, self.desk.draws.at("initial"), self.terms.draws, self.desk.module, tick)
        seconds = time.perf_counter() - begun
        self.desk.note(
            record.Round(
                arm=self.name, round_no=1, rounds=1, cohort=len(self.clients), seconds=seconds,
                bytes_up=0, bytes_down=0, metrics=metrics,
            )
        )  # fmt: skip
        return replace(now, progress=replace(now.progress, round_no=1, metrics=metrics, seconds=seconds))

    def _finish(self, now: Checkpoint, following: str) -> None:
        """Store the model, close the arm in the record, and point the checkpoint at the next arm."""
        if self.learner.personal:
            now = self._try_everyone(now)
        elif self.plan.local.method != "local":
            self.desk.note(record.Spread(arm=self.name, accuracy=self._accuracy_by_client(now.model)))
        if self.name == RUN:
            run_folder.write_model(self.desk.place, self.learner, now.model, model_facts(self.desk.plan, self.ground))
        messages = max(1, now.progress.messages)
        self.desk.note(
            record.Finished(
                arm=self.name,
                rounds=now.progress.round_no,
                metrics=now.progress.metrics,
                model_sha256=hashlib.sha256(now.model.tobytes()).hexdigest(),
                bytes_up=now.progress.bytes_up // messages,
                bytes_down=now.progress.bytes_down // messages,
                seconds=now.progress.seconds,
                stopped_early=self.plan.local.method != "local" and now.progress.round_no < self.plan.server.rounds,
            )
        )
        self.desk.save(replace(now, progress=Progress(arm=following, round_no=0, begun=False), evaluated={}))

    def _try_everyone(self, now: Checkpoint) -> Checkpoint:
        """Measure clients' own models after the last round, and add the figures to the arm's."""

        def tick(done: int) -> None:
            self.desk.watch.clients(self.name, now.progress.round_no, done, len(self.clients))

        tried, metrics = personal.at_the_end(
            self.learner, self.plan, self.name, now.model, now.progress.round_no, self.desk.draws, self.evaluated, tick
        )
        self.desk.note(tried)
        self.desk.note(record.Spread(arm=self.name, accuracy=tried.local_accuracy))
        return replace(now, progress=replace(now.progress, metrics={**now.progress.metrics, **metrics}))

    def _accuracy_by_client(self, model: Vector) -> list[float]:
        logits = self.learner.predict(model, self.ground.own.inputs)
        guess = logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(axis=1)
        right = np.concatenate([[0], np.cumsum(guess == self.ground.own.labels)])
        clients: Clients = self.ground.own_clients
        shares = np.diff(right[clients.starts]) / np.maximum(1, clients.sizes())
        return [round(float(share), 4) for share in shares]


def _check_finite(model: Vector, arm: str, round_no: int) -> None:
    if not np.isfinite(model).all():
        raise RunError(
            f"{arm}: round {round_no} ended in a model with values that are not finite, so training diverged; "
            "lower local.lr or server.lr, or clip the updates with codec.name = 'rr'"
        )
