"""Mapping from words to rows of a client's word table, and initial word vectors.

Each client may number its words differently. Rows 0 and 1 of the whole table are padding and
"unknown word". Shared words follow in lexicon order; the client's private rows come last.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.client import ClientSlot
from tacit.randomness import Draws
from tacit.rows import Lexicon, Vector

PADDING, UNKNOWN = 0, 1
PUBLIC_TABLES = 3
_STEM = 5


class OwnWords(NamedTuple):
    """What numbers a client's words: the unit of each of its private rows, its words that are too
    rare to have a row, and the key of its hash buckets (empty if a row belongs to one word).
    """

    units: tuple[str, ...]
    rare: frozenset[str]
    key: bytes = b""

    def to_json(self) -> bytes:
        """Encode them, to be stored with the client's parameters."""
        tree = {"units": self.units, "rare": sorted(self.rare), "key": self.key.hex()}
        return json.dumps(tree, separators=(",", ":")).encode()

    @staticmethod
    def from_json(content: bytes) -> OwnWords:
        """Read what `to_json` wrote."""
        found = json.loads(content)
        return OwnWords(
            tuple(found["units"]), frozenset(found["rare"]), bytes.fromhex(found["key"])
        )


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """One client's numbering: `rows[token]` is the table row of a lexicon token; `units[i]` names
    private row i. `own` numbers the words of the client's own texts.
    """

    rows: NDArray[np.int64]
    units: tuple[str, ...]
    own: OwnWords


class Vocabularies:
    """Vocabularies and initial vectors of all clients under one plan."""

    def __init__(self, private: plan.Private, lexicon: Lexicon, width: int, buckets: int) -> None:
        self.private, self.lexicon, self.width, self.buckets = private, lexicon, width, buckets
        known = lexicon.known()
        digits = np.array(
            [any(letter.isdigit() for letter in word) for word in lexicon.words], bool
        )
        match private.words:
            case "none":
                kept = np.zeros_like(digits)
            case "digits":
                kept = digits
            case "all":
                kept = np.ones_like(digits)
            case _:
                assert_never(private.words)
        self.private_word = kept
        # A shared table lists public words only; without public vectors it must list everybody's
        # words.
        self.shared = np.flatnonzero(~kept & (known | (lexicon.vectors is None)))
        self.shared_rows = 0 if private.words == "all" else 2 + len(self.shared)
        self.spread = lexicon.spread
        self.head = 2 if private.words == "all" else 0  # private rows that belong to no word
        self.place = {word: place for place, word in enumerate(lexicon.words)}

    def draw_shared_table(self, draws: Draws) -> NDArray[np.float32]:
        """Return the initial shared table: public vectors, random ones for other words, zero
        padding.
        """
        table = self._random(draws, self.shared_rows)
        if self.shared_rows and self.lexicon.vectors is not None:
            table[2:] = self.lexicon.vectors[self.shared]
        return table

    def vocabulary(
        self, slot: ClientSlot, tokens: NDArray[np.int32], more: NDArray[np.int32] | None = None
    ) -> Vocabulary:
        """Build the client's numbering of the words in its own tokens.

        `more` holds tokens of texts that are only read (tests): if initial vectors are public,
        their words get rows after the client's own; otherwise they are unknown words.
        """
        return self.number(slot, self.collect(slot, tokens), more)

    def collect(self, slot: ClientSlot, tokens: NDArray[np.int32]) -> OwnWords:
        """Collect what numbers the words of a client's own tokens."""
        rare = self._rare(tokens)
        units = dict.fromkeys(
            self._unit(slot, word)
            for word in self._sort_words(tokens)
            if self.private_word[word] and word not in rare
        )
        is_keyed = self.private.rows == "keyed"
        return OwnWords(
            units=tuple(units),
            rare=frozenset(self.lexicon.words[word] for word in rare),
            key=slot.own.private("key").words(4).tobytes() if is_keyed else b"",
        )

    def number(
        self, slot: ClientSlot, own: OwnWords, more: NDArray[np.int32] | None = None
    ) -> Vocabulary:
        """Number the words of the lexicon for a client; `more` as in `vocabulary`."""
        units = list(own.units)
        if more is not None and self.private.start != "random" and self.private.rows == "own":
            seen = set(units)
            extra = (
                self._unit(slot, word)
                for word in self._sort_words(more)
                if self.private_word[word] and self.lexicon.words[word] not in own.rare
            )
            units += [
                unit
                for unit in dict.fromkeys(extra)
                if unit not in seen and self._find_vector(unit) is not None
            ]
        rows = self._rows(slot, units, own.key)
        if self.private.rows == "keyed":
            rows[sorted(self.place[word] for word in own.rare if word in self.place)] = UNKNOWN
        return Vocabulary(rows=rows, units=tuple(units), own=own)

    def _rare(self, tokens: NDArray[np.int32]) -> frozenset[int]:
        """Words that are too rare in a client's own texts; words of a shared table are counted over
        all texts beforehand.
        """
        found, counts = np.unique(tokens, return_counts=True)
        few = found[(counts < self.lexicon.min_count) & (found < len(self.lexicon.words))]
        return frozenset(few.tolist())

    def _sort_words(self, tokens: NDArray[np.int32]) -> list[int]:
        """Return the distinct words in alphabetical order, which does not depend on other clients'
        words.
        """
        found = np.unique(tokens)
        return sorted(
            found[found < len(self.lexicon.words)].tolist(),
            key=lambda token: self.lexicon.words[token],
        )

    def extend_rows(
        self, slot: ClientSlot, table: NDArray[np.float32], units: tuple[str, ...]
    ) -> NDArray[np.float32]:
        """Extend a client's private rows with initial vectors for words that were added later."""
        more = units[len(table) - self.head :] if self.private.rows == "own" else ()
        return np.concatenate([table, self.start(slot, more)[self.head :]]) if more else table

    def start(self, slot: ClientSlot, units: tuple[str, ...]) -> NDArray[np.float32]:
        """Return the initial vectors of a client's private rows."""
        head = self.head
        match self.private.rows:
            case "keyed":
                return self._random(slot.own.private("table"), head + self.buckets, head)
            case "own":
                return self._draw_initial_rows(slot, units, head)
            case _:
                assert_never(self.private.rows)

    def _draw_initial_rows(
        self, slot: ClientSlot, units: tuple[str, ...], head: int
    ) -> NDArray[np.float32]:
        """Return the initial vectors of a client's private rows, one per word or stem."""
        # A word's random vector depends on the word and the client alone, not on which other words
        # there are.
        table = np.zeros((head + len(units), self.width), np.float32)
        rotation = self._rotation(slot)
        spread = 1.0 if self.private.words == "digits" else self.spread
        for place, unit in enumerate(units):
            vector = (
                None
                if self.private.start == "random" or self.private.words == "digits"
                else self._find_vector(unit)
            )
            if vector is None:
                generator = slot.own.private("word").at(unit).generator()
                vector = (spread * generator.standard_normal(self.width)).astype(np.float32)
            table[head + place] = vector if rotation is None else vector @ rotation
        return table

    def _rows(self, slot: ClientSlot, units: list[str], key: bytes) -> NDArray[np.int64]:
        rows = np.full(len(self.lexicon.words) + 1, UNKNOWN, np.int64)
        rows[-1] = PADDING
        rows[self.shared] = 2 + np.arange(len(self.shared)) if self.shared_rows else UNKNOWN
        first = self.shared_rows or 2
        if self.private.rows == "keyed":
            rows[:-1] = [first + _bucket(key, word, self.buckets) for word in self.lexicon.words]
            return rows
        if self.private.spelling == "word":
            found = [
                (self.place[unit], row) for row, unit in enumerate(units) if unit in self.place
            ]
            for token, row in found:
                rows[token] = first + row
            return rows
        at = {unit: first + place for place, unit in enumerate(units)}
        for token in np.flatnonzero(self.private_word).tolist():
            rows[token] = at.get(self._unit(slot, token), UNKNOWN)
        return rows

    def _unit(self, slot: ClientSlot, token: int) -> str:
        word, spelling = self.lexicon.words[token], self.private.spelling
        match spelling:
            case "word":
                stems = False
            case "stem":
                stems = True
            case "mixed":
                stems = slot.name % 2 == 1
            case _:
                assert_never(spelling)
        return find_stem(word) if stems else word

    def _find_vector(self, unit: str) -> Vector | None:
        if unit in self.lexicon.stems:
            return self.lexicon.stems[unit] if self.lexicon.stems[unit].any() else None
        place = self.place.get(unit)
        if place is None or self.lexicon.vectors is None or not self.lexicon.vectors[place].any():
            return None
        return np.asarray(self.lexicon.vectors[place], np.float32)

    def _rotation(self, slot: ClientSlot) -> NDArray[np.float32] | None:
        match self.private.start:
            case "random" | "public":
                return None
            case "rotated":
                return draw_rotation(slot.own.private("rotation"), self.width)
            case "varied":
                return draw_public_rotation(slot.name % PUBLIC_TABLES, self.width)
            case _:
                assert_never(self.private.start)

    def _random(self, draws: Draws, rows: int, zeros: int = 1) -> NDArray[np.float32]:
        table = (self.spread * draws.generator().standard_normal((rows, self.width))).astype(
            np.float32
        )
        table[:zeros] = 0
        return table


def find_stem(word: str) -> str:
    """Return the first letters of a word, or the whole string if it contains anything but letters."""
    return word[:_STEM] if word.isalpha() else word


def draw_public_rotation(table: int, width: int) -> NDArray[np.float32] | None:
    """Return the public rotation that derives table number `table` from the given vectors; the
    first is not rotated.
    """
    return draw_rotation(Draws.seeded(0).at("public table", table), width) if table else None


def draw_rotation(draws: Draws, width: int) -> NDArray[np.float32]:
    """Draw a uniformly random orthogonal matrix."""
    rotation, upper = np.linalg.qr(draws.generator().standard_normal((width, width)))
    return (rotation * np.sign(np.diag(upper))).astype(np.float32)


def _bucket(key: bytes, word: str, buckets: int) -> int:
    return int.from_bytes(hmac.digest(key, word.encode(), "sha256")[:8], "little") % buckets
