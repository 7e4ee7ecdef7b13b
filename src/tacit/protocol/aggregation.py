"""Summation of responses: who may contribute to a round's sum, and in which order sums are merged.

Clients of the cohort contribute once each, with a weight both sides agreed on. Chunks of a cohort
depend on the cohort alone, never on the number of workers, and are merged in a fixed tree
(`merge_tree.py`), so that floating-point sums are equal to the bit with any number of workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError
from tacit.rows import Vector

_FEWEST, _MOST, _LARGEST = 16, 256, 64
"""A cohort has about 16 chunks, few enough to merge cheaply. A large one has up to 256 chunks of 64
clients or more, enough for the cores of a cluster.
"""


def split_into_chunks(cohort: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the cohort's chunks, in order; they depend on the cohort alone."""
    clients = len(cohort)
    size = max(1, -(-clients // _MOST), min(-(-clients // _FEWEST), _LARGEST))
    for first in range(0, len(cohort), size):
        yield cohort[first : first + size]


class Intake:
    """Tracks who was asked and who has responded. A response is checked, added, and then noted, so
    that an invalid one takes nobody's place.
    """

    def __init__(
        self,
        asked: Iterable[int],
        round_no: int,
        largest_weight: int,
        least_weight: int = 1,
        commitments: Mapping[int, bytes] | None = None,
        everyone: NDArray[np.int64] | None = None,
    ) -> None:
        """`commitments` are what responses must match, by sender; `everyone` is the whole cohort,
        if `asked` is a chunk of it.
        """
        self._waited_for, self.round_no = set(asked), round_no
        self._commitments = commitments or {}
        self.everyone = (
            np.array(sorted(self._waited_for), np.int64) if everyone is None else everyone
        )
        self._seen: set[int] = set()
        self.least_weight, self.largest_weight = least_weight, largest_weight

    def check(self, sender: int, round_no: int, weight: int) -> None:
        """Raise WireError if a response must not be added."""
        if round_no != self.round_no:
            raise WireError(
                f"response from sender {sender} refused: it must be for round {self.round_no}, got"
                f" round {round_no}"
            )
        if sender in self._seen:
            raise WireError(
                f"response from sender {sender} refused: it has already responded in this round"
            )
        if sender not in self._waited_for:
            raise WireError(
                f"response from sender {sender} refused: it was not asked in this round"
            )
        if not self.least_weight <= weight <= self.largest_weight:
            allowed = f"from {self.least_weight} to {self.largest_weight:,}"
            raise WireError(
                f"response from sender {sender} refused: its weight must be {allowed}, got"
                f" {weight:,}"
            )

    def check_commitment(self, sender: int, payload: memoryview) -> None:
        """Raise WireError if a client sends something other than what it committed to."""
        promised = self._commitments.get(sender)
        if promised is not None and compute_commitment(payload) != promised:
            raise WireError(
                f"response from sender {sender} refused: it is not the update that it"
                " committed to before the vote"
            )

    def check_all(self, senders: list[int], weight: int) -> None:
        """Raise WireError if a site's sum over several clients must not be added."""
        if len(set(senders)) != len(senders):
            raise WireError("sum refused: it contains a client twice")
        unknown = [
            sender for sender in senders if sender not in self._waited_for or sender in self._seen
        ]
        if unknown:
            raise WireError(
                f"sum refused: client {unknown[0]} was not asked, or has already responded"
            )
        if not len(senders) <= weight <= len(senders) * self.largest_weight:
            most = len(senders) * self.largest_weight
            raise WireError(
                f"sum refused: its weight must be from {len(senders):,} to {most:,}, got {weight:,}"
            )

    def note(self, *senders: int) -> None:
        """Note that the responses of these clients were added."""
        self._seen.update(senders)


def compute_commitment(payload: memoryview) -> bytes:
    """SHA-256 of a payload, which binds a client to it."""
    return hashlib.sha256(payload).digest()


class CollectedUpdates:
    """The decoded update of each sender and its weight, for rules that need single updates. Memory
    grows with the cohort.
    """

    def __init__(self) -> None:
        self.weight = 0
        self._of: dict[int, tuple[Vector, int]] = {}

    def add(self, sender: int, update: Vector, weight: int) -> None:
        """Keep one client's update."""
        self._of[sender] = (update, weight)
        self.weight += weight

    def merge(self, other: CollectedUpdates) -> None:
        """Take over updates collected elsewhere."""
        self._of |= other._of
        self.weight += other.weight

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The collected updates as arrays; the width is 0 if there are none."""
        if not self._of:
            nobody = np.empty(0, np.int64)
            return {"names": nobody, "rows": np.empty((0, 0), np.float32), "weights": nobody}
        names, rows, weights = self.value()
        return {"names": names, "rows": rows, "weights": weights}

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over updates that another process collected."""
        rows = zip(
            arrays["names"].tolist(), arrays["rows"], arrays["weights"].tolist(), strict=True
        )
        for name, row, weight in rows:
            self.add(name, row, weight)

    def value(self) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """The senders in ascending order, their updates as rows, and their weights. Requires at
        least one.
        """
        names = sorted(self._of)
        rows = np.stack([self._of[name][0] for name in names])
        return (
            np.array(names, np.int64),
            rows,
            np.array([self._of[name][1] for name in names], np.int64),
        )
