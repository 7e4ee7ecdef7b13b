"""The `private` preset on people of one row and of many, as it stands: nothing is set but epsilon and the number of people."""

import numpy as np
import polars as pl
import pytest

from tacit import plan, simulation
from tacit.runs import record
from tacit.runs.run_folder import RECORD


def reached(folder, tree):
    entries = list(record.read(simulation.start(plan.parse(tree), folder) / RECORD))
    return record.select_entries(entries, record.Round)[-1].metrics


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two strong columns that nearly agree, whose difference decides, and a common level: directions matter, not signs alone."""
    random = np.random.default_rng(1)
    level = random.normal(size=2000)
    gap = random.normal(size=2000)
    columns = {"a": level + 0.4 * gap, "b": level - 0.4 * gap, "c": random.random(2000) * 50}
    label = np.where(gap + 0.3 * random.normal(size=2000) > 0.3, "yes", "no")
    path = tmp_path_factory.mktemp("rows") / "table.csv"
    pl.DataFrame({**columns, "label": label}).write_csv(path)
    return path


def tree(path, clients, **local):
    columns = {"label": "label", "numeric": ["a", "b", "c"]}
    promise = {"preset": "private", "epsilon": 8.0}
    return {
        "privacy": promise,
        "data": {"source": str(path), "clients": clients, "columns": columns},
        "local": local,
    }


@pytest.mark.slow
def test_people_of_one_row_train_a_model_that_converges(tmp_path, table):
    one_each = reached(tmp_path / "one", tree(table, 1600))
    directions = reached(tmp_path / "directions", tree(table, 1600, normalise=True))
    assert one_each["accuracy"] > 0.87  # scikit-learn: 0.90
    assert one_each["loss"] < directions["loss"]


@pytest.mark.slow
def test_more_people_on_the_same_rows_do_not_cost_accuracy(tmp_path, table):
    many, few = (reached(tmp_path / str(clients), tree(table, clients)) for clients in (1600, 160))
    assert many["accuracy"] > few["accuracy"] - 0.02  # 400 test rows


@pytest.mark.slow
def test_one_percent_of_positive_rows_are_found(tmp_path):
    random = np.random.default_rng(3)
    positive = random.random(5000) < 0.01
    numbers = random.normal(size=(5000, 4)) + positive[:, None] * np.array([3.0, 2.5, -2.0, 0.0])
    frame = pl.DataFrame(
        {
            **{name: numbers[:, at] for at, name in enumerate("abcd")},
            "label": np.where(positive, "yes", "no"),
        }
    )
    frame.write_csv(tmp_path / "rare.csv")
    asked = tree(tmp_path / "rare.csv", 1000)
    asked["data"]["columns"]["numeric"] = ["a", "b", "c", "d"]
    found = reached(tmp_path, asked)
    assert found["auc"] > 0.97
    assert found["f1"] > 0.4
