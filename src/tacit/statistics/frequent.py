"""Frequent values or words that nobody stated, and how many of them there are.

The first round counts buckets of a hash. In the second one people add the codes of their values in
the buckets that stand out (`names`), each also to one of 16 lanes by a second hash: the lane of the
name counts it, and the others show how much of the bucket belongs to rarer values. The buckets are
stated in advance, so no threshold has to hide which values exist, and the server needs to see sums
only.

Source: hashed counts as in count sketches (Charikar, Chen and Farach-Colton 2002), names bit by bit as
in Bassily, Nissim, Stemmer and Thakurta 2017.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.answer import Noise, NoisyFigure
from tacit.statistics.block import Entries, QueryBlock, Result, Sums, build_entries, join_entries
from tacit.statistics.cells import LONGEST_NAME, Batch
from tacit.statistics.distinct import LaneCounts, count_distinct
from tacit.statistics.names import CODE_BITS, LANES, decode_name, encode_name, hash_name

_BUCKETS = 1 << 11
_STANDS_OUT = 3.0
"""Standard deviations by which a bucket must exceed zero; about three empty ones of 2,048 do."""
_COUNTED = 0.5
"""Part of a contribution's norm that counts; the rest says the name."""
_SLOT = LANES + CODE_BITS
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Found(NamedTuple):
    """A bucket that stands out: its name if it could be read, the count of its values and the
    standard deviation of the noise in it, all in contributions.
    """

    name: str | None
    total: float
    stddev: float


@dataclass(frozen=True)
class FrequentBlock(QueryBlock):
    """The most frequent values of a column, or words of its texts; `above` is the threshold of a
    number of distinct ones, 0 where they are listed.
    """

    column: str
    source: Literal["values", "words"]
    most: int
    rows_each: int
    words_each: int
    above: float = 0.0

    @property
    def size(self) -> int:  # type: ignore[override]
        """The larger of both rounds."""
        return max(_BUCKETS, self.most * _SLOT)

    @property
    def scale(self) -> float:
        """What a contribution of 1 stands for, in rows or people."""
        return math.sqrt(self.words_each) if self.source == "words" else float(self.rows_each)

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """First the bucket of each value, then the codes of values in buckets that stand out."""
        slots = None if before is None else self.find_slots(before, noise)
        owner, names = self._list_names(batch, slots)
        hashed = [hash_name(name) for name in names]
        if slots is None:
            places = np.array([one.bucket % _BUCKETS for one in hashed], np.int64)
            return build_entries(*_drop_repeated(owner, places, self.source), 1 / self.scale)
        parts = [build_entries(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0)]
        for person, name, one in zip(owner.tolist(), names, hashed, strict=True):
            first, (bits, signs) = slots[one.bucket % _BUCKETS] * _SLOT, encode_name(name)
            said = math.sqrt(1 - _COUNTED**2) / math.sqrt(len(bits))
            place = np.concatenate([[first + one.lane], first + LANES + bits])
            value = np.concatenate([[_COUNTED], said * signs]) / self.scale
            parts.append(build_entries(np.full(len(place), person), place, value))
        return join_entries(parts)

    def find_slots(self, before: Sums, noise: Noise) -> dict[int, int]:
        """The buckets that stand out, at most `most`, with a number for each."""
        sums = before[:_BUCKETS]
        largest = np.argsort(-sums, kind="stable")[: self.most]
        chosen = np.sort(largest[sums[largest] > _STANDS_OUT * noise.stddev])
        return {bucket: slot for slot, bucket in enumerate(chosen.tolist())}

    def _list_names(
        self, batch: Batch, slots: dict[int, int] | None
    ) -> tuple[NDArray[np.int64], list[bytes]]:
        """The names of each row, or of some words of each person, that have a code and, in the second
        round, a slot.
        """
        texts = batch.texts(self.column)
        if self.source == "values":
            names = [bytes(text) for text in texts.tolist()]
            owner = batch.owner
        else:
            words = _split_words(batch)(texts)
            chosen = [
                _draw_words(some, batch, person, self.words_each, slots)
                for person, some in enumerate(words)
            ]
            names = [name for some in chosen for name in some]
            owner = np.repeat(np.arange(batch.people), [len(some) for some in chosen])
        kept = [place for place, name in enumerate(names) if _has_slot(name, slots)]
        return owner[kept], [names[place] for place in kept]

    def find(self, sums: Sequence[Sums], noise: Noise) -> list[Found]:
        """The values that stand out, largest first."""
        slots, found = self.find_slots(sums[0], noise), list[Found]()
        for bucket, slot in slots.items():
            part = sums[1][slot * _SLOT : (slot + 1) * _SLOT]
            lane, spread = int(np.argmax(part[:LANES])), float(np.median(part[:LANES]))
            is_seen = part[lane] - spread > _STANDS_OUT * noise.stddev
            name = decode_name(part[LANES:], bucket, _BUCKETS) if is_seen else None
            lane = hash_name(name.encode()).lane if name else lane
            rest = float(np.median(np.delete(part[:LANES], lane)))
            stddev = noise.stddev * math.sqrt(1 + math.pi / 2 / (LANES - 1)) / _COUNTED
            others = math.sqrt(max(0.0, rest / _COUNTED) / self.scale)
            found.append(
                Found(name, (float(part[lane]) - rest) / _COUNTED, math.hypot(stddev, others))
            )
        return sorted(found, key=lambda one: -one.total)

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """One count for each value whose name could be read, or the number of values."""
        least = _STANDS_OUT * noise.stddev * self.scale
        note = f"values of fewer than about {_round(least)} are not seen"
        if self.above:
            figures: tuple[NoisyFigure, ...] = (self._count_distinct(sums, noise),)
        else:
            found = self.find(sums, noise)
            figures = tuple(
                self._build_figure(one, one.name, noise) for one in found if one.name is not None
            )
            unread = sum(one.name is None and one.total > 4 * one.stddev for one in found)
            if unread:
                note += f", and {unread:,} more stand out whose names cannot be read"
        return Result(figures, self.scale / _COUNTED, note)

    def _build_figure(self, one: Found, label: str, noise: Noise) -> NoisyFigure:
        half = noise.deviations * one.stddev * self.scale
        value = one.total * self.scale
        return NoisyFigure(label=label, value=value, low=value - half, high=value + half)

    def _count_distinct(self, sums: Sequence[Sums], noise: Noise) -> NoisyFigure:
        """The number of values above the threshold."""
        slots, part = self.find_slots(sums[0], noise), self.scale / _COUNTED
        slotted = sums[1][: len(slots) * _SLOT].reshape(-1, _SLOT)[:, :LANES]
        rest = np.median(slotted, axis=1, keepdims=True) if len(slots) else slotted[:, :1]
        stddev = noise.stddev * math.sqrt(1 + math.pi / 2 / (LANES - 1)) * part
        rarer = np.sqrt(np.maximum(0.0, rest) * part)
        counts = LaneCounts(
            lanes=slotted * part,
            lane_noise=noise.stddev * part,
            own=(slotted - rest) * part,
            own_noise=np.hypot(stddev, rarer),
            chosen=sums[0][[*slots]] * self.scale,
            others=np.delete(sums[0][:_BUCKETS], [*slots]) * self.scale,
            bucket_noise=noise.stddev * self.scale,
        )
        label = f"distinct {self.source} above {self.above:g}"
        return count_distinct(counts, self.above, noise.confidence, label)


def _split_words(batch: Batch):  # type: ignore[no-untyped-def]
    """A function that lists the different words of each person's texts, in alphabetical order."""

    def split(texts: NDArray[np.object_]) -> list[list[bytes]]:
        words: list[set[bytes]] = [set() for _ in range(batch.people)]
        for person, text in zip(batch.owner.tolist(), texts.tolist(), strict=True):
            found = _WORD.findall(text.decode(errors="replace").lower())
            words[person].update(word.encode() for word in found)
        return [sorted(some) for some in words]

    return split


def _draw_words(
    words: list[bytes], batch: Batch, person: int, most: int, slots: dict[int, int] | None
) -> list[bytes]:
    """At most `most` words of a person with a code and a slot of their own, drawn at random."""
    usable = [word for word in words if _has_slot(word, slots)]
    if len(usable) > most:
        order = batch.draws[person].permutation(len(usable))[:most]
        usable = [usable[place] for place in np.sort(order).tolist()]
    return list({hash_name(word).bucket % _BUCKETS: word for word in usable}.values())


def _has_slot(name: bytes, slots: dict[int, int] | None) -> bool:
    if not 0 < len(name) <= LONGEST_NAME:
        return False
    return slots is None or hash_name(name).bucket % _BUCKETS in slots


def _drop_repeated(
    owner: NDArray[np.int64], places: NDArray[np.int64], source: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of words, each bucket of a person once."""
    if source == "values" or not len(owner):
        return owner, places
    pairs = np.unique(np.stack([owner, places]), axis=1)
    return pairs[0], pairs[1]


def _round(number: float) -> str:
    return f"{math.ceil(number):,}"
