"""A client's own ledger at its site: which rounds it responded in, and which requests it refuses.

A server may request anything. A client responds in a limited number of rounds, a minimum number of
rounds apart, and up to a total epsilon. The charge is on its disk before a response is sent. The
same request repeated in the same round, as after a restart, is not charged again: the response is
the same to the bit.
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
    """How often each client was charged, and the round of its last charge."""

    def __init__(self, times: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        self.times, self.last = times, last

    def count_after(self, place: int, round_no: int) -> int:
        """Number of charges of a client once it is charged in a round; a round is charged once."""
        return int(self.times[place]) + int(self.last[place] != round_no)

    def charge(self, places: NDArray[np.int64], round_no: int) -> None:
        """Charge clients in a round."""
        self.times[places] += self.last[places] != round_no
        self.last[places] = round_no


class ClientLedgers:
    """Ledgers of all clients of one site, by row block. `delta` is that of totals per run."""

    def __init__(
        self, limits: plan.Ledger, clients: int, delta: float, file: Path | None = None
    ) -> None:
        self.limits, self.clients, self.delta, self.file = limits, clients, delta, file
        self.rounds = self._build_counts()
        self.charged: dict[Claims, ChargeCounts] = {}
        if file is not None and file.exists():
            self._read(file)

    def charge(self, places: NDArray[np.int64], claims: Claims, round_no: int) -> dict[int, str]:
        """Charge the clients that may respond in a round, on the disk; return those that refuse,
        with the reason.
        """
        if not claims or not (self.limits.rations or self.limits.epsilon is not None):
            return {}
        refused = {
            place: why for place in places.tolist() if (why := self._refuse_round(place, round_no))
        }
        refused |= self._refuse_epsilon(
            [place for place in places.tolist() if place not in refused], claims, round_no
        )
        willing = np.array([place for place in places.tolist() if place not in refused], np.int64)
        self.rounds.charge(willing, round_no)
        self.charged.setdefault(claims, self._build_counts()).charge(willing, round_no)
        self._write()
        return refused

    def reset(self) -> None:
        """Delete all charges, for a run that is started and not resumed."""
        self.rounds, self.charged = self._build_counts(), {}
        if self.file is not None:
            self.file.unlink(missing_ok=True)

    def _build_counts(self) -> ChargeCounts:
        return ChargeCounts(np.zeros(self.clients, np.int64), np.zeros(self.clients, np.int64))

    def _refuse_round(self, place: int, round_no: int) -> str:
        answered, last = int(self.rounds.times[place]), int(self.rounds.last[place])
        if last == round_no or not answered:
            return ""
        if round_no - last < self.limits.separation:
            return (
                f"its own ledger requires {self.limits.separation} rounds between responses, and it"
                f" responded in round {last}"
            )
        if self.limits.participations is not None and answered >= self.limits.participations:
            return (
                f"its own ledger allows responses in {self.limits.participations} rounds, and it has"
                " used them"
            )
        return ""

    def _refuse_epsilon(self, places: list[int], claims: Claims, round_no: int) -> dict[int, str]:
        """Find clients whose limit would be exceeded; clients with equal charges are computed once."""
        if self.limits.epsilon is None:
            return {}
        known, found = dict[tuple[tuple[Claims, int], ...], float | None](), dict[int, str]()
        nothing = self._build_counts()
        for place in places:
            counts = {one: int(charged.times[place]) for one, charged in self.charged.items()}
            # Under subsampling, every client is charged in every round.
            counts[claims] = (
                round_no
                if is_subsampled(claims)
                else self.charged.get(claims, nothing).count_after(place, round_no)
            )
            key = tuple(counts.items())
            if key not in known:
                known[key] = _compute_run_epsilon(key, self.delta)
            spent = known[key]
            if spent is None:
                found[place] = (
                    "its own ledger limits epsilon per run, and no epsilon exists for the requested"
                    " response"
                )
            elif spent > self.limits.epsilon:
                found[place] = (
                    f"its own ledger allows epsilon {self.limits.epsilon:g} per run, and this"
                    f" response would make it {spent:.4g}"
                )
        return found

    def _write(self) -> None:
        if self.file is None:
            return
        columns = [self.rounds, *self.charged.values()]
        arrays = {
            "times": np.stack([one.times for one in columns]),
            "last": np.stack([one.last for one in columns]),
        }
        claims = json.dumps([[claim.to_json() for claim in one] for one in self.charged])
        self.file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.file, seal(arrays, {"claims": claims}))

    def _read(self, file: Path) -> None:
        arrays, facts = unseal(file)
        columns = [
            ChargeCounts(times.copy(), last.copy())
            for times, last in zip(arrays["times"], arrays["last"], strict=True)
        ]
        known = [tuple(map(Claim.from_json, one)) for one in json.loads(facts["claims"])]
        self.rounds, self.charged = columns[0], dict(zip(known, columns[1:], strict=True))


def _compute_run_epsilon(counts: tuple[tuple[Claims, int], ...], delta: float) -> float | None:
    """Epsilon per run of claims, each charged a number of times; None if no epsilon exists."""
    stated = compute_totals(
        Account(tuple(Charge(claims, times) for claims, times in counts if times)), delta
    )
    run = [total.epsilon for total in stated if total.unit == "run"]
    known = [epsilon for epsilon in run if epsilon is not None]
    return min(known) if len(known) == len(run) else None
