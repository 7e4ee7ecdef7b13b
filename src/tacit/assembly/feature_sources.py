"""What feature encoding needs besides the plan and the rows: the clients' secret, the frozen network
that reads images or texts, and the public word list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tacit import data, features
from tacit.data.named.weights import get_weights_folder
from tacit.files import get_cache_folder
from tacit.plan import Columns, Features, Plan
from tacit.randomness import Draws

ReadProgress = Callable[[str, int, int], None]
"""Called with what a frozen network reads ("images" or "texts"), how many of them it has read, and
their number.
"""


@dataclass(frozen=True, kw_only=True)
class FeatureSources:
    """Values that turn rows into arrays together with the plan's settings and the fitted values.

    `secret` is shared by all clients; the server has none. `reader` is the frozen network that
    reads images or texts; None where none does. `listed_words` are the words
    of the plan's public list, most frequent first; only fitting needs them. `projection` is the one
    that the server of a run between sites fitted on its public rows.
    """

    secret: bytes = b""
    reader: features.AnyReader | None = None
    listed_words: tuple[str, ...] = ()
    projection: features.Projection | None = None


def gather_feature_sources(
    columns: Columns,
    settings: Features,
    secret: bytes = b"",
    progress: data.Progress | None = None,
    read_progress: ReadProgress | None = None,
    *,
    projection: features.Projection | None = None,
) -> FeatureSources:
    """Find the frozen network and the public word list that the settings name; download them where
    they are not in the cache. `projection` is one that was fitted elsewhere.
    """
    words: tuple[str, ...] = ()
    if settings.list and columns.text and settings.word_form:
        words = data.load_word_list(settings.list, progress)
    return FeatureSources(
        secret=secret,
        reader=find_reader(columns, settings, progress, read_progress),
        listed_words=words,
        projection=projection,
    )


def find_client_secret(plan: Plan, root: Draws) -> bytes:
    """The secret that all clients share: the negotiated one, else one derived from `root`."""
    if plan.negotiated_file is None:
        return root.sealed("clients").key
    from tacit.assembly.negotiated import read_negotiated

    return read_negotiated(plan).secret


def find_encoder_digest(columns: Columns, settings: Features) -> str:
    """Hash of the frozen network that reads texts; empty if none does."""
    if not (columns.text and settings.has_encoder):
        return ""
    reader = features.split_reader(find_reader(columns, settings))[1]
    return reader.digest if reader else ""


def find_reader(
    columns: Columns,
    settings: Features,
    progress: data.Progress | None = None,
    read_progress: ReadProgress | None = None,
) -> features.AnyReader | None:
    """The frozen network that turns images or texts into rows; None if the settings name none."""
    if columns.text and settings.has_encoder:
        from tacit.features.frozen import build_text_reader

        folder = get_weights_folder(settings.encoder, "features.encoder", progress)
        ticks = partial(read_progress, "texts") if read_progress else None
        cache = get_cache_folder() / "texts"
        return build_text_reader(settings.encoder, folder, cache, settings.length, ticks)
    if columns.image is None or settings.image == "pixels":
        return None
    from tacit.features.frozen import build_frozen_reader

    folder = get_weights_folder(settings.image, "features.image", progress)
    ticks = partial(read_progress, "images") if read_progress else None
    return build_frozen_reader(settings.image, folder, get_cache_folder() / "pictures", ticks)
