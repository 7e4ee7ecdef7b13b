"""A rule of the user's own, and a k of its own for each client, against a recount by hand."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.data import Table
from tacit.data.k_anonymity import RowRelease, count_classes, decide_release, find_kept_classes
from tacit.data.k_anonymity.own_k import find_reached_k
from tacit.plan import RowSharing
from tacit.randomness import Draws
from tacit.rows import Clients
from tests.data.k_anonymity.tables import COLUMNS, LABELS, tables

DRAWS = Draws.seeded(0)
Counting = Literal["local", "global"]
CODE = """
import numpy as np

def t_close(classes, *, t=0.2):
    shares = classes.by_label / classes.by_label.sum(axis=1, keepdims=True)
    overall = classes.everything / classes.everything.sum()
    return np.abs(shares - overall).sum(axis=1) / 2 <= t

def twin(classes, *, t=0.2):
    return t_close(classes, t=t + 0.3)

def everything(classes):
    return classes.everything > 0
"""


@pytest.fixture(scope="module", autouse=True)
def code(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("parts")
    (folder / "closeness_rule.py").write_text(CODE)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


def sharing(rule: str, counts: Counting, k: int, t: float) -> RowSharing:
    return RowSharing(rule=f"closeness_rule:{rule}", k=k, counts=counts, rule_settings={"t": t})


def group(release: RowRelease, counts: Counting) -> list[tuple[object, ...]]:
    """The class of each row."""
    owner = np.repeat(np.arange(len(release.clients)), release.clients.sizes()).tolist()
    keys = release.rows.select(COLUMNS.quasi).rows()
    return [(*key, one) if counts == "local" else key for key, one in zip(keys, owner, strict=True)]


def recount(release: RowRelease, counts: Counting, k: int, t: float) -> list[bool]:
    """Which rows t-closeness releases, counted row by row."""
    owner = np.repeat(np.arange(len(release.clients)), release.clients.sizes()).tolist()
    labels, keys = release.rows["y"].to_list(), group(release, counts)
    classes: dict[object, Counter[str]] = defaultdict(Counter)
    whole: dict[object, Counter[str]] = defaultdict(Counter)
    for key, one, label in zip(keys, owner, labels, strict=True):
        classes[key][label] += 1
        whole[one if counts == "local" else None][label] += 1
    found = []
    for key, one in zip(keys, owner, strict=True):
        mine, all_ = classes[key], whole[one if counts == "local" else None]
        apart = sum(abs(mine[name] / mine.total() - all_[name] / all_.total()) for name in LABELS)
        found.append(mine.total() >= k and apart / 2 <= t)
    return found


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    tables(),
    st.integers(1, 6),
    st.sampled_from([0.1501, 0.2501, 0.4001]),
    st.sampled_from(["local", "global"]),
)
def test_t_closeness_by_recount(made, k, t, counts) -> None:
    release = decide_release(*made, sharing("t_close", counts, k, t), DRAWS)
    assert release.disclosed.tolist() == recount(release, counts, k, t)


def test_a_rule_that_is_too_lax_is_caught_by_the_recount() -> None:
    made = _made(200)
    release = decide_release(*made, sharing("twin", "local", 2, 0.15), DRAWS)
    assert release.disclosed.tolist() != recount(release, "local", 2, 0.15)
    honest = decide_release(*made, sharing("t_close", "local", 2, 0.15), DRAWS)
    assert honest.disclosed.tolist() == recount(honest, "local", 2, 0.15)


def _made(rows: int) -> tuple[Table, Clients]:
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": pl.Series(random.choice([20, 21, 37], rows), dtype=pl.Int32),
            "pay": random.normal(size=rows),
            "race": pl.Series(random.choice(["u", "v"], rows), dtype=pl.Enum(["u", "v"])),
            "y": pl.Series(random.choice(LABELS, rows), dtype=pl.Enum(LABELS)),
        }
    )
    clients = Clients(order=np.arange(rows), starts=np.array([0, rows // 2, rows]))
    return Table(train=frame, test=frame.clear(), columns=COLUMNS, source="made up"), clients


def with_k(made: tuple[Table, Clients], asked: list[object]) -> tuple[Table, Clients]:
    """A table whose clients ask for these numbers, in all their rows."""
    table, clients = made
    cells = np.repeat(np.array(asked, object)[: len(clients)], clients.sizes()).tolist()
    column = pl.Series("least", [None if one is None else str(one) for one in cells], pl.String)
    return replace(table, train=table.train.with_columns(column)), clients


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    tables(),
    st.lists(st.integers(0, 12), min_size=3, max_size=3),
    st.integers(1, 6),
    st.sampled_from(["local", "global"]),
    st.sampled_from(["rows", "other_rows"]),
)
def test_each_client_s_own_k_by_recount(made, asked, k, counts, k_of) -> None:
    wanted = RowSharing(k=k, k_column="least", counts=counts, k_of=k_of)
    release = decide_release(*with_k(made, asked), wanted, DRAWS)
    assert "least" not in release.rows.columns
    sizes = Counter(keys := group(release, counts))
    owner = np.repeat(np.arange(len(release.clients)), release.clients.sizes()).tolist()
    least = [max(k, asked[one]) + (k_of == "other_rows") for one in owner]
    expected = [sizes[key] >= needed for key, needed in zip(keys, least, strict=True)]
    assert release.disclosed.tolist() == expected


def test_a_client_asks_for_the_greatest_number_in_its_rows_and_bad_cells_keep_all() -> None:
    frame = pl.DataFrame({"least": ["2", None, "4", "", " 3 ", "many", "1", "-1", "inf", "2.5"]})
    clients = Clients(order=np.arange(10), starts=np.array([0, 3, 5, 7, 8, 9, 10]))
    reached = find_reached_k(
        frame, clients, RowSharing(k=1, k_column="least"), np.full(10, 3, np.int64)
    )
    assert reached.tolist() == [False, False, False, True, True, False, False, False, False, True]


def test_held_out_rows_of_a_client_that_keeps_a_class_stay_with_it() -> None:
    """A class that one client releases and the other keeps is of the kind that the other keeps."""
    table, clients = with_k(_made(60), [1, 1000])
    wanted = RowSharing(k=1, k_column="least", counts="global")
    sums = count_classes(table, clients, wanted, 60, b"")
    release = decide_release(table, clients, wanted, DRAWS, sums)
    assert release.disclosed.tolist() == [True] * 30 + [False] * 30
    assert find_kept_classes(release, table, clients, wanted)[30:].all()
