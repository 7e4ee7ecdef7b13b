"""The grid of defaults: cells are kept by their settings, and the table holds what ran and nothing else."""

import json

from bench import defaults_grid
from bench.defaults_grid import GridRun
from bench.made_sets import MADE


def store(cell, **figures):
    cell.kept().parent.mkdir(parents=True, exist_ok=True)
    cell.kept().write_text(json.dumps({"figures": figures}))


def test_the_table_holds_only_cells_that_ran(tmp_path, monkeypatch):
    monkeypatch.setattr(defaults_grid, "OUT", tmp_path)
    assert defaults_grid.grid(1, None).count("\n") == 1
    store(GridRun("cardio", "scikit-learn", 0, 1, None), accuracy=0.72, loss=0.5, rows=9000.0)
    store(GridRun("cardio", "private 8", 5000, 1, None), accuracy=0.70, loss=0.6, people=5000.0)
    assert (
        "| cardio | 9,000 | 5,000 | 70.0 |  |  |  | 72.0 | -2.0 | -1.5 missed |"
        in defaults_grid.grid(1, None)
    )
    assert defaults_grid.missed(1, None) == 1
    assert "cardio" not in defaults_grid.grid(2, None)


def test_a_cell_of_other_settings_is_another_cell(monkeypatch):
    cell = GridRun("cardio", "private 8", 5000, 1, None)
    before = cell.kept()
    monkeypatch.setattr(defaults_grid, "rule", lambda *given: "other settings")
    assert cell.kept() != before


def test_made_sets_are_the_same_each_time():
    assert all(
        made.make().equals(made.make()) for name, made in MADE.items() if name != "breast_cancer"
    )
    positive = (MADE["rare"].make()["label"] == "yes").mean()
    assert 0.005 < positive < 0.015
