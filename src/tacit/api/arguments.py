"""Validation of arguments in Python, before anything heavy is imported or a folder is created."""

from __future__ import annotations

import sys
from contextlib import suppress
from inspect import signature
from pathlib import Path

import polars as pl

from tacit.data.input_rows import check_label, from_input_rows
from tacit.errors import PlanError, RunError
from tacit.plan import Plan

_ADVICE = "tacit.run(tacit.starter_plan(rows, label=…), rows=rows) trains on rows"
_OBSERVER = ("opened", "entry", "clients", "fetched", "encoded")


def load_plan(plan: object) -> Plan:
    """The plan itself, or the one in a TOML file; PlanError for anything else, such as the rows."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, str | Path):
        return Plan.load(plan)
    raise PlanError(
        f"run(plan) must be a tacit.Plan or the path of a plan file, got {type(plan).__name__};"
        f" {_ADVICE}"
    )


def check_module(module: object, call: str = "run") -> None:
    """Raise PlanError unless `module` is an instance of torch.nn.Module; PyTorch is loaded already
    wherever one exists.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(module, torch.nn.Module):
        return
    if isinstance(module, type):
        raise PlanError(
            f"{call}(module={module.__name__}) must be an instance of torch.nn.Module, got a class; pass"
            f" {module.__name__}()"
        )
    got = (
        f"the text {module!r}"
        if isinstance(module, str) and len(module) < 60
        else type(module).__name__
    )
    raise PlanError(
        f"{call}(module=…) must be an instance of torch.nn.Module, got {got}; for a built-in model"
        f" leave it out: {_ADVICE}, and tacit.Plan(model=tacit.MLP(hidden=[50])) names another"
        " network"
    )


def check_observer(observer: object) -> None:
    """Raise PlanError unless `observer` is None or has every method of an Observer."""
    missing = [name for name in _OBSERVER if not callable(getattr(observer, name, None))]
    if observer is not None and missing:
        raise PlanError(
            f"observer={type(observer).__name__} must have the methods {', '.join(_OBSERVER)}, but"
            f" {missing[0]} is missing; tacit.Silence() shows no progress"
        )


def check_callback(on_entry: object) -> None:
    """Raise PlanError unless `on_entry` is None or can be called with an entry and a folder."""
    if on_entry is None:
        return
    if not callable(on_entry):
        raise PlanError(
            f"on_entry={type(on_entry).__name__} must be a function of an entry and the run's folder;"
            " leave it out for none"
        )
    with suppress(ValueError):  # some built-in functions have no signature
        try:
            signature(on_entry).bind(None, None)
        except TypeError as error:
            raise PlanError(
                "on_entry must take two arguments, an entry of the record and the run's folder, as"
                f" in on_entry(entry, folder); this function does not ({error})"
            ) from None


def check_run_name(run: object) -> str | Path:
    """The name or path of a run; RunError for anything else."""
    if isinstance(run, str | Path) and str(run):
        return run
    raise RunError(
        f"run={run!r} must be the name of a run, as `tacit runs` lists it, or its folder, got"
        f" {type(run).__name__}"
    )


def read_table(table: object, label: str | None) -> pl.DataFrame | str | Path:
    """Convert rows in Python to a frame and check that the `label` column exists; a path is returned
    unchanged.
    """
    if isinstance(table, str | Path):
        return table
    frame, _ = from_input_rows(table)
    check_label(frame, label)
    return frame
