"""Where no column says who owns a row, every output says so first; the page has a light, a cue and no contradiction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tacit.cli import tables
from tacit.cli.top.check import outline
from tacit.plan import Columns, Data, Plan
from tacit.report import summarise
from tacit.report.as_json import privacy_to_json, run_to_json
from tacit.report.pages.page import render
from tacit.runs.record import Entry, Prepared, Started
from tests.report import made_up

SAID = "Owners are simulated"


def with_data(entries: list[Entry], rows: int | None = None, **keys: object) -> list[Entry]:
    found: list[Entry] = []
    for one in entries:
        if isinstance(one, Started):
            found.append(replace(one, plan={**one.plan, "data": {**one.plan["data"], **keys}}))
        else:
            found.append(
                replace(one, rows_per_client=[rows] * 100)
                if rows and isinstance(one, Prepared)
                else one
            )
    return found


def test_every_output_says_it_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = summarise(made_up.record(rounds=2))
    assert run.privacy.statement.startswith(SAID)
    assert privacy_to_json(run)["owners"]["made_up"]
    assert next(iter(run_to_json(run, tmp_path)["privacy"])) == "owners"
    page = render(run, "")
    assert page.index(SAID) < page.index("Accuracy</div>")
    assert "Privacy guarantee for simulated owners" in page
    tables.results(run)
    assert capsys.readouterr().out.startswith(SAID)
    assert next(iter(outline(Plan(data=Data(source="newsgroups20"))))) == "owners"


def test_a_row_each_is_a_promise_to_a_row() -> None:
    run = summarise(with_data(made_up.record(rounds=2), rows=1))
    assert "a row is protected, not a person" in run.privacy.owners
    run = summarise(with_data(made_up.record(rounds=2), rows=7))
    assert "a simulated group of up to 7 rows is protected, not a person" in run.privacy.owners


def test_real_owners_are_not_called_made_up() -> None:
    run = summarise(with_data(made_up.record(rounds=2), partition="client"))
    assert run.privacy.owners == ""
    assert SAID not in run.privacy.statement
    assert SAID not in render(run, "")
    owned = Plan(
        data=Data(
            source="x.csv",
            partition="client",
            columns=Columns(text=("t",), label="y", client="who"),
        )
    )
    assert "owners" not in outline(owned)


def test_the_page_has_a_light_a_cue_and_says_against_whom_figures_hold() -> None:
    page = render(summarise(made_up.record(rounds=2)), "")
    assert 'class="meaning weak"' in page
    assert "Scroll sideways" in page
    assert "Who sees an update" not in page
    assert "The guarantee holds against the server." in page
