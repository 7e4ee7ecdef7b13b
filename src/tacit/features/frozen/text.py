"""Frozen text encoders as features; their outputs are cached.

Word pieces are padded to a few fixed shapes. So short texts cost little, and the row of a text does
not depend on the other texts of its batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.features.frozen.row_cache import RowCache
from tacit.features.frozen.text_network import TextNetwork, load_text_network
from tacit.features.text.text_reader import TextReader

Ticks = Callable[[int, int], None]
"""Called with the number of texts that are done, and the total number."""

# Raise it when the same text and weights give other numbers: cached rows are then not used.
_FORMAT = 1
_STEP = 8
_PIECES = 512
"""Word pieces per batch: what more of them need does not fit a core's cache."""
_CHUNK = 2000


def build_text_reader(
    name: str, folder: Path, cache: Path, length: int, ticks: Ticks | None = None
) -> TextReader:
    """Build the reader of the text network in a folder; its outputs are cached below `cache`."""
    precision = choose_precision()
    network = load_text_network(folder, length, precision)
    where = hashlib.sha256(f"{_FORMAT} {network.digest} {precision}".encode()).hexdigest()[:32]
    return CachedTextReader(name, network, RowCache(cache / where, network.width), ticks)


def choose_precision() -> torch.dtype:
    """bfloat16 where the processor multiplies it natively, which is several times as fast; else
    float32.
    """
    is_native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if is_native else torch.float32


class CachedTextReader(TextReader):
    """A text network with a cache of its outputs. Each text is computed once across runs, in chunks
    that survive an interruption.
    """

    def __init__(
        self, name: str, network: TextNetwork, cache: RowCache, ticks: Ticks | None
    ) -> None:
        self.name, self.width, self.digest = name, network.width, network.digest
        self._network, self._cache = network, cache
        self._ticks = ticks or (lambda _done, _total: None)

    def read_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Compute one row per text, or look it up."""
        found = self._cache.find([text.encode("utf-8", "surrogatepass") for text in texts])
        while len(missing := found.missing(_CHUNK)):
            found.add(missing, compute_rows(self._network, [texts[place] for place in missing]))
            self._ticks(found.done, len(texts))
        return found.matrix()


def compute_rows(network: TextNetwork, texts: Sequence[str]) -> NDArray[np.float32]:
    """Compute one row per text, in batches of texts of about the same length.

    Guarantees: all batches of one length have one shape, so that a row does not depend on the
    other texts.
    """
    pieces = network.split(texts)
    rows = np.empty((len(texts), network.width), np.float32)

    def find_length(place: int) -> int:
        return -(-len(pieces[place]) // _STEP) * _STEP

    for length, places in groupby(sorted(range(len(texts)), key=find_length), find_length):
        most = max(1, _PIECES // max(length, 1))
        alike = [*places]
        for first in range(0, len(alike), most):
            some = alike[first : first + most]
            numbers = np.full((most, max(length, 1)), network.padding, np.int64)
            mask = np.zeros_like(numbers)
            for row, place in enumerate(some):
                numbers[row, : len(pieces[place])] = pieces[place]
                mask[row, : len(pieces[place])] = 1
            mask[len(some) :, 0] = 1
            read = network.read(torch.from_numpy(numbers), torch.from_numpy(mask))
            rows[some] = read[: len(some)].numpy()
    return rows
