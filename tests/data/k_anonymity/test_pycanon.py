"""Releases read by pycanon, in an environment of its own: PYCANON_PYTHON names its interpreter."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit.data import Table, load
from tacit.data.clients.divide import divide
from tacit.data.k_anonymity import RowRelease, decide_release, examine
from tacit.plan import Columns, Data, RowSharing
from tacit.randomness import Draws
from tacit.rows import Clients
from tests.data.conftest import need

PYTHON = os.environ.get("PYCANON_PYTHON")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="PYCANON_PYTHON does not name a Python with pycanon"
)
DRAWS = Draws.seeded(0)
RULES = [
    RowSharing(k=5, counts="global"), RowSharing(k=20, counts="global"), RowSharing(rule="distinct_l", k=5, l=2, counts="global"),
    RowSharing(rule="distinct_l", k=3, l=3, counts="global"), RowSharing(rule="entropy_l", k=5, l=2, counts="global"),
    RowSharing(k=3, release="whole_row", counts="global"), RowSharing(rule="distinct_l", k=4, l=2, release="whole_row", counts="global"),
]  # fmt: skip


def random_table(seed: int) -> tuple[Table, Clients]:
    random = np.random.default_rng(seed)
    rows, kinds = 300, pl.Enum(["a", "b", "c"])
    frame = pl.DataFrame(
        {
            "age": random.integers(20, 26, rows),
            "race": random.choice(["u", "v"], rows),
            "pay": random.integers(0, 3, rows),
            "y": pl.Series(random.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])).cast(kinds),
        }
    )
    columns = Columns(
        numeric=("age", "pay"), categorical=("race",), label="y", quasi=("age", "race")
    )
    clients = Clients(order=np.arange(rows), starts=np.array([0, rows // 2, rows]))
    return Table(train=frame, test=frame.clear(), columns=columns, source=""), clients


def read_by_pycanon(folder: Path, offers: list[RowRelease]) -> list[dict[str, int]]:
    asked = []
    for number, one in enumerate(offers):
        one.released().write_csv(folder / f"{number}.csv")
        asked.append(
            json.dumps(
                {"file": str(folder / f"{number}.csv"), "key": list(one.key), "label": one.label}
            )
        )
    script = Path(__file__).with_name("pycanon_reads.py")
    told = subprocess.run(
        [str(PYTHON), str(script)],
        input="\n".join(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return [json.loads(line) for line in told.stdout.splitlines()]


def test_random_releases(tmp_path: Path) -> None:
    made = [
        (settings, decide_release(*random_table(seed), settings, DRAWS))
        for seed in range(10)
        for settings in RULES
    ]
    made = [(settings, one) for settings, one in made if one.disclosed.any()]
    assert len(made) > 40
    for (settings, _), said in zip(
        made, read_by_pycanon(tmp_path, [one for _, one in made]), strict=True
    ):
        assert said["k"] >= settings.k
        assert said["l"] >= (settings.l if settings.rule == "distinct_l" else 1)
        assert said["entropy_l"] >= (settings.l if settings.rule == "entropy_l" else 1)


def test_adult(tmp_path: Path) -> None:
    need("adult")
    data = Data(source="adult", test=0.0, clients=10, partition="quantile", by="age")
    table = load(data, DRAWS)
    clients = divide(table, data, DRAWS)
    rules = [
        RowSharing(k=100),
        RowSharing(rule="label_k", k=300),
        RowSharing(rule="distinct_l", k=100, l=2),
    ]
    offers = [decide_release(table, clients, settings, DRAWS) for settings in rules]
    said = read_by_pycanon(tmp_path, offers)
    assert (
        [one["k"] for one in said]
        == [examine(one).smallest_class for one in offers]
        == [101, 301, 101]
    )
    assert [one["l"] for one in said] == [
        1,
        1,
        2,
    ], "the paper's rule at l=300 releases classes with one label only"
