"""A client's own ledger: what it has answered, and what it refuses to answer beyond. It stands at
the client's site.

A server may ask what it likes; a client answers in so many rounds at most, so many rounds apart,
and for no more epsilon in all than it allows. What it pays is on its disk before an answer leaves.
Being asked the same again in the same round, as after a stop, costs nothing more: the answer is the
same to the bit.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.files import replace_file, seal, unseal
from tacit.privacy.claim import Claim
from tacit.privacy.ledger.account import Account, Charge, compute_totals, is_subsampled

Claims = tuple[Claim, ...]


class ChargeCounts:
    """How often each client has paid for something, and in which round it did last."""

    def __init__(self, times: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        self.times, self.last = times, last

    def after(self, place: int, round_no: int) -> int:
        """Return how often a client will have paid once it has paid in a round; again in the same
        round costs nothing.
        """
        return int(self.times[place]) + int(self.last[place] != round_no)

    def pay(self, places: NDArray[np.int64], round_no: int) -> None:
        """Let clients pay in a round."""
        self.times[places] += self.last[places] != round_no
        self.last[places] = round_no


class ClientLedgers:
    """The ledgers of all clients of one site, by place. `delta` is that of totals per run."""

    def __init__(
        self, limits: plan.Ledger, clients: int, delta: float, file: Path | None = None
    ) -> None:
        self.limits, self.clients, self.delta, self.file = limits, clients, delta, file
        self.rounds = self._nothing()
        self.paid: dict[Claims, ChargeCounts] = {}
        if file is not None and file.exists():
            self._read(file)

    def refusals(self, places: NDArray[np.int64], claims: Claims, round_no: int) -> dict[int, str]:
        """Return who of these clients does not answer in a round, and why; the others have paid for
        it, on the disk.
        """
        if not claims or not (self.limits.rations or self.limits.epsilon is not None):
            return {}
        refused = {
            place: why for place in places.tolist() if (why := self._too_often(place, round_no))
        }
        refused |= self._too_dear(
            [place for place in places.tolist() if place not in refused], claims, round_no
        )
        willing = np.array([place for place in places.tolist() if place not in refused], np.int64)
        self.rounds.pay(willing, round_no)
        self.paid.setdefault(claims, self._nothing()).pay(willing, round_no)
        self._write()
        return refused

    def forget(self) -> None:
        """Begin anew, as a run does that is started and not resumed."""
        self.rounds, self.paid = self._nothing(), {}
        if self.file is not None:
            self.file.unlink(missing_ok=True)

    def _nothing(self) -> ChargeCounts:
        return ChargeCounts(np.zeros(self.clients, np.int64), np.zeros(self.clients, np.int64))

    def _too_often(self, place: int, round_no: int) -> str:
        answered, last = int(self.rounds.times[place]), int(self.rounds.last[place])
        if last == round_no or not answered:
            return ""
        if round_no - last < self.limits.separation:
            return (
                f"its own ledger needs {self.limits.separation} rounds from one answer to the next,"
                f" and it answered in round {last}"
            )
        if self.limits.participations is not None and answered >= self.limits.participations:
            return (
                f"its own ledger lets it answer in {self.limits.participations} rounds, and it has"
            )
        return ""

    def _too_dear(self, places: list[int], claims: Claims, round_no: int) -> dict[int, str]:
        """Return who would have spent more than it allows; clients that have paid alike are
        reckoned once.
        """
        if self.limits.epsilon is None:
            return {}
        known, found = dict[tuple[tuple[Claims, int], ...], float | None](), dict[int, str]()
        nothing = self._nothing()
        for place in places:
            counts = {one: int(paid.times[place]) for one, paid in self.paid.items()}
            # On a sample, whoever might have been asked pays in every round.
            counts[claims] = (
                round_no
                if is_subsampled(claims)
                else self.paid.get(claims, nothing).after(place, round_no)
            )
            key = tuple(counts.items())
            if key not in known:
                known[key] = _compute_run_epsilon(key, self.delta)
            spent = known[key]
            if spent is None:
                found[place] = (
                    "its own ledger allows a total epsilon per run, and what is asked of it has"
                    " none"
                )
            elif spent > self.limits.epsilon:
                found[place] = (
                    f"its own ledger allows an epsilon of {self.limits.epsilon:g} per run, and this"
                    f" answer makes it {spent:.4g}"
                )
        return found

    def _write(self) -> None:
        if self.file is None:
            return
        columns = [self.rounds, *self.paid.values()]
        arrays = {
            "times": np.stack([one.times for one in columns]),
            "last": np.stack([one.last for one in columns]),
        }
        claims = json.dumps([[claim.to_json() for claim in one] for one in self.paid])
        self.file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.file, seal(arrays, {"claims": claims}))

    def _read(self, file: Path) -> None:
        arrays, facts = unseal(file)
        columns = [
            ChargeCounts(times.copy(), last.copy())
            for times, last in zip(arrays["times"], arrays["last"], strict=True)
        ]
        known = [tuple(map(Claim.from_json, one)) for one in json.loads(facts["claims"])]
        self.rounds, self.paid = columns[0], dict(zip(known, columns[1:], strict=True))


def _compute_run_epsilon(counts: tuple[tuple[Claims, int], ...], delta: float) -> float | None:
    """Return the total epsilon per run of claims, each paid for so often; None if there is no
    number.
    """
    stated = compute_totals(
        Account(tuple(Charge(claims, times) for claims, times in counts if times)), delta
    )
    run = [total.epsilon for total in stated if total.unit == "run"]
    known = [epsilon for epsilon in run if epsilon is not None]
    return min(known) if len(known) == len(run) else None
