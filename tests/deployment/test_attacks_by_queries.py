"""Attacks of a malicious server with queries: nothing that one person's cell changes is said without noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tacit import plan as plans
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.site.owner_site import OwnerSite
from tests.deployment.hostile import HostileServer, payloads
from tests.deployment.local_post import GENEROUS, owner

QUERIES = {"age": "mean of age", "town": "frequent values of town", "miss": "missing in age"}


def hostile(folder: Path, age: str, other: dict[str, str], policy: str = GENEROUS) -> HostileServer:
    """A server that asks a site of 60 patients, of whom one has other cells."""
    folder.mkdir()
    cells: dict[str, list[Any]] = {"age": [age] * 60, "town": ["Berlin", "Paris"] * 30}
    for name, cell in other.items():
        cells[name][7] = cell
    pl.DataFrame({"patient": [f"p{one}" for one in range(60)], **cells}).write_csv(
        folder / "rows.csv"
    )
    tree = {
        "name": "asked",
        "privacy": {"epsilon": 2.0, "clients": 120},
        "data": {"source": "given", "partition": "client", "columns": {"client": "patient"}},
        "statistics": {"queries": QUERIES},
    }
    made = owner("a", folder / "rows.csv", folder / "a", policy)
    return HostileServer(OwnerSite(made), prepare_for_sites(plans.parse(tree)))


@pytest.mark.parametrize("age", ["", "abc"])
@pytest.mark.parametrize("cell", ["5", ""])
def test_one_number_decides_no_refusal(tmp_path, age, cell) -> None:
    """Before, a site refused a column without numbers, so one patient's number showed in the refusal."""
    asked = hostile(tmp_path / "a", age, {"age": cell})
    assert asked.open(), (asked.status, asked.rule)


@pytest.mark.parametrize("other", [{"age": "1,5"}, {"age": "1e999"}, {"town": "x" * 50_000}])
def test_one_patients_cells_change_one_message(tmp_path, other) -> None:
    found = []
    for name, cells in (("a", {}), ("b", other)):
        answers = hostile(tmp_path / name, "40", cells).start().train(0.0, 1)
        assert answers
        found.append(payloads(answers))
    assert sum(found[0][one] != found[1][one] for one in found[0]) <= 1


def test_a_server_asks_each_round_once_and_the_policy_decides(tmp_path) -> None:
    asked = hostile(tmp_path / "a", "40", {}).start()
    assert asked.train(0.0, 1)
    assert asked.train(1.0, 1) is None
    assert asked.train(0.0, 2)
    assert asked.train(5.0, 2) is None
    assert asked.train(0.0, 3) is None
    narrow = GENEROUS.replace('models = ["*"]', 'models = ["logistic"]')
    assert hostile(tmp_path / "b", "40", {}, narrow).open() is None
