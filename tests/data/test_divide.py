from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data import Table, compute_label_shares, divide_test, hold_out
from tacit.data.clients.dirichlet import allot, apportion, draw_shares
from tacit.data.clients.divide import divide
from tacit.errors import DataError
from tacit.plan import Columns, Data
from tacit.randomness import Draws
from tacit.rows import Clients
from tests import seeds


def table(labels: list[int], test: list[int] | None = None, **columns: list[object]) -> Table:
    kind = pl.Enum([str(label) for label in range(max([*labels, *(test or [])]) + 1)])
    train = pl.DataFrame({"y": pl.Series([str(label) for label in labels], dtype=kind), **columns})
    held = pl.DataFrame({"y": pl.Series([str(label) for label in test or []], dtype=kind)})
    return Table(
        train=train,
        test=held,
        columns=Columns(label="y", client="who" if "who" in columns else None),
        source="made up",
    )


def holds_all(clients: Clients, rows: int) -> bool:
    return (
        bool((np.sort(clients.order) == np.arange(rows)).all())
        and int(clients.starts[-1]) == rows
        and int(clients.starts[0]) == 0
    )


@given(st.integers(1, 40), st.integers(0, 200), st.integers(0, 5))
def test_iid_sizes_differ_by_one_at_most(count: int, more: int, seed: int) -> None:
    rows = table([0, 1] * (count + more))
    clients = divide(rows, Data(clients=count), Draws.seeded(seed))
    assert holds_all(clients, rows.train.height)
    assert len(clients) == count
    assert clients.sizes().max() - clients.sizes().min() <= 1


def test_same_draws_same_clients() -> None:
    rows = table([0, 1, 2] * 50)
    for partition in ("iid", "dirichlet"):
        data = Data(clients=10, partition=partition)  # type: ignore[arg-type]
        one, two, other = (divide(rows, data, Draws.seeded(seed)) for seed in (1, 1, 2))
        assert (one.order == two.order).all()
        assert not (one.order == other.order).all()


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=12),
    st.integers(1, 20),
    st.sampled_from([1e-6, 0.01, 0.3, 1.0, 10.0, 1e4]),
    st.integers(0, 3),
)
def test_dirichlet_invariants(stock: list[int], count: int, alpha: float, seed: int) -> None:
    labels = [label for label, size in enumerate(stock) for _ in range(size)]
    count = min(count, len(labels))
    rows = table(labels)
    clients = divide(
        rows, Data(clients=count, partition="dirichlet", alpha=alpha), Draws.seeded(seed)
    )
    assert holds_all(clients, len(labels))
    sizes = clients.sizes()
    assert (sizes[:-1] == len(labels) // count).all(), "equal sizes"
    assert sizes[-1] == len(labels) - (count - 1) * (len(labels) // count), (
        "the last client takes the remainder"
    )


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(1, 10), st.integers(0, 3))
def test_allot_follows_the_shares_while_the_stock_lasts(
    stock: list[int], count: int, seed: int
) -> None:
    stock_of = np.array([*stock, 1], np.int64)
    size = int(stock_of.sum()) // count
    sizes = np.full(count, size, np.int64)
    shares = draw_shares(stock_of, count, 1.0, Draws.seeded(seed))
    given_out = allot(stock_of, sizes, shares)
    assert (given_out.sum(axis=1) == sizes).all()
    assert (given_out.sum(axis=0) <= stock_of).all()
    wanted = apportion(size, shares[0])
    if (wanted <= stock_of).all():
        assert (given_out[0] == wanted).all(), "the first client meets full piles"


def test_exhausted_labels_are_refilled_in_proportion_to_what_is_left() -> None:
    given_out = allot(np.array([4, 30, 10]), np.array([12]), np.array([[1.0, 0.0, 0.0]]))
    assert given_out.tolist() == [[4, 6, 2]]


@pytest.mark.statistical
def test_dirichlet_mean_and_spread_are_those_of_alpha_times_share() -> None:
    """For Dir(a·p): mean p, variance p(1-p)/(a+1). 20,000 draws; bounds are six standard errors or more, missed with 1e-8."""
    stock = np.array([700, 200, 100])
    share = stock / stock.sum()
    drawn = draw_shares(stock, 20_000, 1.0, seeds.draws(3))
    assert np.allclose(drawn.sum(axis=1), 1)
    assert np.abs(drawn.mean(axis=0) - share).max() < 0.015
    assert np.abs(drawn.var(axis=0) - share * (1 - share) / 2).max() < 0.01


@given(st.integers(0, 500), st.lists(st.floats(0.01, 1), min_size=1, max_size=9))
def test_apportion_adds_up_and_stays_within_one(total: int, weights: list[float]) -> None:
    weight = np.array(weights)
    parts = apportion(total, weight)
    assert parts.sum() == total
    assert (np.abs(parts - total * weight / weight.sum()) < 1 + 1e-9).all()


def test_dirichlet_test_rows_follow_the_clients_train_rows() -> None:
    rows = table(
        [label for label in range(4) for _ in range(500)],
        [label for label in range(4) for _ in range(250)],
    )
    data, draws = Data(clients=10, partition="dirichlet", alpha=0.5), Draws.seeded(1)
    clients = divide(rows, data, draws)
    held = divide_test(rows, data, draws, clients)
    assert holds_all(held, 1000)
    assert (held.sizes() == 100).all()
    labels = rows.test["y"].to_physical().to_numpy()[held.order].reshape(10, 100)
    shares = np.stack([np.bincount(row, minlength=4) / 100 for row in labels])
    assert np.abs(shares - compute_label_shares(rows, clients)).max() < 0.05


def test_by_owner_sorted_and_complete() -> None:
    rows = table([0, 1, 0, 1, 0], [0, 1, 0], who=["b", "a", "b", "c", "a"])
    data = Data(partition="client")
    clients = divide(rows, data, Draws.seeded(0))
    assert [list(part) for part in np.split(clients.order, clients.starts[1:-1])] == [
        [1, 4],
        [0, 2],
        [3],
    ]
    rows = Table(
        train=rows.train,
        test=rows.test.with_columns(who=pl.Series(["c", "stranger", "a"])),
        columns=rows.columns,
        source=rows.source,
    )
    held = divide_test(rows, data, Draws.seeded(0), clients)
    assert held.sizes().tolist() == [1, 0, 1]
    assert held.order.tolist() == [2, 0]


def numbered(values: list[float], test: list[float] | None = None) -> Table:
    made = table([0, 1] * len(values), [0] * len(test or []))
    train = made.train.head(len(values)).with_columns(x=pl.Series(values))
    return Table(
        train=train,
        test=made.test.with_columns(x=pl.Series(test or [], dtype=pl.Float64)),
        columns=made.columns,
        source="",
    )


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(1, 6))
def test_equal_values_stay_together(values: list[int], count: int) -> None:
    rows = numbered([float(value) for value in values])
    for partition in ("quantile", "interval"):
        try:
            clients = divide(
                rows, Data(clients=count, partition=partition, by="x"), Draws.seeded(0)
            )  # type: ignore[arg-type]
        except DataError:
            continue
        assert holds_all(clients, len(values))
        parts = [
            set(np.array(values)[part]) for part in np.split(clients.order, clients.starts[1:-1])
        ]
        assert all(max(low) < min(high) for low, high in itertools.pairwise(parts))


def test_distinct_values_make_equal_quantiles() -> None:
    clients = divide(
        numbered([0.5 * number for number in range(12)]),
        Data(clients=4, partition="quantile", by="x"),
        Draws.seeded(0),
    )
    assert clients.sizes().tolist() == [3, 3, 3, 3]


def test_test_rows_use_the_bounds_of_the_train_rows() -> None:
    rows = numbered([1.0, 2.0, 3.0, 4.0], [-5.0, 3.0, 99.0])
    data, draws = Data(clients=2, partition="quantile", by="x"), Draws.seeded(0)
    held = divide_test(rows, data, draws, divide(rows, data, draws))
    assert [list(part) for part in np.split(held.order, held.starts[1:-1])] == [[0], [1, 2]]


@pytest.mark.parametrize(
    ("data", "values", "words"),
    [
        (Data(clients=9), [1.0, 2.0], "data.clients to 2 or less"),
        (
            Data(clients=2, partition="quantile", by="x"),
            [1.0, 1.0, 1.0, 2.0],
            "to 1 or less, or data.partition to 'interval'",
        ),
        (Data(clients=3, partition="interval", by="x"), [0.0, 0.1, 100.0], "'quantile'"),
        (
            Data(clients=2, partition="interval", by="x"),
            [0.0, float("nan"), 1.0],
            "1 rows have no number",
        ),
        (Data(partition="client"), [0.0, 1.0], r"data\.columns\.client"),
    ],
)
def test_impossible_divisions(data: Data, values: list[float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        divide(numbered(values), data, Draws.seeded(0))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.floats(0, 0.99))
def test_hold_out_divides_each_client(sizes: list[int], share: float) -> None:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    clients = Clients(order=np.arange(starts[-1])[::-1].copy(), starts=starts)
    kept, held = hold_out(clients, share, Draws.seeded(0))
    assert (kept.sizes() + held.sizes() == sizes).all()
    assert (kept.sizes() >= 1).all()
    for client in range(len(sizes)):
        own = set(clients.order[starts[client] : starts[client + 1]])
        mine = [part.order[part.starts[client] : part.starts[client + 1]] for part in (kept, held)]
        assert set(mine[0]) | set(mine[1]) == own
        assert len(mine[1]) == 0 or share > 0
