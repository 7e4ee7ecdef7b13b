"""Frozen pretrained networks as features of images and texts; their outputs are cached.

Importing this package needs PyTorch; `features` imports it only when a plan names a network.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.features.frozen.checkpoint import load_checkpoint_view
from tacit.features.frozen.efficientnet import EfficientNetLite0
from tacit.features.frozen.row_cache import RowCache
from tacit.features.frozen.text import build_text_reader
from tacit.features.frozen.view import NetworkView
from tacit.features.image import Reader
from tacit.rows import find_picture_shape

__all__ = ["build_frozen_reader", "build_text_reader"]

Ticks = Callable[[int, int], None]
"""Called with the number of images that are done, and the total number."""

# raise it when the same picture and weights give other numbers: what was kept is then not used
_FORMAT = 2
# what a network makes of more pictures no longer fits a core's cache: 50 take twice as long each
_BATCH = 10
_CHUNK = 1000


def build_frozen_reader(name: str, folder: Path, cache: Path, ticks: Ticks | None = None) -> Reader:
    """Build the reader of a network given by name or folder; its outputs are cached below `cache`."""
    view = (
        _load_efficientnet(folder) if name == "efficientnet_lite0" else load_checkpoint_view(folder)
    )
    kept = RowCache(cache / _hash_network(folder, view), view.width)
    return _CachedReader(
        name=name, view=view, kept=kept, ticks=ticks or (lambda _done, _total: None)
    )


def _load_efficientnet(folder: Path) -> NetworkView:
    # Smaller pictures are read faster but worse; docs/guides/data.md has the figures.
    (file,) = folder.glob("*.pth")
    middle, spread = (127.0,) * 3, (128.0,) * 3
    return NetworkView(
        network=EfficientNetLite0(file),
        size=(160, 160),
        middle=middle,
        spread=spread,
        width=EfficientNetLite0.width,
    )


def _hash_network(folder: Path, view: NetworkView) -> str:
    """Hash the weights and the image preprocessing."""
    digest = hashlib.sha256(json.dumps([_FORMAT, view.size, view.middle, view.spread]).encode())
    for file in sorted(
        (*folder.glob("*.safetensors"), *folder.glob("*.pth"), folder / "config.json")
    ):
        if file.is_file():
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class _CachedReader:
    """A network with a cache of its outputs; each image is computed once across runs, in chunks
    that survive an interruption.
    """

    name: str
    view: NetworkView
    kept: RowCache
    ticks: Ticks

    @property
    def width(self) -> int:
        return self.view.width

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        shape = find_picture_shape(pictures.shape[1])
        if shape is None:
            raise DataError(
                f"features.image = {self.name!r} requires square images, grey or RGB, got"
                f" {pictures.shape[1]:,} values per image; crop or scale them to squares first"
            )
        found = self.kept.find(picture.tobytes() for picture in pictures)
        while len(missing := found.missing(_CHUNK)):
            found.add(missing, self._read(pictures[missing], *shape))
            self.ticks(found.done, len(pictures))
        return found.matrix()

    def _read(self, pictures: NDArray[np.uint8], side: int, channels: int) -> NDArray[np.float32]:
        """Compute one row per image.

        Batches have one size, padded at the end, so that a row does not depend on its batch.
        """
        rows = np.empty((len(pictures), self.view.width), np.float32)
        for first in range(0, len(pictures), _BATCH):
            some = pictures[first : first + _BATCH].reshape(-1, side, side, channels)
            batch = np.zeros((_BATCH, side, side, channels), np.uint8)
            batch[: len(some)] = some
            rows[first : first + _BATCH] = self.view.numbers(torch.from_numpy(batch))[
                : len(some)
            ].numpy()
        return rows
