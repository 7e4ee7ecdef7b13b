"""Decide which rows of each client are released, and in what form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.k_anonymity.class_sums import ClassSums, choose_counting, describe_classes
from tacit.data.k_anonymity.classes import Classes
from tacit.data.k_anonymity.hierarchy import find_generalised_type, generalise
from tacit.data.k_anonymity.own_k import find_reached_k
from tacit.data.k_anonymity.own_rule import ask_own_rule
from tacit.data.k_anonymity.rules import (
    find_allowed_classes,
    find_allowed_counts,
    group_by_key,
    refuse_unreachable_l,
)
from tacit.data.k_anonymity.stable import draw_disclosed
from tacit.data.table import Table
from tacit.errors import DataError
from tacit.plan import Columns, RowSharing
from tacit.plan.tables.rows.share import SUPPRESS
from tacit.randomness import Draws
from tacit.rows import Clients


@dataclass(frozen=True, kw_only=True)
class RowRelease:
    """All clients' rows in the form of their release, client after client, and which of them are
    released.

    `key` names the columns in which released rows must be equal, never the label. `classes` is the
    number of classes counted. `sums` are the counts of all parties where these decide.
    """

    rows: pl.DataFrame
    disclosed: NDArray[np.bool_]
    clients: Clients
    key: tuple[str, ...]
    label: str
    classes: int
    sums: ClassSums | None = None

    def released(self) -> pl.DataFrame:
        """Select the released rows of all clients."""
        return self.rows.filter(self.disclosed)

    def released_by(self, client: int) -> pl.DataFrame:
        """Select the released rows of one client."""
        first, end = self.clients.starts[client], self.clients.starts[client + 1]
        return self.rows[int(first) : int(end)].filter(self.disclosed[first:end])

    def disclosed_per_client(self) -> NDArray[np.int64]:
        """Count the released rows of each client."""
        return self.clients.sizes() - self.kept().sizes()

    def kept(self) -> Clients:
        """The clients with only the rows that are not released; a client may have none left."""
        return self.clients.select(~self.disclosed)


def decide_release(
    table: Table,
    clients: Clients,
    settings: RowSharing,
    draws: Draws,
    sums: ClassSums | None = None,
) -> RowRelease:
    """Decide which rows of each client may be disclosed under a plan's rule.

    With global counts `sums` are those of all parties; without them these clients are all there
    are.

    Guarantees: with `counts` local, global or with_test every released row equals at least k - 1
    others in the counted rows (k where k counts other rows) in all key columns as released; with
    local counts these are released by the same client. With `release = "whole_row"` the key is
    every released column but the label.
    """
    rows, key = _generalise_rows(table, clients, settings)
    columns, label = list_released_columns(table.columns), table.columns.label or ""
    if settings.counts == "global" and sums is None:
        sums = count_classes(table, clients, settings, len(clients.order), b"")
    counted, labels = rows.select(key), rows[label]
    owner = None
    match settings.counts:
        case "local":
            owner = pl.Series(np.repeat(np.arange(len(clients)), clients.sizes()))
        case "global" | "stable":
            pass
        case "with_test":
            tested = generalise(table.test.select(columns), settings.generalise).select(key)
            counted = pl.concat([counted, tested], how="vertical_relaxed")
            labels = pl.concat([labels, table.test[label]])
        case _:
            assert_never(settings.counts)
    classes = group_by_key(counted, owner, labels, settings)
    if sums is None:
        allowed, sizes = _decide_rows(classes, labels, settings, draws, owner), classes.counts()
    else:
        allowed, sizes = _decide_by_sums(classes, counted, labels, settings, sums)
    disclosed = classes.spread(allowed)[: rows.height]
    if settings.k_column is not None:
        disclosed &= find_reached_k(
            table.train, clients, settings, classes.spread(sizes)[: rows.height]
        )
    return RowRelease(
        rows=rows,
        disclosed=disclosed,
        clients=clients,
        key=key,
        label=label,
        classes=int(np.count_nonzero(classes.counts())),
        sums=sums,
    )


def count_classes(
    table: Table, clients: Clients, settings: RowSharing, rows: int, salt: bytes
) -> ClassSums:
    """Count the equivalence classes of these clients' rows, to be added to those of other parties.

    `rows` is the public number of rows of all parties, and `salt` is the same at all of them.
    """
    released, key = _generalise_rows(table, clients, settings)
    labels = released[table.columns.label or ""]
    assert isinstance(labels.dtype, pl.Enum), "a loaded table's label is an Enum"
    kinds = labels.dtype.categories.to_list()
    counting = choose_counting(settings, rows, kinds, salt)
    counted = released.select(key)
    classes = group_by_key(counted, None, labels, settings)
    used, keys = describe_classes(classes, counted, labels if settings.rule == "label_k" else None)
    numbers = labels.to_physical().cast(pl.Int64).to_numpy()
    by_label = (
        classes.by_label(numbers, len(kinds)) if counting.labels > 1 else classes.counts()[:, None]
    )
    return counting.count(keys, by_label[used])


def _generalise_rows(
    table: Table, clients: Clients, settings: RowSharing
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """All clients' rows in the form of their release, with the label, and the key columns."""
    columns, label = list_released_columns(table.columns), table.columns.label
    assert label is not None, "a loaded table has a label"
    owned = table.train[clients.order]
    rows = generalise(owned.select(columns), settings.generalise).with_columns(owned[label])
    return rows, _choose_key(rows, table.columns, settings)


def _decide_by_sums(
    classes: Classes,
    counted: pl.DataFrame,
    labels: pl.Series,
    settings: RowSharing,
    sums: ClassSums,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Decide which classes may be disclosed, by the counts of all parties; also return the rows of
    each class there.
    """
    assert isinstance(labels.dtype, pl.Enum), "a loaded table's label is an Enum"
    kinds = labels.dtype.categories.to_list()
    refuse_unreachable_l(settings, len(kinds))
    used, keys = describe_classes(classes, counted, labels if settings.rule == "label_k" else None)
    allowed, sizes = np.zeros(classes.cells, np.bool_), np.zeros(classes.cells, np.int64)
    by_label = sums.find_counts(keys)
    sizes[used] = by_label.sum(axis=1)
    allowed[used] = (
        find_allowed_counts(by_label, settings)
        if settings.own_rule is None
        else ask_own_rule(settings, by_label, sums.count_labels(), kinds)
    )
    return allowed, sizes


def find_kept_classes(
    release: RowRelease, table: Table, held_out: Clients, settings: RowSharing
) -> NDArray[np.bool_]:
    """Find the held-out rows whose equivalence class is not released: one flag per entry of `order`.

    Clients train on the rows that they keep. Rows on which they judge each other's training must be
    of the same kind: released rows are the frequent ones, and the server alone trains on them.

    Edge cases: a client whose held-out rows are all of released classes judges on all of them.
    """
    columns = list_released_columns(table.columns)
    ours = table.train[held_out.order]
    rows = generalise(ours.select(columns), settings.generalise).select(release.key)
    if release.sums is not None:
        alone = group_by_key(rows, None, ours[release.label], settings)
        labels = ours[release.label]
        allowed, sizes = _decide_by_sums(alone, rows, labels, settings, release.sums)
        leaves = alone.spread(allowed)
        if settings.k_column is not None:
            leaves &= find_reached_k(table.train, held_out, settings, alone.spread(sizes))
        return _keep_some(~leaves, held_out)
    both = pl.concat([release.rows.select(release.key), rows], how="vertical_relaxed")
    labels = pl.concat([release.rows[release.label], ours[release.label]])
    owner = None
    if settings.counts == "local":
        both_sizes = (release.clients.sizes(), held_out.sizes())
        owner = pl.Series(
            np.concatenate([np.repeat(np.arange(len(size)), size) for size in both_sizes])
        )
    classes = group_by_key(both, owner, labels, settings)
    is_released = np.zeros(classes.cells, np.bool_)
    is_released[classes.of_row[: release.rows.height][release.disclosed]] = True
    return _keep_some(~classes.spread(is_released)[release.rows.height :], held_out)


def _keep_some(stays: NDArray[np.bool_], held_out: Clients) -> NDArray[np.bool_]:
    """The rows that stay, or all rows of a client of which none does."""
    owners = np.repeat(np.arange(len(held_out)), held_out.sizes())
    has_some = np.bincount(owners[stays], minlength=len(held_out)) > 0
    return np.asarray(stays | ~has_some[owners])


def build_release_schema(empty: pl.DataFrame, columns: Columns, settings: RowSharing) -> pl.Schema:
    """Build the columns and types of disclosed rows, for a table without rows; no file of a
    hierarchy is read.
    """
    released = empty.select([*list_released_columns(columns), columns.label or ""])
    return pl.Schema(
        {
            name: find_generalised_type(kind, settings.generalise.get(name))
            for name, kind in released.schema.items()
            if settings.generalise.get(name) != SUPPRESS
        }
    )


def list_released_columns(columns: Columns) -> list[str]:
    """List the columns of a disclosed row without its label: inputs and quasi-identifiers."""
    image = (columns.image,) if columns.image else ()
    named = (*columns.numeric, *columns.categorical, *columns.text, *image, *columns.quasi)
    return [name for name in dict.fromkeys(named) if name != columns.label]


def _choose_key(rows: pl.DataFrame, columns: Columns, settings: RowSharing) -> tuple[str, ...]:
    match settings.release:
        case "whole_row":
            return tuple(name for name in rows.columns if name != columns.label)
        case "columns":
            key = tuple(
                name for name in columns.quasi if name in rows.columns and name != columns.label
            )
        case _:
            assert_never(settings.release)
    if not key:
        raise DataError(
            f"data.share(rule={settings.rule!r}) requires quasi-identifiers, the columns that"
            " could identify a person; name them in data.columns.quasi, or use data.share.release"
            " = 'whole_row'"
        )
    return key


def _decide_rows(
    classes: Classes,
    labels: pl.Series,
    settings: RowSharing,
    draws: Draws,
    owner: pl.Series | None,
) -> NDArray[np.bool_]:
    if settings.counts == "stable":
        assert settings.epsilon is not None
        assert settings.delta is not None
        return draw_disclosed(
            classes.counts(),
            settings.rows_alike,
            settings.epsilon,
            settings.delta,
            draws.at("decision"),
        )
    assert isinstance(labels.dtype, pl.Enum), "a loaded table's label is an Enum"
    numbers = labels.to_physical().cast(pl.Int64).to_numpy()
    whose = None if owner is None else owner.to_numpy()
    return find_allowed_classes(
        classes, numbers, labels.dtype.categories.to_list(), settings, whose
    )
