"""Pictures as rows of a frozen network: where its weights are, where what it reads is kept, and who
is told.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit import data, features
from tacit.data.download.store import get_cache_folder
from tacit.data.named.weights import get_weights_folder
from tacit.plan import Columns, Features

Ticks = Callable[[int, int], None]
"""Called with how many pictures are done, and of how many."""


def find_image_reader(
    columns: Columns,
    settings: Features,
    fetched: data.Progress | None = None,
    pictures: Ticks | None = None,
) -> features.Reader | None:
    """Return the reader of the network that turns images into rows; None if there are none, or
    pixels are taken as they are.
    """
    if columns.image is None or settings.image == "pixels":
        return None
    from tacit.features.frozen import build_frozen_reader

    folder = get_weights_folder(settings.image, "features.image", fetched)
    return build_frozen_reader(settings.image, folder, get_cache_folder() / "pictures", pictures)
