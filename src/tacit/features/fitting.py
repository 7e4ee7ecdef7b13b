"""What features must know about the training rows before they can encode, and a description of what
that reveals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import polars as pl

from tacit.column_statistics.agreed_values import AgreedValues, complete_statistics
from tacit.column_statistics.number_format import TOLD
from tacit.column_statistics.statistics import ColumnStatistics, merge_statistics
from tacit.errors import DataError, PlanError
from tacit.features.cells import encode_names, read_names, sort_names
from tacit.features.image import Reader
from tacit.features.image import read_images as image_numbers
from tacit.features.projection import Projection, fit_class_projection, fit_projection
from tacit.features.quantise import fingerprint_secret
from tacit.features.statistics import check_roles, compute_statistics
from tacit.features.text.listed_words import compute_bucket_rarity, select_common_words
from tacit.features.text.text_reader import TextReader
from tacit.plan import Columns, Features

TextForm = Literal["", "hashed words", "listed words", "word table", "encoder output"]

AnyReader = Reader | TextReader
"""A frozen network that reads images or texts."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What was read from the training rows, as plain values.

    `released` describes what anyone with this object learns about the rows, in the clear, in
    addition to the names of the classes; the size of an image is considered public. Hashed text
    reads nothing and so releases nothing. `secret_check` tells the secret under which columns were
    quantised from any other, without revealing it. An image becomes `image_width` numbers.
    `projection` comes from public rows, so it reveals nothing about the training rows. The same
    holds for `words`, which are those of a public list, and for `weights`, the weight of each
    bucket of hashed words by such a list. `missing` names the numeric columns with one more input,
    which says whether a cell lacks a number. `encoder` is the hash of the frozen network that reads
    texts, and `encoder_width` its numbers per text.
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
    encoder: str = ""
    encoder_width: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, ready for JSON."""
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
            "encoder": self.encoder,
            "encoder_width": self.encoder_width,
        }

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Fitted:
        """Read what `to_dict` wrote; raise DataError if it is anything else."""
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
                encoder=str(tree.get("encoder", "")),
                encoder_width=int(tree.get("encoder_width", 0)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"Fitted.from_dict cannot read this value ({error!r}); pass what Fitted.to_dict "
                "wrote, or fit the features again"
            ) from None


def fit(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    secret: bytes = b"",
    reader: AnyReader | None = None,
    public: pl.DataFrame | None = None,
    ordered: tuple[str, ...] = (),
) -> Fitted:
    """Fit features on the rows of one table; `fit_statistics` says what the arguments are."""
    fingerprint_secret(settings, secret)  # these rows cannot be encoded without the secret
    statistics = merge_statistics([compute_statistics(frame, columns, settings)])
    return fit_statistics(statistics, columns, settings, secret, reader, public, ordered)


def describe_rare(frame: pl.DataFrame, columns: Columns, fitted: Fitted) -> list[str]:
    """A phrase for each categorical column with categories that the model does not know."""
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


def fit_statistics(
    statistics: ColumnStatistics,
    columns: Columns,
    settings: Features,
    secret: bytes = b"",
    reader: AnyReader | None = None,
    public: pl.DataFrame | None = None,
    ordered: tuple[str, ...] = (),
    agreed: AgreedValues | None = None,
    projection: Projection | None = None,
) -> Fitted:
    """Fit features on the merged statistics of all sites, and describe what these release.

    `secret` is shared by the clients, for columns that are quantised under it; a server, which
    encodes no such column, has none. `reader` is the
    frozen network that `settings.image` names; `public` are the rows on which `settings.project` is
    fitted, `ordered` the words of the public list, most frequent first. What the plan states
    (`agreed`) replaces any statistic and releases nothing. A `projection` that was fitted elsewhere
    replaces `public`.
    """
    check_roles(columns, settings)
    check_reader(columns, settings, reader)
    agreed = agreed or AgreedValues()
    released = _list_released(statistics, columns, settings, agreed)
    statistics = complete_statistics(statistics, agreed)
    if len(statistics.classes) < 2:
        raise DataError(
            f"the label column {columns.label!r} must have at least two classes in the training"
            f" rows, got {len(statistics.classes)}; use more rows or another label"
        )
    if projection is None:
        projection = _projection(columns, settings, statistics.pixels or 0, reader, public)
    scaled = columns.numeric if settings.numeric != "raw" else ()
    image_reader, text_reader = split_reader(reader)
    if text_reader and statistics.encoder not in ("", text_reader.digest):
        raise DataError(
            f"features.encoder = {text_reader.name!r}: its files have the hash"
            f" {text_reader.digest} here and {statistics.encoder} at the other parties of the run;"
            " use the same files"
        )
    missing = statistics.missing if settings.missing is None else settings.missing
    return Fitted(
        classes=statistics.classes,
        ranges={name: settings.ranges.get(name) or statistics.ranges[name] for name in scaled},
        categories=statistics.categories,
        pixels=statistics.pixels,
        released=released,
        secret_check=fingerprint_secret(settings, secret) if secret else "",
        image_width=projection.width
        if projection
        else image_reader.width
        if image_reader
        else statistics.pixels,
        projection=projection,
        words=_words(columns, settings, ordered),
        weights=_weights(columns, settings, ordered),
        missing=tuple(name for name in columns.numeric if name in missing),
        encoder=text_reader.digest if text_reader else "",
        encoder_width=text_reader.width if text_reader else 0,
    )


def _list_released(
    statistics: ColumnStatistics, columns: Columns, settings: Features, agreed: AgreedValues
) -> tuple[str, ...]:
    """What the statistics reveal, in words; nothing where the plan states it."""
    robust = settings.numeric == "robust"
    ends = "1st and 99th percentile" if robust else "smallest and largest value"
    released = [f"{ends} of {name}" for name in statistics.ranges if name not in agreed.ranges]
    if set(columns.numeric) - set(agreed.may_miss) and settings.missing is None:
        released.append("in which numeric columns numbers are missing")
    if statistics.formats:
        released.append(TOLD)
    read = [name for name in statistics.categories if name not in agreed.categories]
    return (*released, *(f"categories of {name}" for name in read))


def check_reader(columns: Columns, settings: Features, reader: AnyReader | None) -> None:
    """Raise PlanError if images or texts would be read by a different network than the settings
    name.
    """
    if bool(columns.text and settings.has_encoder) != isinstance(reader, TextReader):
        raise PlanError(
            f"features(text={settings.text!r}) needs"
            f" {'no reader' if isinstance(reader, TextReader) else 'the reader of the encoder'};"
            " make it with features.frozen.build_text_reader"
        )
    if columns.image and (settings.image == "pixels") != (reader is None):
        raise PlanError(
            f"features(image={settings.image!r}) needs"
            f" {'no reader' if reader else 'the reader of that network'}; make it with"
            " features.frozen.frozen_reader"
        )


def split_reader(reader: AnyReader | None) -> tuple[Reader | None, TextReader | None]:
    """The reader of images and that of texts; at most one of them exists."""
    return (None, reader) if isinstance(reader, TextReader) else (reader, None)


def _projection(
    columns: Columns,
    settings: Features,
    pixels: int,
    reader: AnyReader | None,
    public: pl.DataFrame | None,
) -> Projection | None:
    if settings.project is None or columns.image is None:
        return None
    if public is None or not public.height:
        raise PlanError(
            f"features(project={settings.project}) is fitted on public rows, and there are none; "
            "give public rows, or remove features.project"
        )
    rows = image_numbers(public, columns.image, pixels, split_reader(reader)[0])
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
    """The words of the public list that are read; empty without a list."""
    if not columns.text or settings.word_form != "listed":
        return ()
    unicode = settings.words == "unicode"
    found = select_common_words(ordered, settings.buckets, unicode)
    if not found:
        letters = "letters" if unicode else "letters a-z"
        raise PlanError(
            f"features.list = {settings.list!r}: none of its {len(ordered):,} words has {letters};"
            " use another list"
        )
    return found


def _weights(columns: Columns, settings: Features, ordered: tuple[str, ...]) -> tuple[float, ...]:
    """The weight of each bucket of hashed words; empty if all weights are equal."""
    if not columns.text or settings.word_form != "binary" or not settings.rarity:
        return ()
    if not ordered:
        raise PlanError(f"features.list = {settings.list!r} has no words; use another list")
    return tuple(compute_bucket_rarity(ordered, settings).tolist())


def text_form(columns: Columns, settings: Features) -> TextForm:
    """The form in which text enters the model: hashed, as words of a public list, as the output of
    an encoder, as rows of a word table, or not at all.
    """
    if not columns.text:
        return ""
    match settings.word_form:
        case None:
            return "encoder output"
        case "listed":
            return "listed words"
        case "words" | "pieces":
            return "word table"
        case "binary" | "sequence":
            return "hashed words"
        case _:
            assert_never(settings.word_form)
