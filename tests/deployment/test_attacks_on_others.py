"""What one client's rows can change, no other client's message depends on: how numbers are written, which rows are held out,
what a label looks like, and how a name is spelled."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit.data.clients.client_names import normalise_names
from tacit.deployment.site.owner_site import OwnerSite
from tacit.printable import is_plain_name
from tacit.privacy.policy import PrivacyUnit
from tests.deployment.hostile import HostileServer, payloads
from tests.deployment.local_post import GENEROUS, owner

POLICY = GENEROUS.replace("min_clients_per_value = 1", "min_clients_per_value = 10")
PEOPLE = 24
COUNTER = itertools.count()
AGE = {"type": "number", "minimum": 0, "maximum": 2000}


def write(**cells: Any) -> pl.DataFrame:
    """Three rows of each person; `cells` say what a column holds, by person and row."""
    places = [(person, row) for person in range(PEOPLE) for row in range(3)]
    given = {
        "patient": lambda person, row: f"p{person:02d}",
        "age": lambda person, row: f"{20 + person + row}.5",
        "outcome": lambda person, row: ["no", "yes"][(person + row) % 2],
    } | cells
    return pl.DataFrame({name: [cell(*place) for place in places] for name, cell in given.items()})


def job(schema: dict[str, Any] | None = None, **data: Any) -> plans.Plan:
    columns = {"client": "patient", "numeric": ["age"], "label": "outcome"} | data.pop(
        "columns", {}
    )
    tree: dict[str, Any] = {
        "seed": 1, "data": {"source": "given", "test": 0.0, "columns": columns, **data},
        "features": {"numeric": "minmax", "ranges": {"age": [0, 2000]}}, "local": {"lr": 0.5, "batches": 1},
        "codec": {"name": "plain"}, "server": {"rounds": 2},
    }  # fmt: skip
    return plans.parse(tree | ({"schema": {"columns": schema}} if schema else {}))


class Hospital:
    def __init__(
        self, folder: Path, rows: pl.DataFrame, plan: plans.Plan, kind: str = ".csv"
    ) -> None:
        place = folder / str(next(COUNTER))
        place.mkdir()
        (rows.write_csv if kind == ".csv" else rows.write_parquet)(place / f"rows{kind}")
        made = owner(
            "a", place / f"rows{kind}", place / "a", POLICY, unit=PrivacyUnit(client="patient")
        )
        self.site = OwnerSite(made)
        self.server = HostileServer(self.site, plan).start()

    def train(self) -> dict[int, np.ndarray]:
        response = self.server.train()
        assert response, self.server.status
        return {name: np.frombuffer(body, np.float32) for name, body in payloads(response).items()}

    def count_measured_rows(self) -> int:
        return len(self.site._runs["job-1"].load_side().counted_rows(1)[0])


def change_first(rows: pl.DataFrame, **cells: str) -> pl.DataFrame:
    """The first person's rows, or the first row of the table, say something else."""
    number = pl.int_range(pl.len())
    return rows.with_columns(
        pl.when(number < 3).then(pl.lit(cell)).otherwise(pl.col(name)).alias(name) for name, cell in cells.items()
    )  # fmt: skip


def assert_others_are_unchanged(
    before: dict[int, np.ndarray], after: dict[int, np.ndarray]
) -> None:
    assert before.keys() == after.keys()
    for name in before.keys() - {0}:
        assert np.allclose(before[name], after[name], atol=1e-5), f"client {name}"


@pytest.mark.parametrize("cell", ["1,5", "1.5"])
@pytest.mark.parametrize("plan", [job(), job({"age": AGE}), job({"age": AGE}, decimal="point")])
def test_one_decimal_comma_changes_nobody_elses_numbers(
    tmp_path: Path, plan: plans.Plan, cell: str
) -> None:
    """Before, 1,100 of everybody else became 1.1, or the site refused the plan's decimal point."""
    rows = write(age=lambda person, row: f"1,{100 + 7 * person + row}")
    honest = Hospital(tmp_path, rows, plan).train()
    changed = Hospital(tmp_path, change_first(rows, age=cell), plan).train()
    assert_others_are_unchanged(honest, changed)


def test_enough_clients_with_a_comma_still_show_the_mark(tmp_path: Path) -> None:
    rows = write(age=lambda person, row: "1,5" if person < 12 else "1,100")
    own = Hospital(tmp_path, rows, job()).train()
    small = Hospital(tmp_path, write(age=lambda person, row: "1.1"), job()).train()
    assert np.allclose(own[20], small[20], atol=1e-5)


def test_one_row_marked_as_test_moves_no_other_row(tmp_path: Path) -> None:
    """Before, everybody else's held-out rows became training rows."""
    rows = write(split=lambda person, row: "train")
    plan = job(columns={"split": "split"}, test=0.3)
    honest = Hospital(tmp_path, rows, plan).train()
    first = pl.int_range(pl.len()) == 0
    marked = rows.with_columns(
        pl.when(first).then(pl.lit("test")).otherwise("split").alias("split")
    )
    assert_others_are_unchanged(honest, Hospital(tmp_path, marked, plan).train())


def test_one_client_changes_a_count_by_one(tmp_path: Path) -> None:
    """The noise of a count covers one row of a client. Before, one row marked test made all rows marked dev uncounted."""
    rows = write(split=lambda person, row: "train" if row else "dev")
    plan = job(columns={"split": "split"})
    assert Hospital(tmp_path, rows, plan).count_measured_rows() == PEOPLE
    first = pl.int_range(pl.len()) == 0
    marked = rows.with_columns(
        pl.when(first).then(pl.lit("test")).otherwise("split").alias("split")
    )
    assert Hospital(tmp_path, marked, plan).count_measured_rows() == PEOPLE


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt8, pl.Float32])
def test_every_type_of_number_trains_alike(tmp_path: Path, kind: Any) -> None:
    """Before, a site with a column of integers in a Parquet file failed when a run began, and one fraction hid that."""
    numbers = write(age=lambda person, row: 20 + person + row)
    plain = Hospital(tmp_path, numbers.cast({"age": pl.Float64}), job(), ".parquet").train()
    typed = Hospital(tmp_path, numbers.cast({"age": kind}), job(), ".parquet").train()
    assert_others_are_unchanged(plain, typed)


def test_one_label_with_a_fraction_refuses_no_run(tmp_path: Path) -> None:
    """A rare class takes no part; in a file of numbers it stopped the site."""
    rows = write(outcome=lambda person, row: float((person + row) % 2))
    honest = Hospital(tmp_path, rows, job(), ".parquet").train()
    number = pl.int_range(pl.len())
    odd = rows.with_columns(pl.when(number == 0).then(0.5).otherwise("outcome").alias("outcome"))
    assert_others_are_unchanged(honest, Hospital(tmp_path, odd, job(), ".parquet").train())


@pytest.mark.parametrize(
    "name",
    [
        "p007\ufe0f",
        "p\u034f007",
        "\u2800p007",
        "p007\u3164",
        "p007\u115f",
        "p\u17b5007",
        "p007\u180b",
    ],
)
def test_an_invisible_character_makes_no_second_client(name: str) -> None:
    """It would have a budget of its own, and an erased client would be back."""
    assert normalise_names(pl.Series([name])).to_list() == ["p007"]
    assert not is_plain_name(name)


@pytest.mark.parametrize(
    "name", ["Zoe\u200d\u0301", "Zoe\u00ad\u0301", "Zoe\u034f\u0301", "Zoe\u0301"]
)
def test_what_stands_between_a_letter_and_its_accent_makes_no_second_client(name: str) -> None:
    assert normalise_names(pl.Series([name])).to_list() == ["Zoé"]


@pytest.mark.parametrize("name", ["⭐️⭐️", "✔️ done", "Ångström", "ไทย"])
def test_names_of_classes_that_people_use(name: str) -> None:
    assert is_plain_name(name)
