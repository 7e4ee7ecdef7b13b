"""Small random tables, and a recount by hand: no code of ours beyond the offer under test."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import polars as pl
from hypothesis import strategies as st

from tacit.data import Table
from tacit.data.k_anonymity import RowRelease
from tacit.plan import Columns, RowSharing
from tacit.rows import Clients

LABELS = ["a", "b", "c"]
COLUMNS = Columns(label="y", numeric=("age", "pay"), categorical=("race",), quasi=("age", "race"))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, Clients]:
    """Return up to 60 rows with few values (so that classes form) among up to three clients.

    A row is one drawn byte, which says its owner and its cells: drawing each cell by itself takes six times as long as the test.
    """
    rows = np.frombuffer(draw(st.binary(min_size=1, max_size=60)), np.uint8)
    rest, owners = np.divmod(rows, 3)
    places = np.argsort(owners, kind="stable")  # rows of one client stand together
    rest, age = np.divmod(rest[places], 3)
    rest, label = np.divmod(rest, 3)
    race, pay = np.divmod(rest % 4, 2)
    frame = pl.DataFrame(
        {
            "age": pl.Series([(20, 21, 37)[one] for one in age], dtype=pl.Int32),
            "pay": pl.Series([(0.0, 1.5)[one] for one in pay], dtype=pl.Float64),
            "race": pl.Series(["uv"[one] for one in race], dtype=pl.Enum(["u", "v"])),
            "y": pl.Series([LABELS[one] for one in label], dtype=pl.Enum(LABELS)),
        }
    )
    sizes = np.bincount(owners, minlength=3)
    clients = Clients(
        order=np.arange(len(rows)), starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    )
    return Table(train=frame, test=frame.clear(), columns=COLUMNS, source="made up"), clients


def recount(offer: RowRelease, settings: RowSharing) -> list[str]:
    """Return what is wrong with an offer, found by counting its rows one by one."""
    owner = [
        client for client, size in enumerate(offer.clients.sizes().tolist()) for _ in range(size)
    ]
    rows = offer.rows.rows(named=True)
    inputs = [name for name in offer.rows.columns if name != offer.label]
    key_names = (
        inputs
        if settings.release == "whole_row"
        else [name for name in COLUMNS.quasi if name in inputs]
    )

    def key(place: int) -> tuple[object, ...]:
        values = tuple(rows[place][name] for name in key_names)
        values += (rows[place][offer.label],) if settings.rule == "label_k" else ()
        return (*values, owner[place]) if settings.counts == "local" else values

    labels: dict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    for place in range(len(rows)):
        labels[key(place)][rows[place][offer.label]] += 1
    wrong = []
    for place in range(len(rows)):
        may = _may(labels[key(place)], settings)
        if may != bool(offer.disclosed[place]):
            wrong.append(
                f"row {place} {'may' if may else 'must not'} be shared: {labels[key(place)]}"
            )
    left = Counter(key(place) for place in range(len(rows)) if offer.disclosed[place])
    wrong += [
        f"only {count} rows released of {found}"
        for found, count in left.items()
        if count < (settings.k or 0)
    ]
    return wrong


def _may(labels: Counter[str], settings: RowSharing) -> bool:
    rows = sum(labels.values())
    if rows < (settings.k or 0):
        return False
    if settings.rule == "distinct_l":
        return len(labels) >= (settings.l or 0)
    if settings.rule == "entropy_l":
        return (
            -sum(n / rows * math.log(n / rows) for n in labels.values())
            >= math.log(settings.l or 1) - 1e-9
        )
    return True
