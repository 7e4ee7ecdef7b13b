"""Who is corrupted in an experiment, and what that does to the rows of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.clients.corrupt import choose_corrupted, corrupt_rows, patch_test_rows
from tacit.plan.tables.corrupt import Backdoor, Corrupt, CorruptRows
from tacit.randomness import Draws
from tacit.rows import Clients, Rows
from tacit.runs import record


@dataclass(frozen=True, kw_only=True)
class Corruption:
    """Which clients are corrupted and how.

    `before` are the rows corrupted clients train on while they still behave, one client after the
    other; `backdoor` are test rows with the patch, labelled as the attacker wants them.
    """

    settings: Corrupt
    clients: NDArray[np.bool_]
    before: Rows | None = None
    backdoor: Rows | None = None

    def entry(self) -> record.Corrupted:
        """Return what the record says of it."""
        return record.Corrupted(
            corruption=self.settings.kind,
            clients=np.flatnonzero(self.clients).tolist(),
            of_clients=len(self.clients),
        )


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What clients hold: the rows they train on and the rows they are tried on, each in client
    order.
    """

    train: Rows
    clients: Clients
    own: Rows
    own_clients: Clients


def corrupted(
    settings: Corrupt, held: Holdings, test: Rows, draws: Draws
) -> tuple[Holdings, Corruption]:
    """Return what clients hold once some of them are corrupted, and who they are; honest clients'
    rows stay as they are.
    """
    clients = choose_corrupted(settings.clients, len(held.clients), draws.at("clients"))
    train, own = (
        corrupt_rows(held.train, held.clients, clients, settings, draws.at("train")),
        held.own,
    )
    if isinstance(settings, CorruptRows) and settings.tests:
        own = (
            train
            if own is held.train
            else corrupt_rows(own, held.own_clients, clients, settings, draws.at("own"))
        )
    behaves = isinstance(settings, CorruptRows) and settings.from_round > 1
    found = Corruption(
        settings=settings,
        clients=clients,
        before=(
            held.train.take(np.flatnonzero(np.repeat(clients, held.clients.sizes())))
            if behaves
            else None
        ),
        backdoor=patch_test_rows(test, settings) if isinstance(settings, Backdoor) else None,
    )
    return Holdings(train=train, clients=held.clients, own=own, own_clients=held.own_clients), found


def with_rows_before(
    held: Rows, clients: Clients, corruption: Corruption | None
) -> tuple[Rows, Clients]:
    """Return the rows with those that corrupted clients had before, if they behave at first, as
    further blocks at the end.
    """
    if corruption is None or corruption.before is None:
        return held, clients
    ends = len(held) + np.cumsum(clients.sizes()[corruption.clients])
    starts = np.concatenate([clients.starts, ends])
    return held.followed_by(corruption.before), Clients(order=np.arange(starts[-1]), starts=starts)
