"""A client column means the same clients in a simulation and at a site, and a schema the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tacit import plan as plans
from tacit.data import list_owners
from tacit.deployment.site.rows.site_rows import read_rows
from tacit.privacy.policy import PrivacyUnit
from tacit.privacy.policy.policy import parse_policy
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import divide_rows
from tests.deployment.local_post import GENEROUS, owner, rehearsed
from tests.deployment.test_misfits import SCHEMA, rows_of, write

NAMES: dict[str, pl.Series] = {
    "blanks and Unicode forms": pl.Series(["é1", "e\u03011", " é1\xa0", "é1\u200b", "Ⅸ", "IX", " ", None]),
    "decimal numbers": pl.Series([7.0, 7.0, 8.0, 8.5, 9.0, 9.0, float("nan"), None]),
    "integers": pl.Series([7, 7, 8, 10, 9, 9, 100, None]),
    "texts of numbers": pl.Series(["7", "7 ", "8", "8.5", "9", "\t9", "007", ""]),
    "categories": pl.Series(["a", "a ", "b", "b", "c", "c", " c", None]).cast(pl.Categorical),
    "decimals": pl.Series([7, 7, 8, 9, 9, 9, 10, None]).cast(pl.Decimal(10, 2)),
}  # fmt: skip


def job(source: Path, **data: Any) -> plans.Plan:
    columns = {"client": "who", "numeric": ["x"], "label": "y"}
    return plans.parse(
        {
            "data": {"source": str(source), "partition": "client", "test": 0.0, "columns": columns, **data},
            "codec": {"name": "plain"},
        }
    )  # fmt: skip


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_a_simulation_and_a_site_see_the_same_clients(names: pl.Series, tmp_path: Path) -> None:
    """Before, the simulator took blanks, Unicode forms and 7.0 beside 7 for different clients."""
    rows = pl.DataFrame({"who": names, "x": range(8), "y": ["no", "yes"] * 4})
    rows.write_parquet(tmp_path / "rows.parquet")
    made = owner("a", tmp_path / "rows.parquet", tmp_path / "a", unit=PrivacyUnit(client="who"))
    plan = job(tmp_path / "rows.parquet")
    table, clients = divide_rows(plan)
    site = read_rows(plan, made, parse_policy(GENEROUS).limits, Draws(bytes(32)), None)
    simulated = dict(zip(list_owners(table), clients.sizes().tolist(), strict=True))
    deployed = dict(zip(site.owners, site.clients.sizes().tolist(), strict=True))
    assert simulated == deployed


def test_a_schema_ends_in_the_same_model_at_sites_and_in_a_simulation(tmp_path: Path) -> None:
    rows = [row for site in "abc" for row in rows_of(site)]
    rows[3] = {**rows[3], "dose": "N/A", "ward": ""}
    source = write(tmp_path / "rows.csv", rows)
    columns = {
        "client": "patient", "label": "outcome", "numeric": ["age", "dose", "seen"], "categorical": ["ward", "smoker"],
    }  # fmt: skip
    schema = {**SCHEMA, "dose": {**SCHEMA["dose"], "missing_values": ["N/A"]}}
    plan = plans.parse(
        {
            "name": "visits", "seed": 3, "schema": {"columns": schema},
            "data": {"source": str(source), "partition": "client", "columns": columns},
            "local": {"lr": 0.5}, "codec": {"name": "gaussian", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
            "server": {"rounds": 2},
        }
    )  # fmt: skip
    one, other = rehearsed(plan, tmp_path)
    assert one == other
