"""Known counts of the real sets; each test is skipped where its set is not at hand."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data import divide_test, load
from tacit.data.clients.divide import divide
from tacit.data.download import store
from tacit.data.named.catalogue import BUILT_IN
from tacit.plan import Columns, Data
from tacit.randomness import Draws
from tests.data.conftest import need

SIZES = {
    "adult": (30_162, 0),
    "ag_news": (20_497, 7_600),
    "cardio": (70_000, 0),
    "imdb": (25_000, 25_000),
    "mnist": (60_000, 10_000),
    "newsgroups20": (11_314, 7_532),
    "spambase": (4_601, 0),
    "sst2": (67_349, 1_821),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str, draws: Draws) -> None:
    need(name)
    table = load(Data(source=name, test=0.0), draws)
    assert (table.train.height, table.test.height) == SIZES[name]
    assert not any(table.train.null_count().row(0))


def counts(name: str, draws: Draws, half: str = "train") -> dict[str, int]:
    table = load(Data(source=name, test=0.0), draws)
    frame = table.train if half == "train" else table.test
    return {
        str(label): count for label, count in frame[table.columns.label or ""].value_counts().rows()
    }


def test_class_counts(draws: Draws) -> None:
    need("imdb")
    need("sst2")
    assert counts("imdb", draws) == counts("imdb", draws, "test") == {"0": 12_500, "1": 12_500}
    assert counts("sst2", draws) == {"0": 29_780, "1": 37_569}
    assert counts("sst2", draws, "test") == {"0": 912, "1": 909}


def test_adult_intervals(draws: Draws) -> None:
    need("adult")
    data = Data(source="adult", test=0.0, clients=10, partition="quantile", by="age")
    table = load(data, draws)
    assert sum(table.train["income"].to_physical()) / table.train.height == pytest.approx(
        0.249, abs=0.0005
    )
    assert len(table.columns.numeric) + len(table.columns.categorical) == 12
    ages = table.train["age"].to_numpy()
    clients = divide(table, data, draws)
    starts = [int(ages[part].min()) for part in np.split(clients.order, clients.starts[1:-1])]
    assert starts == [17, 22, 26, 30, 33, 37, 41, 45, 50, 57]
    wide = divide(table, Data(source="adult", clients=10, partition="interval", by="age"), draws)
    assert wide.sizes().tolist() == [4869, 5579, 6547, 5139, 3810, 2671, 1019, 388, 90, 50]


def test_newsgroups_by_label(draws: Draws) -> None:
    need("newsgroups20")
    data = Data(source="newsgroups20", partition="dirichlet", clients=100, alpha=1.0)
    table = load(data, draws)
    clients = divide(table, data, draws)
    assert clients.sizes().tolist() == [113] * 99 + [127]
    assert divide_test(table, data, draws, clients).sizes().sum() == 7_532


def test_adult_levels_are_cut_where_arules_cuts(draws: Draws) -> None:
    need("adult")
    numeric = ("capital-gain", "capital-loss", "gain-level", "loss-level", "hours-level")
    rows = load(Data(source="adult", test=0.0, columns=Columns(numeric=numeric)), draws).train
    for raw, level, median in (
        ("capital-gain", "gain-level", 7_298),
        ("capital-loss", "loss-level", 1_887),
    ):
        positive = rows.filter(rows[raw] > 0)
        assert int(positive[raw].median()) == median
        assert positive.filter(positive[raw] <= median)[level].unique().to_list() == [1]
        assert rows.filter(rows[raw] == 0)[level].unique().to_list() == [0]
    assert sorted(rows["hours-level"].unique()) == [0, 1, 2, 3]


def test_adult_label_can_be_another(draws: Draws) -> None:
    need("adult")
    table = load(Data(source="adult", columns=Columns(label="sex")), draws)
    assert table.columns.label == "sex"
    assert "sex" not in table.columns.categorical
    assert table.train["sex"].n_unique() == 2


def test_mnist_training_pictures_are_the_published_ones() -> None:
    need("mnist")
    table, _ = store.read_data_set("mnist")
    pixels = table.filter(table["split"] == "train")["image"].to_numpy()
    assert pixels.mean() / 255 == pytest.approx(0.1306604762738429, abs=1e-12)


def test_every_name_is_tested_here() -> None:
    assert {entry.name for entry in BUILT_IN} == set(SIZES)


def test_newsgroups_text_is_the_published_one() -> None:
    need("newsgroups20")
    table, _ = store.read_data_set("newsgroups20")
    per_group = table.filter(table["split"] == "train")["newsgroup"].value_counts()["count"]
    assert (len(per_group), per_group.min(), per_group.max()) == (20, 377, 600)
    assert table["text"].str.contains("(?m)^From: ").all()
