"""Statistics of the columns of one site's rows, and their merge over sites.

Every site computes them from its own rows, the server merges them and sends the result back, and
all parties fit features on it. A simulation merges one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.column_statistics.number_format import Formats, agree_formats
from tacit.errors import DataError


@dataclass(frozen=True, kw_only=True)
class ColumnStatistics:
    """What features need to know about rows, in the clear.

    `ranges` has the numeric columns for which the plan states no range; `pixels` is the number of
    values of an image; `missing` names the numeric columns in which cells lack a number; `formats`
    says how numbers are written, and is empty where the plan says so. `encoder` is the hash of the frozen network that reads
    texts; empty if there is none.
    """

    classes: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]
    categories: Mapping[str, tuple[str, ...]]
    pixels: int | None = None
    missing: tuple[str, ...] = ()
    formats: Formats = field(default_factory=dict)
    encoder: str = ""


def merge_statistics(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Merge the statistics of several sites into those of all their rows."""
    sizes = {part.pixels for part in parts}
    if len(sizes) > 1:
        raise DataError(
            f"images must have one size at all sites, got {len(sizes)} sizes; scale them first"
        )
    if len({part.encoder for part in parts}) > 1:
        raise DataError("the frozen text encoder must be the same at all sites; compare its files")
    ranges = {name: [part.ranges[name] for part in parts] for name in parts[0].ranges}
    return ColumnStatistics(
        classes=_merge_names(part.classes for part in parts),
        ranges={
            name: (min(low for low, _ in ends), max(high for _, high in ends))
            for name, ends in ranges.items()
        },
        categories={
            name: _merge_names(part.categories[name] for part in parts)
            for name in parts[0].categories
        },
        pixels=parts[0].pixels,
        missing=tuple(sorted({name for part in parts for name in part.missing})),
        formats=agree_formats([part.formats for part in parts]),
        encoder=parts[0].encoder,
    )


def sort_naturally(names: Iterable[str]) -> list[str]:
    """Sort names numerically if all of them are finite numbers, else alphabetically."""
    names = list(names)
    try:
        values = [float(name) for name in names]
    except ValueError:
        return sorted(names)
    if not all(map(math.isfinite, values)):
        return sorted(names)
    return [name for _, name in sorted(zip(values, names, strict=True))]


def _merge_names(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sort_naturally({name for part in parts for name in part}))
