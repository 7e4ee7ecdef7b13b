"""The server side of a run: its first model, the model it releases, and rows of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import assert_never

from tacit import server, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.plan import Local, Plan, RowSharing
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.train import Member
from tacit.protocol.loop import Release, keep_model
from tacit.randomness import Draws
from tacit.rows import Rows, Vector
from tacit.runs import record


@dataclass(frozen=True, kw_only=True)
class ServerRows:
    """Rows that the server may read: public ones, and test rows to measure the first model on."""

    public: Rows | None = None
    test: Rows | None = None


def build_first_model(
    plan: Plan,
    learner: training.Learner,
    draws: Draws,
    rows: ServerRows,
    module: object | None = None,
) -> tuple[Vector, record.WarmStarted | None]:
    """Build the first model, with the record's entry if the server trains it on public rows."""
    if plan.public is None or rows.public is None:
        return learner.initial(draws.at("initial")), None
    from tacit.assembly.warm_start import train_first_model

    return train_first_model(plan, learner, draws, rows, module)


def choose_member_pace(
    share: RowSharing | None, local: Local, clients_weight: int, clients: int
) -> Local:
    """Choose the local settings with which the server trains on disclosed rows.

    `clients_weight` is the number of rows that all `clients` keep, as they declared it.
    """
    if share is None:
        return local
    match share.server_steps:
        case "all_rows":
            return local
        case "as_client":
            steps = training.local_steps(local, math.ceil(clients_weight / max(1, clients)))
            return replace(
                local, batch=None, batches=max(1, steps // (local.epochs or 1)), steps=None
            )
        case _:
            assert_never(share.server_steps)


def build_member(
    learner: training.Learner, block: int, rows: int, clients_weight: int, draws: Draws
) -> Member:
    """Build the server as one more member of the average, from disclosed rows in a learner's block.

    `clients_weight` is the total weight of all clients with the rows they keep.
    """
    worker, slot = learner.worker(), ClientSlot(-1, block, ClientRandomness(draws, "server"))

    def member(model: Vector, round_no: int) -> server.ServerUpdate:
        update = worker.train(model, slot, slot.own.train(round_no), round_no).row
        return server.ServerUpdate(update=update, rows=rows, clients_weight=clients_weight)

    return member


def build_release(plan: Plan, agreement: Agreement, clients: int) -> Release:
    """Build the function that turns the trained model into the released one: unchanged, unless the
    plan softens it.
    """
    soften, accumulate = plan.server.soften, agreement.optimizer.noise
    if not soften or agreement.codec.known_noise is None or accumulate is None:
        return keep_model
    noise = agreement.codec.known_noise(agreement.dim) / (plan.server.cohort_size or clients)

    def release(model: Vector, state: server.ServerState, rounds: int) -> Vector:
        return server.soften_model(model, state[server.FIRST], soften * accumulate(noise, rounds))

    return release
