"""What feature encoding needs besides the plan and the rows: the clients' secret, the image reader
and the public word list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit import data, features
from tacit.data.download.store import get_cache_folder
from tacit.data.named.weights import get_weights_folder
from tacit.plan import Columns, Features, Plan
from tacit.randomness import Draws

ImageProgress = Callable[[int, int], None]
"""Called with the number of images that a frozen network has read, and the number of all images."""


@dataclass(frozen=True, kw_only=True)
class FeatureSources:
    """Values that turn rows into arrays together with the plan's settings and the fitted values.

    `secret` is shared by all clients; the server has none. `reader` is the frozen network that
    reads images; None where pixels are used, or there are no images. `listed_words` are the words
    of the plan's public list, most frequent first; only fitting needs them. `projection` is the one
    that the server of a run between sites fitted on its public rows.
    """

    secret: bytes = b""
    reader: features.Reader | None = None
    listed_words: tuple[str, ...] = ()
    projection: features.Projection | None = None


def gather_feature_sources(
    columns: Columns,
    settings: Features,
    secret: bytes = b"",
    progress: data.Progress | None = None,
    image_progress: ImageProgress | None = None,
    *,
    projection: features.Projection | None = None,
) -> FeatureSources:
    """Find the image reader and the public word list that the settings name; download them where
    they are not in the cache. `projection` is one that was fitted elsewhere.
    """
    words: tuple[str, ...] = ()
    if settings.list and columns.text:
        words = data.load_word_list(settings.list, progress)
    return FeatureSources(
        secret=secret,
        reader=find_image_reader(columns, settings, progress, image_progress),
        listed_words=words,
        projection=projection,
    )


def find_client_secret(plan: Plan, root: Draws) -> bytes:
    """The secret that all clients share: the negotiated one, else one derived from `root`."""
    if plan.negotiated_file is None:
        return root.sealed("clients").key
    from tacit.assembly.negotiated import read_negotiated

    return read_negotiated(plan).secret


def find_image_reader(
    columns: Columns,
    settings: Features,
    progress: data.Progress | None = None,
    image_progress: ImageProgress | None = None,
) -> features.Reader | None:
    """The frozen network that turns images into rows; None without images, or where pixels are
    used.
    """
    if columns.image is None or settings.image == "pixels":
        return None
    from tacit.features.frozen import build_frozen_reader

    folder = get_weights_folder(settings.image, "features.image", progress)
    return build_frozen_reader(
        settings.image, folder, get_cache_folder() / "pictures", image_progress
    )
