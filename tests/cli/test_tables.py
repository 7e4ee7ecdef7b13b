"""Tables keep every figure and every word on a narrow terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tacit import report
from tacit.cli import tables
from tests.report import made_up


@pytest.mark.parametrize("width", [80, 100, 120, 240])
def test_the_result_table_loses_nothing(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    page = io.StringIO()
    monkeypatch.setattr(tables, "console", lambda: Console(file=page, width=width, highlight=False))
    run = report.summarise(made_up.record(rounds=4))
    tables.results(run)
    lines = page.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    for arm in run.arms:
        for figure in report.list_cells(arm)[1:8]:
            assert figure in shown
    for word in ("this run", "central", "200,040", "FedAvg,", "pooled"):
        assert word in shown
