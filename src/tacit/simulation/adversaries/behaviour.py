"""How corrupted clients of an experiment behave, as its plan's [corrupt] table says."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit.client import ClientSlot
from tacit.plan.tables.corrupt import (
    ALIE,
    IPM,
    Colluding,
    Corrupt,
    CorruptRows,
    FreeRider,
    Mimic,
    OwnAttack,
    RandomUpdate,
    SignFlip,
)
from tacit.protocol.site import Honest
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.training import Update, attacks
from tacit.training.contract import DenseUpdate

Names = NDArray[np.int64]


class Misbehaving(Honest):
    """Corrupted clients that misbehave from some round on."""

    def __init__(
        self, settings: Corrupt, corrupted: NDArray[np.bool_], draws: Draws, *, rows_before: bool
    ) -> None:
        """`rows_before` says that the original rows of the corrupted clients follow all clients'
        rows, as further blocks.
        """
        super().__init__()
        self.settings, self.corrupted, self.draws = settings, corrupted, draws
        self._agreed_in = 0
        self._before = len(corrupted) + np.cumsum(corrupted) - 1 if rows_before else None

    def acts(self, name: int, round_no: int) -> bool:
        """Whether a client misbehaves in a round."""
        return bool(self.corrupted[name]) and round_no >= self.settings.from_round

    def trains(self, slot: ClientSlot, round_no: int) -> ClientSlot:
        """Choose the rows a client trains on: until a corrupted client acts, its original rows."""
        if self._before is None or not self.corrupted[slot.name] or self.acts(slot.name, round_no):
            return slot
        return slot._replace(block=int(self._before[slot.name]))

    def sends(self, slot: ClientSlot, update: Update, round_no: int, exchange: str) -> Update:
        """The update that a client sends."""
        if not self.acts(slot.name, round_no):
            return update
        settings = self.settings
        if isinstance(settings, FreeRider):
            return DenseUpdate(attacks.free_rider(update.row))
        if isinstance(settings, SignFlip):
            return DenseUpdate(attacks.sign_flip(update.row, settings.scale))
        if isinstance(settings, RandomUpdate):
            return DenseUpdate(
                attacks.gaussian(
                    update.row, self.draws.at(round_no, slot.name, exchange), settings.scale
                )
            )
        if isinstance(settings, OwnAttack):
            from tacit.training.own_attack import attack_by_own_code

            draws = self.draws.at(round_no, slot.name, exchange)
            return DenseUpdate(attack_by_own_code(settings, update.row, draws))
        if isinstance(settings, Colluding):
            return DenseUpdate(self.common[exchange])
        if isinstance(settings, CorruptRows):
            return update
        assert_never(settings)

    def all_honest(self, names: Names, round_no: int) -> bool:
        """Whether none of these clients misbehaves in a round."""
        return round_no < self.settings.from_round or not self.corrupted[names].any()

    def votes(
        self, slot: ClientSlot, helped: NDArray[np.bool_], on: Names, round_no: int
    ) -> NDArray[np.bool_] | None:
        """The votes of a dishonest tester: the opposite of what it found, or for the corrupted
        clients and against all others.
        """
        if not self.acts(slot.name, round_no):
            return None
        match self.settings.votes:
            case "honest":
                return None
            case "inverted":
                return ~helped
            case "colluding":
                return self.corrupted[on]
            case _:
                assert_never(self.settings.votes)

    def colluders(self, cohort: Names, round_no: int) -> Names:
        """The corrupted clients of a cohort, if they collude and have not agreed in this round yet.

        They agree once per round, in its first exchange. Clients that are asked later, after some
        were rejected, send what was agreed.
        """
        settings = self.settings
        if (
            not isinstance(settings, Colluding)
            or round_no < settings.from_round
            or round_no == self._agreed_in
        ):
            return np.empty(0, np.int64)
        return cohort[self.corrupted[cohort]]

    def collude(self, seen: dict[str, NDArray[np.float32]], clients: int, round_no: int) -> None:
        """Compute what all colluders send in each exchange of the round."""
        self._agreed_in = round_no
        self.common = {exchange: self._together(rows, clients) for exchange, rows in seen.items()}

    def _together(self, seen: NDArray[np.float32], clients: int) -> Vector:
        settings = self.settings
        if isinstance(settings, ALIE):
            return attacks.alie(seen, clients, len(seen), settings.spread)
        if isinstance(settings, IPM):
            return attacks.ipm(seen, settings.scale)
        if isinstance(settings, Mimic):
            return attacks.mimic(seen)
        raise AssertionError(f"clients do not collude by {settings.kind!r}")
