"""What a release would reveal, in figures, for the data owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tacit.data.k_anonymity.classes import group_equal_rows
from tacit.data.k_anonymity.release import RowRelease


@dataclass(frozen=True, kw_only=True)
class ClassSummary:
    """One released class: its common values, its number of rows, and the count of each label."""

    values: dict[str, Any]
    rows: int
    labels: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Figures about a release.

    `unique_share`: released rows that no other released row equals in all columns but the label.
    `single_label_share`: released rows in classes with a single label, so that anybody who knows
    the key knows the label. Both are shares of the released rows; zero if nothing is released.
    """

    rows: int
    disclosed: int
    key: tuple[str, ...]
    columns: tuple[str, ...]
    classes: int
    smallest_class: int
    single_label_classes: int
    unique_share: float
    single_label_share: float
    disclosed_per_client: list[int]
    rows_per_client: list[int]
    labels_disclosed: dict[str, int]
    labels_kept: dict[str, int]
    largest: list[ClassSummary]
    smallest: list[ClassSummary]

    @property
    def share(self) -> float:
        """The released share of all rows."""
        return self.disclosed / self.rows if self.rows else 0.0


def examine(offer: RowRelease, shown: int = 5) -> Findings:
    """Compute the figures of a release, with its `shown` largest and smallest classes."""
    released = offer.released()
    classes = group_equal_rows(released.select(offer.key))
    sizes = classes.counts()
    kinds, numbers = _encode_labels(released[offer.label])
    by_label = classes.by_label(numbers, len(kinds))
    used = np.flatnonzero(sizes)
    single = (by_label > 0).sum(axis=1) == 1
    order = used[np.argsort(sizes[used], kind="stable")]
    first = classes.first_rows()

    def look(number: int) -> ClassSummary:
        return ClassSummary(
            values=released.select(offer.key).row(int(first[number]), named=True),
            rows=int(sizes[number]),
            labels=dict(zip(kinds, by_label[number].tolist(), strict=True)),
        )

    everything = group_equal_rows(released.drop(offer.label))
    count = max(1, released.height)
    return Findings(
        rows=offer.rows.height,
        disclosed=released.height,
        key=offer.key,
        columns=tuple(released.columns),
        classes=len(used),
        smallest_class=int(sizes[used].min()) if len(used) else 0,
        single_label_classes=int(single[used].sum()),
        unique_share=int((everything.counts() == 1).sum()) / count,
        single_label_share=int(sizes[single].sum()) / count,
        disclosed_per_client=offer.disclosed_per_client().tolist(),
        rows_per_client=offer.clients.sizes().tolist(),
        labels_disclosed=_count_labels(released[offer.label]),
        labels_kept=_count_labels(offer.rows.filter(~offer.disclosed)[offer.label]),
        largest=[look(int(number)) for number in order[::-1][:shown]],
        smallest=[look(int(number)) for number in order[:shown]],
    )


def _encode_labels(label: pl.Series) -> tuple[list[str], Any]:
    assert isinstance(label.dtype, pl.Enum), "a loaded table's label is an Enum"
    return label.dtype.categories.to_list(), label.to_physical().cast(pl.Int64).to_numpy()


def _count_labels(label: pl.Series) -> dict[str, int]:
    kinds, numbers = _encode_labels(label)
    return dict(zip(kinds, np.bincount(numbers, minlength=len(kinds)).tolist(), strict=True))
