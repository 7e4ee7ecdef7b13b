"""Partition a table among clients in one of five ways."""

from __future__ import annotations

from itertools import pairwise
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.clean import to_float
from tacit.data.clients.client_count import assign_ranges, compute_range_starts, require_room
from tacit.data.clients.dirichlet import allot, deal, draw_shares
from tacit.data.table import Table
from tacit.errors import DataError
from tacit.plan import Data
from tacit.randomness import Draws
from tacit.rows import Clients

Numbers = NDArray[np.int64]


def divide(table: Table, data: Data, draws: Draws) -> Clients:
    """Partition the train rows as `data.partition` says.

    Guarantees: every row belongs to exactly one client and no client is empty. Source: Zhang et al.
    2022 (dirichlet), Fisichella et al. 2022 (quantile, interval).
    """
    rows, count = table.train.height, data.clients
    if data.partition != "client" and count > rows:
        require_room(table, data)
    match data.partition:
        case "client":
            owners, members = _find_owners(table)
            return _group_rows(owners, len(members))
        case "iid":
            return _deal_evenly(rows, count, draws.at("divide"))
        case "dirichlet":
            return _divide_by_label(table, data, draws.at("divide"))
        case "quantile" | "interval":
            values, starts = _compute_intervals(table, data)
            clients = _group_rows(assign_ranges(values, starts), count)
            if (clients.sizes() == 0).any():
                require_room(table, data)
            return clients
        case _:
            assert_never(data.partition)


def divide_test(table: Table, data: Data, draws: Draws, clients: Clients) -> Clients:
    """Partition the test rows so that each client's test rows resemble its train rows.

    `clients` is the result of `divide`. With dirichlet, test rows follow the label shares of the
    client's train rows (as in Zhang et al. 2022); with quantile and interval, the bounds found on
    the train rows; with iid, equal random parts. Edge cases: test rows of an owner without train
    rows belong to nobody; a client may have no test rows.
    """
    rows, count = table.test.height, len(clients)
    match data.partition:
        case "client":
            return _group_test_rows(table)
        case "iid":
            return _deal_evenly(rows, count, draws.at("divide-test"))
        case "dirichlet":
            labels = _get_labels(table.test, table)
            stock = np.bincount(labels, minlength=_count_classes(table)).astype(np.int64)
            sizes = _compute_even_sizes(rows, count)
            return _build_clients(
                deal(
                    labels,
                    allot(stock, sizes, compute_label_shares(table, clients)),
                    draws.at("divide-test"),
                ),
                sizes,
            )
        case "quantile" | "interval":
            _, starts = _compute_intervals(table, data)
            return _group_rows(assign_ranges(to_float(table.test[data.by or ""]), starts), count)
        case _:
            assert_never(data.partition)


def hold_out(
    clients: Clients, share: float, draws: Draws, first: int = 0
) -> tuple[Clients, Clients]:
    """Split each client's rows into train rows and a random share of held-out rows.

    `first` is the public name of the first client, if these are some of a run's clients.

    Edge cases: a client keeps at least one train row, and holds out at least one of two or more
    rows.
    """
    kept, held_out = [], []
    for client, size in enumerate(clients.sizes()):
        rows = clients.order[clients.starts[client] : clients.starts[client + 1]]
        count = (
            min(int(size) - 1, max(1, round(share * int(size)))) if share > 0 and size > 1 else 0
        )
        order = draws.at("hold-out", first + client).generator().permutation(int(size))
        kept.append(rows[np.sort(order[count:])])
        held_out.append(rows[np.sort(order[:count])])
    return _concatenate(kept), _concatenate(held_out)


def set_apart(clients: Clients, held_out: NDArray[np.bool_]) -> tuple[Clients, Clients]:
    """Split each client's rows into train rows and held-out rows; `held` marks the held-out rows of
    the table.
    """
    blocks = [clients.order[start:end] for start, end in pairwise(clients.starts.tolist())]
    return _concatenate([rows[~held_out[rows]] for rows in blocks]), _concatenate(
        [rows[held_out[rows]] for rows in blocks]
    )


def list_owners(table: Table) -> list[str]:
    """List the owners of the rows, in the client order of `divide`."""
    return _find_owners(table)[1].cast(pl.String).to_list()


def compute_label_shares(table: Table, clients: Clients) -> NDArray[np.float64]:
    """Compute each client's label shares: one row per client, one column per class."""
    labels, classes = _get_labels(table.train, table), _count_classes(table)
    owner = np.repeat(np.arange(len(clients)), clients.sizes())
    counts = np.bincount(
        owner * classes + labels[clients.order], minlength=len(clients) * classes
    ).reshape(len(clients), classes)
    shares: NDArray[np.float64] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares


def _get_labels(frame: pl.DataFrame, table: Table) -> Numbers:
    assert table.columns.label is not None, "a loaded table has a label"
    return frame[table.columns.label].to_physical().cast(pl.Int64).to_numpy()


def _count_classes(table: Table) -> int:
    kind = table.train.schema[table.columns.label or ""]
    assert isinstance(kind, pl.Enum), "a loaded table's label is an Enum"
    return len(kind.categories)


def _build_clients(order: Numbers, sizes: Numbers) -> Clients:
    return Clients(order=order, starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _concatenate(parts: list[Numbers]) -> Clients:
    order = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return _build_clients(order, np.array([len(part) for part in parts], np.int64))


def _group_rows(owner: Numbers, count: int) -> Clients:
    """Group rows by owner into clients 0..count-1, in table order; rows of owner -1 belong to
    nobody.
    """
    order = np.argsort(owner, kind="stable")[int((owner < 0).sum()) :]
    return _build_clients(order.astype(np.int64), np.bincount(owner[owner >= 0], minlength=count))


def _compute_even_sizes(rows: int, count: int) -> Numbers:
    return rows // count + (np.arange(count) < rows % count).astype(np.int64)


def _deal_evenly(rows: int, count: int, draws: Draws) -> Clients:
    return _build_clients(
        draws.generator().permutation(rows).astype(np.int64), _compute_even_sizes(rows, count)
    )


def _divide_by_label(table: Table, data: Data, draws: Draws) -> Clients:
    labels = _get_labels(table.train, table)
    stock = np.bincount(labels, minlength=_count_classes(table)).astype(np.int64)
    sizes = np.full(data.clients, len(labels) // data.clients, np.int64)
    sizes[-1] = len(labels) - int(sizes[:-1].sum())
    shares = draw_shares(stock, data.clients, data.alpha, draws.at("shares"))
    return _build_clients(deal(labels, allot(stock, sizes, shares), draws.at("rows")), sizes)


def _find_owners(table: Table) -> tuple[Numbers, pl.Series]:
    name = table.columns.client
    if name is None:
        raise DataError(
            "data.partition = 'client' requires data.columns.client; name the column of owners"
        )
    members = table.train[name].unique().sort()
    return _find_positions(table.train[name], members), members


def _group_test_rows(table: Table) -> Clients:
    _, members = _find_owners(table)
    return _group_rows(_find_positions(table.test[members.name], members), len(members))


def _find_positions(owners: pl.Series, members: pl.Series) -> Numbers:
    numbered = pl.DataFrame({"owner": members, "number": np.arange(len(members))})
    found = (
        owners.alias("owner")
        .to_frame()
        .join(numbered, on="owner", how="left", maintain_order="left")
    )
    return found["number"].fill_null(-1).to_numpy()


def _compute_intervals(table: Table, data: Data) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read the column's train values and compute where each client's interval starts."""
    if data.by is None:
        raise DataError(
            f"data.partition = {data.partition!r} requires data.by; name the column to divide by"
        )
    values = to_float(table.train[data.by])
    holes = int((~np.isfinite(values)).sum())
    if holes:
        raise DataError(
            f"data.by = {data.by!r}: {holes:,} rows have no number; divide by another column"
        )
    is_quantile = data.partition == "quantile"
    return values, compute_range_starts(
        np.sort(values) if is_quantile else values, data.clients, is_quantile
    )
