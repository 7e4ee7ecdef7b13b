"""Twelve ways in which a site's rows do not fit a plan: `tacit site check` finds each, and so does a run before round one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tacit import plan as plans
from tacit.deployment.server.job import deploy
from tacit.deployment.site.rows.check_rows import check_own_rows
from tacit.errors import RunError
from tacit.privacy.policy import PrivacyUnit
from tacit.privacy.policy.policy import parse_policy
from tests.deployment.local_post import GENEROUS, owner, sites_of

HEADER = ("patient", "age", "dose", "ward", "smoker", "seen", "outcome")
POLICY = GENEROUS.replace("min_clients_per_value = 1", "min_clients_per_value = 10")
SCHEMA = {
    "age": {"type": "integer", "unit": "years", "minimum": 0, "maximum": 120, "required": True},
    "dose": {"type": "number", "unit": "mg", "minimum": 0, "maximum": 500},
    "ward": {"type": "string", "enum": ["1", "2"], "mapping": {"first": "1"}},
    "smoker": {"type": "boolean", "mapping": {"yes": "true", "no": "false"}},
    "seen": {"type": "date", "minimum": "1990-01-01", "maximum": "2030-12-31"},
    "outcome": {"type": "string", "enum": ["healthy", "sick"], "mapping": {"0": "healthy", "1": "sick"}},
}  # fmt: skip

Row = dict[str, str]


def job(**changes: object) -> plans.Plan:
    columns = {
        "client": "patient", "label": "outcome", "numeric": ["age", "dose", "seen"], "categorical": ["ward", "smoker"],
    }  # fmt: skip
    return plans.parse(
        {
            "name": "visits", "seed": 1, "data": {"source": "given", "test": 0.0, "decimal": "point", "columns": columns},
            "schema": {"columns": SCHEMA}, "model": {"name": "logistic"}, "local": {"lr": 0.5},
            "codec": {"name": "plain"}, "server": {"rounds": 1}, **changes,
        }
    )  # fmt: skip


def rows_of(site: str, people: int = 12) -> list[Row]:
    return [
        {
            "patient": f"{site}{person:02d}", "age": str(30 + person), "dose": f"{person}.25", "ward": str(1 + person % 2),
            "smoker": ("true", "0", "yes")[person % 3], "seen": f"2020-03-{1 + person:02d}",
            "outcome": ("healthy", "sick", "0", "1")[(person + visit) % 4],
        }
        for person in range(people)
        for visit in range(2)
    ]  # fmt: skip


def write(path: Path, rows: list[Row], encoding: str = "utf-8") -> Path:
    names = list(rows[0])
    lines = [";".join(names), *(";".join(row[name] for name in names) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


def change(column: str, to: Callable[[str], str]) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{**row, column: to(row[column])} for row in rows]


def drop(column: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{name: row[name] for name in row if name != column} for row in rows]


class Case(NamedTuple):
    """A change of one site's rows, what `tacit site check` says, and what the run says: the server, or the owner's log."""

    change: Callable[[list[Row]], list[Row]]
    check: str
    server: str = ""
    log: str = ""
    encoding: str = "utf-8"


CASES = {
    "labels": Case(
        change("outcome", lambda cell: {"healthy": "N", "sick": "Y", "0": "N", "1": "Y"}[cell]),
        "'outcome' has an unknown value in 24 rows; the plan says a string among healthy, sick",
        "outcome unknown value",
    ),
    "categories": Case(
        change("ward", lambda cell: f"{cell}.0"),
        "'ward' has an unknown value in 24 rows; the plan says a string among 1, 2",
        "ward unknown value",
    ),
    "units": Case(
        change("age", lambda cell: str(365 * int(cell))),
        "'age' is out of range in 24 rows; the plan says an integer from 0 to 120 in years, required",
        "age out of range",
    ),
    "encoding": Case(
        change("ward", lambda cell: "Größe"),
        "the site's file is not UTF-8",
        "the encoding is not UTF-8",
        encoding="cp1252",
    ),
    "missing column": Case(
        lambda rows: [{name.replace("age", "Age"): row[name] for name in row} for row in rows],
        "the column 'age' (numeric) is missing in the file. Did you mean 'Age'?",
        "age missing column",
    ),
    "duplicate patients": Case(
        lambda rows: [
            {**row, "patient": row["patient"].upper() if number % 2 else row["patient"]}
            for number, row in enumerate(rows)
        ],
        "12 names of clients differ from another only in case, leading zeros or a decimal point",
        log="12 names of clients differ from another only in case, leading zeros or a decimal point",
    ),
    "missing-value codes": Case(
        change("dose", lambda cell: "-999"),
        "'dose' is out of range in 24 rows; the plan says a number from 0 to 500 in mg",
        "dose out of range",
    ),
    "boolean spellings": Case(
        change("smoker", lambda cell: "ja"),
        "'smoker' is not a boolean in 24 rows; the plan says a boolean",
        "smoker not a boolean",
    ),
    "dates": Case(
        change("seen", lambda cell: "/".join(reversed(cell.split("-")))),
        "'seen' is not a date in 24 rows; the plan says a date from 1990-01-01 to 2030-12-31 written as 2000-01-31",
        "seen not a date",
    ),
    "decimal marks": Case(
        lambda rows: [
            {**row, "dose": "1,234" if number % 2 else "12,5"} for number, row in enumerate(rows)
        ],
        "column 'dose': the plan has data.decimal = 'point', but this file seems to use the other mark",
        "another decimal mark than the plan",
    ),
    "extra columns": Case(
        lambda rows: [{**row, "phone": "555"} for row in rows],
        "columns of the file that are not in the plan are not read: 'phone'",
        log="columns of the file that are not in the plan are not read: 'phone'",
    ),
    "rows without patient": Case(
        lambda rows: [
            {**row, "patient": " " if number < 10 else row["patient"]}
            for number, row in enumerate(rows)
        ],
        "'patient' names no client in 10 rows; such rows take no part",
        "rows without a client",
    ),
}  # fmt: skip


def test_there_are_twelve() -> None:
    assert len(CASES) == 12


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_misfit_is_found_at_the_site_and_by_a_run(case: Case, tmp_path: Path) -> None:
    logs: list[str] = []
    files = {name: write(tmp_path / f"{name}.csv", rows_of(name)) for name in "ab"}
    files["c"] = write(tmp_path / "c.csv", case.change(rows_of("c")), case.encoding)
    owners = [
        owner(name, file, tmp_path / name, POLICY, unit=PrivacyUnit(client="patient"), tell=logs.append if name == "c" else str)
        for name, file in files.items()
    ]  # fmt: skip
    limits = parse_policy(POLICY).limits
    assert all(check_own_rows(job(), one, limits).fits for one in owners[:2])
    check = check_own_rows(job(), owners[2], limits)
    assert len([one for one in check.found if case.check in one.sentence]) == 1, check
    assert bool(check.refusal) == bool(case.server)
    if case.log:
        deploy(job(), sites_of(owners), tmp_path / "runs")
        assert any(case.log in line for line in logs), logs
        return
    with pytest.raises(RunError) as caught:
        deploy(job(), sites_of(owners), tmp_path / "runs")
    assert f"c: its rows are not as the plan says ({case.server})" in str(caught.value)


def test_rows_that_fit_train_and_nothing_but_counts_is_published(tmp_path: Path) -> None:
    logs: list[str] = []
    owners = [
        owner(name, write(tmp_path / f"{name}.csv", rows_of(name)), tmp_path / name, POLICY, unit=PrivacyUnit(client="patient"), tell=logs.append)
        for name in "abc"
    ]  # fmt: skip
    deploy(job(), sites_of(owners), tmp_path / "runs")
    told = [line.partition("tells the server: ")[2] for line in logs if "tells the server" in line]
    assert told == ["12 clients, 24 rows"] * 3
