"""What features must know before they can encode, read from the training rows, and the list of what
that reveals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import polars as pl

from tacit.column_statistics.common_values import count_required, find_common_values
from tacit.column_statistics.number_format import TOLD
from tacit.errors import DataError, PlanError
from tacit.features.cells import encode_names, lacks_numbers, read_names, sort_names
from tacit.features.image import Reader, count_pixels
from tacit.features.image import read_images as image_numbers
from tacit.features.projection import Projection, fit_class_projection, fit_projection
from tacit.features.quantise import fingerprint_secret, list_quantised_columns
from tacit.features.seen import Seen, range_of
from tacit.features.text.listed_words import compute_bucket_rarity, select_common_words
from tacit.plan import Columns, Features

_NOTHING_COMMON = "(missing)"
TAIL = 0.01
"""`robust`: the share of a column's rows at either end that its range leaves out."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What was read from the training rows, as plain values.

    `released` says in words what anyone who holds this learns about the rows, in the clear, beside
    the names of the classes; the size of an image is taken as public. Hashed text reads nothing and
    so releases nothing. `secret_check` tells the secret that columns were quantised under from any
    other, and does not show it. An image becomes `image_width` numbers; `projection` comes from
    public rows, so it says nothing of the training rows, and neither do `words`, those of a public
    list, and `weights`, how much each bucket of hashed words counts by such a list. `missing` names
    the numeric columns that have one more input, which says whether a cell lacks a number.
    """

    classes: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]
    categories: Mapping[str, tuple[str, ...]]
    pixels: int | None = None
    released: tuple[str, ...] = ()
    secret_check: str = ""
    image_width: int | None = None
    projection: Projection | None = None
    words: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    missing: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the same as nested plain values, ready for JSON."""
        return {
            "classes": list(self.classes),
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
            "categories": {name: list(known) for name, known in self.categories.items()},
            "pixels": self.pixels,
            "released": list(self.released),
            "secret_check": self.secret_check,
            "image_width": self.image_width,
            "projection": self.projection.to_dict() if self.projection else None,
            "words": list(self.words),
            "weights": list(self.weights),
            "missing": list(self.missing),
        }

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Fitted:
        """Return what `to_dict` wrote; raise a DataError if it is something else."""
        try:
            # Models made before images could be projected, or columns quantised, lack these keys.
            pixels, projection = tree["pixels"], tree.get("projection")
            image_width = tree.get("image_width", pixels)
            return Fitted(
                classes=tuple(map(str, tree["classes"])),
                ranges={
                    str(name): (float(low), float(high))
                    for name, (low, high) in tree["ranges"].items()
                },
                categories={
                    str(name): tuple(map(str, known)) for name, known in tree["categories"].items()
                },
                pixels=None if pixels is None else int(pixels),
                released=tuple(map(str, tree["released"])),
                secret_check=str(tree.get("secret_check", "")),
                image_width=None if image_width is None else int(image_width),
                projection=None if projection is None else Projection.from_dict(projection),
                words=tuple(map(str, tree.get("words", ()))),
                weights=tuple(map(float, tree.get("weights", ()))),
                missing=tuple(map(str, tree.get("missing", ()))),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"Fitted.from_dict needs what Fitted.to_dict wrote, got {error!r}; fit the features"
                " again"
            ) from None


def fit(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    secret: bytes = b"",
    reader: Reader | None = None,
    public: pl.DataFrame | None = None,
    ordered: tuple[str, ...] = (),
) -> Fitted:
    """Return what the training rows say about ranges, categories and classes, and name what that
    releases.

    `secret` is what clients share, for columns that are quantised under it; `reader` is the frozen
    network that `settings.image` names; `public` are the rows `settings.project` is fitted on,
    `ordered` the words of the public list, most frequent first.
    """
    return fit_seen(
        look_at(frame, columns, settings), columns, settings, secret, reader, public, ordered
    )


def look_at(frame: pl.DataFrame, columns: Columns, settings: Features) -> Seen:
    """Return what features must know of some rows; only what the settings need is read.

    numeric = "raw" and agreed ranges read no range, an agreed list of columns with missing numbers
    reads none, text reads nothing.
    """
    check_roles(columns, settings)
    scaled = columns.numeric if settings.numeric != "raw" else ()
    tail = TAIL if settings.numeric == "robust" else 0.0
    if columns.label is None:
        raise PlanError(
            "features(label=None) needs the column to predict, got nothing; set data.columns.label"
        )
    return Seen(
        classes=sort_names(read_names(frame, columns.label, "label")),
        ranges={
            name: range_of(frame, name, tail) for name in scaled if name not in settings.ranges
        },
        categories={name: _common(frame, name, columns, settings) for name in columns.categorical},
        pixels=count_pixels(frame, columns.image) if columns.image else None,
        missing=tuple(
            name
            for name in columns.numeric
            if settings.missing is None and lacks_numbers(frame, name)
        ),
    )


def _common(
    frame: pl.DataFrame, name: str, columns: Columns, settings: Features
) -> tuple[str, ...]:
    """The categories that enough clients have, in order; where none is common, a placeholder, so
    that the column keeps an input.
    """
    cells, client = read_names(frame, name, "categorical"), columns.client
    if settings.category_clients == 1:
        return sort_names(cells)
    least = count_required(frame, client, settings.category_clients)
    found = find_common_values(frame.with_columns(cells), name, client, least)
    return sort_names(pl.Series(found.values, dtype=pl.String)) or (_NOTHING_COMMON,)


def describe_rare(frame: pl.DataFrame, columns: Columns, fitted: Fitted) -> list[str]:
    """A part of a sentence for each categorical column of which rows have categories that the model
    does not know.
    """
    found = []
    for name in columns.categorical:
        cells = read_names(frame, name, "categorical").drop_nulls()
        rare = cells.filter(~cells.is_in(list(fitted.categories[name])))
        if len(rare):
            found.append(
                f"{rare.n_unique():,} rare categories of {name!r} in {len(rare):,} train rows count"
                " as unknown"
            )
    return found


def fit_seen(
    seen: Seen,
    columns: Columns,
    settings: Features,
    secret: bytes = b"",
    reader: Reader | None = None,
    public: pl.DataFrame | None = None,
    ordered: tuple[str, ...] = (),
) -> Fitted:
    """Return what `fit` returns, from what was seen of the rows at one place or at several."""
    check_roles(columns, settings)
    check_reader(columns, settings, reader)
    if len(seen.classes) < 2:
        raise DataError(
            f"features(label={columns.label!r}) needs at least two classes in the training rows,"
            f" got {len(seen.classes)}; take more rows or another label"
        )
    projection = _projection(columns, settings, seen.pixels or 0, reader, public)
    scaled = columns.numeric if settings.numeric != "raw" else ()
    but = f" but for {TAIL:.0%} at either end" if settings.numeric == "robust" else ""
    released = [f"smallest and largest value{but} of {name}" for name in seen.ranges]
    if columns.numeric and settings.missing is None:
        released.append("in which numeric columns numbers are missing")
    if seen.formats:
        released.append(TOLD)
    missing = seen.missing if settings.missing is None else settings.missing
    return Fitted(
        classes=seen.classes,
        ranges={name: settings.ranges.get(name) or seen.ranges[name] for name in scaled},
        categories=seen.categories,
        pixels=seen.pixels,
        released=(*released, *(f"categories of {name}" for name in seen.categories)),
        secret_check=fingerprint_secret(settings, secret),
        image_width=projection.width if projection else reader.width if reader else seen.pixels,
        projection=projection,
        words=_words(columns, settings, ordered),
        weights=_weights(columns, settings, ordered),
        missing=tuple(name for name in columns.numeric if name in missing),
    )


def check_roles(columns: Columns, settings: Features) -> None:
    """Raise a PlanError if the columns cannot become one kind of row."""
    others = (*columns.numeric, *columns.categorical)
    if not (columns.text or others or columns.image):
        raise PlanError(
            "features() needs at least one text, numeric, categorical or image column, got none;"
            " name one in data.columns"
        )
    if columns.image and (columns.text or others):
        mixed = ", ".join((*columns.text, *others))
        raise PlanError(
            f"features(image={columns.image!r}) needs to be the only input, got {mixed} beside it;"
            " drop one or the other"
        )
    if not columns.image and (settings.image != "pixels" or settings.project):
        raise PlanError(
            "features.image and features.project need an image column, got none; name one in"
            " data.columns.image, or leave them out"
        )
    wanted = {
        "ranges": tuple(settings.ranges),
        "missing": settings.missing or (),
        "quantise.columns": list_quantised_columns(columns, settings),
    }
    for key, asked in wanted.items():
        others = tuple(name for name in asked if name not in columns.numeric)
        if others:
            raise PlanError(
                f"features({key}={', '.join(others)}) needs numeric columns, got"
                f" {', '.join(columns.numeric) or 'none'} as such; correct features.{key} or"
                " data.columns.numeric"
            )
    if settings.quantise is not None and not columns.numeric:
        raise PlanError(
            "features(quantise) needs a numeric column, got none; name one in data.columns.numeric"
            " or remove the table"
        )


def check_reader(columns: Columns, settings: Features, reader: Reader | None) -> None:
    """Raise a PlanError if images would be read by another network than the settings name."""
    if columns.image and (settings.image == "pixels") != (reader is None):
        raise PlanError(
            f"features(image={settings.image!r}) needs"
            f" {'no reader' if reader else 'the reader of that network'}; make it with"
            " features.frozen.frozen_reader"
        )


def _projection(
    columns: Columns,
    settings: Features,
    pixels: int,
    reader: Reader | None,
    public: pl.DataFrame | None,
) -> Projection | None:
    if settings.project is None or columns.image is None:
        return None
    if public is None or not public.height:
        raise PlanError(
            f"features(project={settings.project}) needs public rows to find the strongest"
            " directions of, got none; give public rows, or leave features.project out"
        )
    rows = image_numbers(public, columns.image, pixels, reader)
    match settings.directions:
        case "strongest":
            return fit_projection(rows, settings.project, standardise=settings.standardise)
        case "classes":
            found = read_names(public, columns.label or "", "label")
            labels = encode_names(found, sort_names(found))
            return fit_class_projection(
                rows, labels, settings.project, standardise=settings.standardise
            )
        case _:
            assert_never(settings.directions)


def _words(columns: Columns, settings: Features, ordered: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of the public list that are read; none where no list is."""
    if not columns.text or settings.text != "listed":
        return ()
    unicode = settings.words == "unicode"
    found = select_common_words(ordered, settings.buckets, unicode)
    if not found:
        letters = "letters" if unicode else "letters a-z"
        raise PlanError(
            f"features.list = {settings.list!r} needs words with {letters}, got none of them in"
            f" {len(ordered):,}"
        )
    return found


def _weights(columns: Columns, settings: Features, ordered: tuple[str, ...]) -> tuple[float, ...]:
    """Return how much each bucket of hashed words counts; nothing where all count alike."""
    if not columns.text or settings.text != "binary" or not settings.rarity:
        return ()
    if not ordered:
        raise PlanError(f"features.list = {settings.list!r} needs words, got none")
    return tuple(compute_bucket_rarity(ordered, settings).tolist())


def text_form(
    columns: Columns, settings: Features
) -> Literal["", "hashed words", "listed words", "word table"]:
    """Return in which form text enters the model: hashed, as words of a public list or rows of a
    word table, or not at all.
    """
    if not columns.text:
        return ""
    if settings.text == "listed":
        return "listed words"
    return "word table" if settings.text in ("words", "pieces") else "hashed words"
