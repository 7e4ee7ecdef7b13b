"""Rows of experiments that the paper only names: Adult with as many rows of each label, and images
with a key of similarity.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tacit import data
from tacit import plan as plans
from tacit.data.k_anonymity import similarity_key
from tacit.randomness import Draws
from tacit_papers.partfed.settings import ENCODINGS

LABEL, KEY = "income", "key"
IMAGE_ROWS, KEY_BITS, _SIDE, _BLOCK = 12_000, 6, 28, 4
PIXELS = (_SIDE // _BLOCK) ** 2
"""Columns of an image: the means of its blocks."""

_COLUMNS = ENCODINGS["E1"]["columns"]
_DRAWS = Draws.seeded(1).at("partfed", "further rows")
"""The rows are the same in every run; only their partition among clients depends on its seed."""


def build_balanced_adult() -> pl.DataFrame:
    """Adult with all rows of the rarer label and as many of the other, chosen at random."""
    columns = plans.Columns(
        numeric=tuple(_COLUMNS["numeric"]), categorical=tuple(_COLUMNS["categorical"])
    )
    settings = plans.Data(source="adult", test=0.0, columns=columns)
    rows = data.load(settings, Draws.seeded(1).at("data")).train
    labels = rows[LABEL].to_physical().to_numpy()
    places = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    fewest = min(map(len, places))
    draw = _DRAWS.at("balance").generator()
    kept = [draw.choice(one, fewest, replace=False) for one in places]
    return rows[np.sort(np.concatenate(kept))].with_columns(pl.col(LABEL).cast(pl.String))


def build_keyed_images() -> pl.DataFrame:
    """MNIST's first training images as means of blocks of pixels, with the key of their
    similarity.
    """
    settings = plans.Data(source="mnist", limit=IMAGE_ROWS)
    table = data.load(settings, Draws.seeded(1).at("data"))
    (image,) = (name for name, kind in table.train.schema.items() if isinstance(kind, pl.Array))
    shown = table.train[image].to_numpy().reshape(-1, _SIDE, _SIDE).astype(np.float32) / 255
    blocks = shown.reshape(-1, _SIDE // _BLOCK, _BLOCK, _SIDE // _BLOCK, _BLOCK).mean(axis=(2, 4))
    columns = {
        name: blocks.reshape(-1, PIXELS)[:, place] for place, name in enumerate(name_pixels())
    }
    assert table.columns.label is not None
    label = table.train[table.columns.label].cast(pl.String).alias("digit")
    key = similarity_key(blocks, KEY_BITS, _DRAWS).alias(KEY)
    return pl.DataFrame(columns).with_columns(key, label)


def name_pixels() -> tuple[str, ...]:
    """The columns of an image."""
    return tuple(f"x{place}" for place in range(PIXELS))
