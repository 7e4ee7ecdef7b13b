"""The round loop: choose a cohort, charge, request, sum, step, evaluate, record, checkpoint.

The loop knows exchanges and a carrier. It sees no rows, no features and no local training, so the
same loop runs a simulation and a network of sites.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import server
from tacit.errors import RunError
from tacit.plan import Plan
from tacit.privacy import ledger
from tacit.privacy.claim import Claim
from tacit.protocol import messages as wire
from tacit.protocol.observer import Observer
from tacit.protocol.round import (
    Carrier,
    Exchange,
    Gathered,
    Names,
    Request,
    RoundLost,
    State,
)
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.runs import checkpoint, record
from tacit.runs.checkpoint import Checkpoint, Progress
from tacit.runs.fingerprint import Fingerprints


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The folder, record and observer of a run.

    `superseded` are releases from before a resume that were not repeated yet: they count until they
    are.
    """

    folder: Path
    writer: record.Writer
    observer: Observer
    fingerprints: Fingerprints = field(default_factory=Fingerprints)
    superseded: list[record.Released] = field(default_factory=list)

    def note(self, *entries: record.Entry) -> None:
        """Add entries to the record and show them."""
        for entry in entries:
            self.writer.append(entry)
            self.observer.entry(entry)

    def save(self, now: Checkpoint) -> Checkpoint:
        """Sign the record, sync it to disk, then replace the checkpoint; return the checkpoint with
        the length of record it covers.
        """
        self.writer.sign()
        whole = replace(now, mark=self.writer.sync(), fingerprints=self.fingerprints)
        checkpoint.write(self.folder, whole)
        return whole


History = dict[str, NDArray[np.float64]]
"""Figures of the rounds so far, by name, for the last figures of a run."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of evaluating a model: metrics, entries for the record, history for the final
    metrics, and claims of clients whose rows were counted.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    entries: list[record.Entry] = field(default_factory=list)
    history: History = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()


class Evaluator(Protocol):
    """Evaluates models; it knows where the rows for that are."""

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """Evaluate a round's model; empty if the plan does not evaluate this round."""

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """Metrics that are added after the last round."""


Release = Callable[[Vector, server.ServerState, int], Vector]
"""Makes the model that is measured and stored, from the trained one, the optimiser's memory and the
number of rounds so far.
"""


def keep_model(model: Vector, state: server.ServerState, rounds: int) -> Vector:
    """Release the trained model unchanged."""
    return model


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way of training: the plan itself, or a baseline.

    `draws` are the server's own. `crosses` is false where all rows are in one place, so that
    nothing crosses a wire; `in_rounds` is false where every client trains by itself. `release`
    turns the trained model, the optimiser's state and the number of rounds into the model that is
    evaluated and stored; training continues from the trained one. `delta` is that of stated totals;
    `rations` says that clients respond only in some rounds.
    """

    name: str
    plan: Plan
    exchanges: tuple[Exchange, ...]
    first: Callable[[], Vector | None]
    evaluator: Evaluator
    draws: Draws
    optimizer: server.ServerOptimizer
    crosses: bool = True
    in_rounds: bool = True
    release: Release = keep_model
    delta: float = field(init=False)
    rations: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", self.plan.delta)
        object.__setattr__(self, "rations", self.plan.ledger.rations)

    def build_request_after(
        self, round_no: int, model: Vector | None, arrays: dict[str, NDArray[Any]]
    ) -> Request:
        """The request that carries the model after a round, or the sum only clients can decode."""
        state = State(
            round_no=round_no + 1,
            cohort=np.empty(0, np.int64),
            model=model,
            optimizer={},
            arrays=arrays,
        )
        return self.exchanges[0].build_request(state)


@dataclass(frozen=True, kw_only=True)
class Spending:
    """The account of an arm after a round, bytes up and down, and seconds."""

    account: ledger.Account
    crossed: tuple[int, int]
    seconds: float = 0.0


def start_arm(
    arm: Arm, desk: Desk, clients: int, account: Sequence[dict[str, Any]] = ()
) -> Checkpoint:
    """Checkpoint an arm before its first round; `account` is what its clients were charged before."""
    model, nothing = arm.first(), np.zeros(clients, np.int64)
    state = arm.optimizer.init(model) if model is not None else {}
    progress = Progress(arm=arm.name, round_no=0, account=[*account])
    return desk.save(
        Checkpoint(progress=progress, model=model, state=state, updates=nothing, last_round=nothing)
    )


def run_rounds(arm: Arm, desk: Desk, carrier: Carrier, now: Checkpoint) -> Checkpoint:
    """Run the remaining rounds of an arm."""
    settings = arm.plan.server
    while now.progress.round_no < settings.rounds and not server.should_stop(
        now.progress.losses, settings.patience
    ):
        now = run_round(arm, desk, carrier, now)
    return now


def run_round(arm: Arm, desk: Desk, carrier: Carrier, now: Checkpoint) -> Checkpoint:
    """Run one round and checkpoint it."""
    began, round_no = time.perf_counter(), now.progress.round_no + 1
    cohort = _choose_cohort(arm, carrier, now, round_no)
    updates, last_round = now.updates.copy(), now.last_round.copy()
    updates[cohort] += 1
    last_round[cohort] = round_no
    state = State(
        round_no=round_no, cohort=cohort, model=now.model, optimizer=now.state, arrays=now.arrays
    )
    before = Spending(account=ledger.Account.from_json(now.progress.account), crossed=(0, 0))
    state, spending = _run_exchanges(arm, desk, carrier, state, before, int(updates.max(initial=0)))
    seen = _read_model(arm, carrier, state)
    found = (
        arm.evaluator.after_round(seen, state, now.evaluated) if seen is not None else Evaluation()
    )
    desk.note(*found.entries)
    spent = replace(now.progress, round_no=round_no, account=spending.account.to_json())
    account = _charge_measure(arm, desk, found, spent, carrier.clients)
    spending = replace(spending, account=account, seconds=time.perf_counter() - began)
    _note_round(arm, desk, state, spending, found.metrics)
    progress = _advance_progress(now.progress, state, spending, found.metrics)
    return desk.save(
        replace(
            now,
            progress=progress,
            model=state.model,
            state=state.optimizer,
            arrays=state.arrays,
            evaluated=found.history or now.evaluated,
            updates=updates,
            last_round=last_round,
        )
    )


def _choose_cohort(arm: Arm, carrier: Carrier, now: Checkpoint, round_no: int) -> Names:
    """The clients asked in a round that can respond; where clients respond rarely, those that
    waited longest.
    """
    answered, draws = None, arm.draws.at("cohort", round_no)
    if arm.rations:
        able = carrier.willing(np.arange(carrier.clients))
        answered = np.full(carrier.clients, arm.plan.server.rounds + 1)
        answered[able] = now.last_round[able]
    return carrier.willing(server.choose_cohort(arm.plan.server, carrier.clients, draws, answered))


def _run_exchanges(
    arm: Arm, desk: Desk, carrier: Carrier, state: State, before: Spending, busiest: int
) -> tuple[State, Spending]:
    """Run all exchanges of a round; `busiest` is the largest number of responses of any client.

    If the round is lost, what was charged stays charged.
    """
    (up, down), account, first = before.crossed, before.account, state
    for exchange in arm.exchanges:
        if not exchange.takes_place(state.round_no):
            state = _skip(desk, exchange, state)
            continue
        request = exchange.build_request(state)
        account, entries = _charge(arm, exchange, state, account, busiest)
        _note_released(desk, [replace(entry, request=_hash_request(request)) for entry in entries])
        try:
            gathered = carrier.carry(exchange, request, _ticker(arm, desk, state))
        except RoundLost as lost:
            state = _lose_round(arm, desk, exchange, first, lost)
            break
        _note_refused(arm, desk, exchange, state.round_no, gathered)
        outcome = exchange.close(state, gathered.total)
        desk.note(*outcome.notes)
        state = outcome.state
        up += gathered.bytes_up
        down += (
            wire.size(request.frame) * len(request.to)
            if gathered.bytes_down is None
            else gathered.bytes_down
        )
    return state, Spending(account=account, crossed=(up, down) if arm.crosses else (0, 0))


def _skip(desk: Desk, exchange: Exchange, state: State) -> State:
    """The state after an exchange that this round does not have."""
    outcome = exchange.skip(state)
    desk.note(*outcome.notes)
    return outcome.state


def _lose_round(arm: Arm, desk: Desk, exchange: Exchange, first: State, lost: RoundLost) -> State:
    """Record that a round is lost; return the state that the next round begins with."""
    desk.note(
        record.Refused(
            arm=arm.name,
            round_no=first.round_no,
            exchange=exchange.name,
            sender="server",
            reason=f"round lost: {lost}",
        )
    )
    for one in arm.exchanges:
        first = one.lose(first)
    return first


def finish(arm: Arm, desk: Desk, now: Checkpoint, model: Vector, following: str) -> Checkpoint:
    """Record the arm's last model, and point the checkpoint at the arm that follows."""
    found = arm.evaluator.at_the_end(model, now.progress.round_no, now.evaluated)
    return finish_measured(
        arm, desk, now, hashlib.sha256(model.tobytes()).hexdigest(), found, following
    )


def finish_measured(
    arm: Arm, desk: Desk, now: Checkpoint, parameters_sha256: str, found: Evaluation, following: str
) -> Checkpoint:
    """Finish the arm with the evaluation of its last model."""
    desk.note(*found.entries)
    _charge_measure(arm, desk, found, now.progress, len(now.updates))
    progress, messages = now.progress, max(1, now.progress.messages)
    desk.note(
        record.Finished(
            arm=arm.name,
            rounds=progress.round_no,
            metrics={**progress.metrics, **found.metrics},
            parameters_sha256=parameters_sha256,
            bytes_up=progress.bytes_up // messages,
            bytes_down=progress.bytes_down // messages,
            seconds=progress.seconds,
            stopped_early=arm.in_rounds and progress.round_no < arm.plan.server.rounds,
        )
    )
    return desk.save(
        replace(
            now,
            progress=Progress(
                arm=following,
                round_no=0,
                begun=False,
                account=progress.account if arm.name == record.FEATURES else [],
            ),
            evaluated={},
        )
    )


def _charge(
    arm: Arm, exchange: Exchange, state: State, account: ledger.Account, busiest: int
) -> tuple[ledger.Account, list[record.Released]]:
    """Charge the clients that are about to respond; return the account and the entries for the
    record.
    """
    clients = len(state.cohort)
    claims = exchange.claims(max(1, clients))
    if ledger.is_subsampled(claims):
        busiest = state.round_no  # whoever might have been asked pays, in every round
    elif not clients:
        return account, []
    account = ledger.charge(account, claims, busiest)
    times = account.times(claims)
    return account, [
        ledger.build_release(claim, arm.name, state.round_no, exchange.name, clients, times)
        for claim in claims
    ]


def _note_released(desk: Desk, entries: list[record.Released]) -> None:
    """Sync charges to disk before anybody responds. One that repeats a charge from before a resume
    is the same charge.
    """
    desk.superseded[:] = [one for one in desk.superseded if one not in entries]
    desk.note(*entries)
    desk.writer.sync()


def _hash_request(request: Request) -> str:
    """Hash of a request and its recipients. The same request gets the same responses, also after a
    resume.
    """
    digest = hashlib.sha256(request.to.astype("<i8").tobytes())
    for part in request.frame:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def _charge_measure(
    arm: Arm, desk: Desk, found: Evaluation, progress: Progress, clients: int
) -> ledger.Account:
    """The account with the claims of a measure; sites have charged their own clients before they
    responded.
    """
    account = ledger.Account.from_json(progress.account)
    if not found.claims:
        return account
    times = account.times(found.claims) + 1
    desk.note(
        *(
            ledger.build_release(claim, arm.name, progress.round_no, "measure", clients, times)
            for claim in found.claims
        )
    )
    return ledger.charge(account, found.claims, times)


def _ticker(arm: Arm, desk: Desk, state: State) -> Callable[[int], None]:
    return lambda done: desk.observer.clients(arm.name, state.round_no, done, len(state.cohort))


def _note_refused(
    arm: Arm, desk: Desk, exchange: Exchange, round_no: int, gathered: Gathered
) -> None:
    for refusal in gathered.refused:
        desk.note(
            record.Refused(
                arm=arm.name,
                round_no=round_no,
                exchange=exchange.name,
                sender=str(refusal.sender),
                reason=refusal.reason,
            )
        )
    if gathered.refused and not gathered.clients:
        raise RunError(
            f"{arm.name}: all responses of round {round_no} were refused"
            f" ({gathered.refused[0].reason}); if training diverged, lower local.lr or server.lr,"
            " or clip the updates with codec.name = 'rr'"
        )


def _note_round(
    arm: Arm, desk: Desk, state: State, spending: Spending, metrics: dict[str, float]
) -> None:
    account = ledger.add_superseded(
        spending.account, [one for one in desk.superseded if one.arm == arm.name]
    )
    totals = [asdict(total) for total in ledger.compute_totals(account, arm.delta)]
    desk.note(
        record.Spent(arm=arm.name, round_no=state.round_no, totals=totals),
        record.Round(
            arm=arm.name,
            round_no=state.round_no,
            rounds=arm.plan.server.rounds,
            cohort=len(state.cohort),
            seconds=spending.seconds,
            bytes_up=spending.crossed[0],
            bytes_down=spending.crossed[1],
            metrics=metrics,
        ),
    )


def _advance_progress(
    before: Progress, state: State, spending: Spending, metrics: dict[str, float]
) -> Progress:
    return replace(
        before,
        round_no=state.round_no,
        seconds=before.seconds + spending.seconds,
        losses=(
            [*before.losses, metrics.get("loss", 1 - metrics["accuracy"])]
            if metrics
            else before.losses
        ),
        bytes_up=before.bytes_up + spending.crossed[0],
        bytes_down=before.bytes_down + spending.crossed[1],
        messages=before.messages + len(state.cohort),
        metrics=metrics or before.metrics,
        account=spending.account.to_json(),
    )


def _read_model(arm: Arm, carrier: Carrier, state: State) -> Vector | None:
    """The round's model, decoded by the server or by the carrier; raise RunError if it is not
    finite.
    """
    model = state.model
    if model is None:
        model = carrier.read(arm.build_request_after(state.round_no, None, state.arrays))
    if model is None:
        return None
    _check_finite(model, arm.name, state.round_no)
    return arm.release(model, state.optimizer, state.round_no)


def _check_finite(model: Vector, arm: str, round_no: int) -> None:
    if not np.isfinite(model).all():
        raise RunError(
            f"{arm}: round {round_no} ended in a model with values that are not finite, so training"
            " diverged; lower local.lr or server.lr, or clip the updates with codec.name = 'rr'"
        )
