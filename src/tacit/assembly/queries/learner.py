"""The learner of a plan with queries: a client's update is what its rows contribute to them.

So queries use what training uses: exchanges, codecs, secure aggregation, carriers, ledgers and records.
The model that rounds carry is the sum of all contributions so far, divided by the number of clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.client import ClientSlot
from tacit.codecs import Codec
from tacit.plan import Statistics
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Inputs, Rows, SparseUpdates, Vector
from tacit.statistics.block import Entries
from tacit.statistics.cells import Batch
from tacit.statistics.layout import build_layout
from tacit.training import Group, HeadPlace, Update

_AT_ONCE = 1 << 14
"""Rows whose contributions are computed together."""


class StatisticsLearner:
    """Computes contributions of a site's clients, whose rows are in client order.

    Between rounds nothing is stored: the second round's contributions follow from the sums in the
    request. `calibrate` states the noise in these sums, by which both sides read them.
    """

    parallel: Literal["threads", "processes"] = "threads"
    personal = False

    def __init__(self, settings: Statistics, rows: Rows, clients: Clients) -> None:
        self.settings, self.rows, self.clients = settings, rows, clients
        self.layout = build_layout(settings)
        self.size = self.layout.size
        self.layers: tuple[int, ...] = (self.size,)
        self.stddev, self.cohort = 0.0, 1

    def calibrate(self, codec: Codec, clients: int) -> None:
        """Take over the noise of the run's codec on a sum over its clients."""
        self.stddev = 0.0 if codec.sum_noise is None else codec.sum_noise(self.size)
        self.cohort = clients

    @property
    def head(self) -> HeadPlace | None:
        """There is no last layer."""
        return None

    def initial(self, draws: Draws) -> Vector:
        """Nothing was asked yet."""
        return np.zeros(self.size, np.float32)

    def forget(self) -> None:
        """Nothing is stored."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Nothing is stored."""

    def worker(self) -> ContributionWorker:
        """A worker over the same rows."""
        return ContributionWorker(self)

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Sums predict nothing."""
        raise NotImplementedError("a plan with [statistics] trains no model")

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """The sums as an array."""
        return {"sums": model}

    def to_sums(self, model: Vector) -> NDArray[np.float64]:
        """The sums of contributions in a model."""
        return np.asarray(model, np.float64) * self.cohort

    @cached_property
    def records(self) -> NDArray[Any]:
        """The rows as records."""
        assert isinstance(self.rows.inputs, Dense), "cells are records of one array"
        return self.rows.inputs.matrix


class ContributionWorker:
    """Computes the contributions of one group of clients after the other."""

    def __init__(self, learner: StatisticsLearner) -> None:
        self.learner = learner

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """The contributions of one client in a round."""
        return next(self.train_together(model, [slot], [draws], round_no)).updates[0]

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[Group]:
        """Yield the contributions of some clients, several clients at a time."""
        learner, first = self.learner, 0
        before = learner.to_sums(model) if round_no > 1 else None
        sizes = learner.clients.sizes()[[slot.block for slot in slots]]
        kept = np.minimum(sizes, learner.settings.rows_per_person)
        while first < len(slots):
            most = int(np.searchsorted(np.cumsum(kept[first:]), _AT_ONCE, side="right"))
            some = slice(first, first + max(1, most))
            batch = self._build_batch(slots[some], draws[some])
            yield self._group(
                learner.layout.contribute(batch, before, learner.stddev), batch.people
            )
            first = some.stop

    def _build_batch(self, slots: Sequence[ClientSlot], draws: Sequence[Draws]) -> Batch:
        """The rows of some clients that count: all, or as many as count, drawn at random."""
        learner, most = self.learner, self.learner.settings.rows_per_person
        starts, places = learner.clients.starts, list[NDArray[np.int64]]()
        for slot, own in zip(slots, draws, strict=True):
            begin, end = (int(edge) for edge in starts[slot.block : slot.block + 2])
            if end - begin > most:
                chosen = own.at("rows").generator().permutation(end - begin)[:most]
                places.append(begin + np.sort(chosen))
            else:
                places.append(np.arange(begin, end))
        owner = np.repeat(np.arange(len(slots)), [len(some) for some in places])
        return Batch(
            records=learner.records[np.concatenate(places)],
            owner=owner,
            people=len(slots),
            rows_each=most,
            words_each=learner.settings.words_per_person,
            draws=_LazyGenerators(draws),
        )

    def _group(self, entries: Entries, people: int) -> Group:
        """Contributions as sparse updates: values of one coordinate of a client are added up."""
        size = self.learner.size
        keys, which = np.unique(entries.owner * size + entries.place, return_inverse=True)
        values = np.bincount(which, entries.value, len(keys)).astype(np.float32)
        owner, places = np.divmod(keys, size)
        starts = np.searchsorted(owner, np.arange(people + 1)).astype(np.int64)
        named = places.astype(np.int32)
        updates = [
            Contribution(named[begin:end], values[begin:end], size)
            for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
        return Group(updates, SparseUpdates(values, starts, named, starts, 1, size))


class Contribution:
    """One client's contributions; a full row only where a codec encodes it."""

    def __init__(self, places: NDArray[np.int32], values: Vector, size: int) -> None:
        self._places, self._values, self._size = places, values, size

    @property
    def row(self) -> Vector:
        """The contributions as one flat row."""
        row = np.zeros(self._size, np.float32)
        row[self._places] = self._values
        return row


class _LazyGenerators(Sequence[np.random.Generator]):
    """Each client's generator for the choice of words, made when it is needed."""

    def __init__(self, draws: Sequence[Draws]) -> None:
        self._draws = draws

    def __len__(self) -> int:
        return len(self._draws)

    def __getitem__(self, place: Any) -> Any:
        return self._draws[place].at("words").generator()
