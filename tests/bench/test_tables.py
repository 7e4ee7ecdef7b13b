"""The tables of faults and of many sites: what counts as a problem, and pages that show the kept results."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from bench import sites
from bench.faults import scene, table
from bench.faults.table_rows import ROWS


def result(**changes: Any) -> dict[str, Any]:
    """A row that ended as it should."""
    run = {
        "code": 0,
        "model": "one",
        "ledgers": {"uncharged": 0, "double": 0, "unanswered": 0, "damaged": 0},
        "charges": {"a": [1, 1]},
        "missing": [],
    }
    return {"seconds": 3.0, "load": 1.0, "rows_of_runs": [{**run, **changes}]}


def test_there_are_twenty_rows() -> None:
    assert len(ROWS) == 21
    assert all(row.why == "" or "site c" in row.why for row in ROWS.values())


@pytest.mark.parametrize(
    ("row", "changes", "problem"),
    [
        ("site-killed", {}, None),
        ("site-killed", {"code": 6}, "exit code 6"),
        ("site-killed", {"model": "two"}, "the model differs"),
        ("site-killed", {"charges": {"a": [1, 2]}}, "charged otherwise"),
        ("site-leaves", {}, "the model is the same"),
        ("site-leaves", {"model": "two", "missing": [[3, "train", "c", "", 4.2]]}, None),
        ("site-leaves", {"model": "two", "missing": [[3, "train", "c", "", 60.0]]}, "60.0 s"),
        (
            "frozen",
            {"ledgers": {"uncharged": 1, "double": 0, "unanswered": 0, "damaged": 0}},
            "1 uncharged",
        ),
    ],
)
def test_problems_of_a_row(row: str, changes: dict[str, Any], problem: str | None) -> None:
    found = table.list_problems(ROWS[row], result(**changes), result())
    assert found == [] if problem is None else any(problem in one for one in found)


def test_lines_that_people_see() -> None:
    log = (
        "2026-11-18T21:10:41.172Z WARNING run=- round=- a: unreachable: the server does not respond\n"
        "2026-11-18T21:10:42.172Z INFO run=- round=- a: working\n"
        "record: /tmp/somewhere/runs/faults-1/record.jsonl\n"
    )
    lines = scene.list_lines(log)
    assert lines[-1] == "record: record.jsonl"
    assert scene.choose_lines(lines) == [
        "WARNING run=- round=- a: unreachable: the server does not respond"
    ]


def test_pages_show_the_kept_results() -> None:
    found = json.loads(table.RESULTS.read_text())
    assert table.PAGE.read_text() == table.write_page(found)
    assert set(found) <= set(ROWS)
    measured = [sites.SiteCounts(**one) for one in json.loads(sites.RESULTS.read_text())]
    assert sites.PAGE.read_text() == sites.write_page(measured)
