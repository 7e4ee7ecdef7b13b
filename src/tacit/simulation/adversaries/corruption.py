"""Choose the corrupted clients of an experiment and corrupt their rows."""

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
    """The corrupted clients, and how they are corrupted.

    `before` are the original rows, which corrupted clients train on while they still behave, client
    by client. `backdoor` are test rows with the trigger, labelled as the attacker wants them.
    """

    settings: Corrupt
    clients: NDArray[np.bool_]
    before: Rows | None = None
    backdoor: Rows | None = None

    def entry(self) -> record.Corrupted:
        """The entry about corruption in the record."""
        return record.Corrupted(
            corruption=self.settings.kind,
            clients=np.flatnonzero(self.clients).tolist(),
            of_clients=len(self.clients),
        )


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """The training rows and held-out test rows of clients, each in client order."""

    train: Rows
    clients: Clients
    own: Rows
    own_clients: Clients


def corrupt_clients(
    settings: Corrupt, holdings: Holdings, test: Rows, draws: Draws
) -> tuple[Holdings, Corruption]:
    """Corrupt some clients. Return all clients' rows afterwards and the corruption; rows of honest
    clients do not change.
    """
    clients = choose_corrupted(settings.clients, len(holdings.clients), draws.at("clients"))
    train, own = (
        corrupt_rows(holdings.train, holdings.clients, clients, settings, draws.at("train")),
        holdings.own,
    )
    if isinstance(settings, CorruptRows) and settings.tests:
        own = (
            train
            if own is holdings.train
            else corrupt_rows(own, holdings.own_clients, clients, settings, draws.at("own"))
        )
    behaves = isinstance(settings, CorruptRows) and settings.from_round > 1
    found = Corruption(
        settings=settings,
        clients=clients,
        before=(
            holdings.train.take(np.flatnonzero(np.repeat(clients, holdings.clients.sizes())))
            if behaves
            else None
        ),
        backdoor=patch_test_rows(test, settings) if isinstance(settings, Backdoor) else None,
    )
    return Holdings(
        train=train, clients=holdings.clients, own=own, own_clients=holdings.own_clients
    ), found


def append_rows_before(
    holdings: Rows, clients: Clients, corruption: Corruption | None
) -> tuple[Rows, Clients]:
    """Append the original rows of corrupted clients as further blocks, if they behave at first."""
    if corruption is None or corruption.before is None:
        return holdings, clients
    ends = len(holdings) + np.cumsum(clients.sizes()[corruption.clients])
    starts = np.concatenate([clients.starts, ends])
    return holdings.followed_by(corruption.before), Clients(
        order=np.arange(starts[-1]), starts=starts
    )
