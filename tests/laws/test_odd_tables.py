"""Whatever `tacit init` writes for a table, `run`, `tune` and `sweep` accept: over tables that are odd in many ways.

`python -m tests.laws.test_odd_tables` goes through 300 of them and counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import data, simulation
from tacit.errors import DataError, PlanError
from tacit.plan import Plan, load
from tacit.plan.grid import grid
from tacit.runs.sweep import Outcome
from tacit.runs.tune import tune
from tacit.simulation.advice.client_count import find_without_room, require_room
from tacit.simulation.baselines.arms import list_arms
from tests.laws.odd_tables import WORDS, OddTable, make_odd_table

FEW, ALL, AT_ONCE = 60, 300, 10


def accept(table: OddTable, folder: Path) -> bool:
    """Whether `init` writes a plan for the table; it is then run, tuned and swept, which must not fail."""
    file = folder / "plan.toml"
    try:
        start = data.build_starter(
            table.path, asked=data.StarterRequest(one_bit=table.one_bit), file=str(file)
        )
    except (DataError, PlanError) as error:
        if "\n" in str(error):
            pytest.fail(f"a refusal needs to be one paragraph: {error}")
        return False
    file.write_text(start.text, encoding="utf-8")
    (folder / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    small = _small(file, folder)
    plan = load(file, small)
    require_room(plan)
    simulation.start(plan, folder / "runs")
    _tune(file, small, folder)
    _sweep(file, small, folder)
    return True


def _small(file: Path, folder: Path) -> list[str]:
    """One round, and a short list of words in place of the one that would be fetched."""
    listed = load(file).features.text == "listed"
    return [
        "server.rounds=1",
        "server.evaluate_every=1",
        *([f"features.list={folder / 'words.txt'}"] if listed else []),
    ]


def _tune(file: Path, small: list[str], folder: Path) -> None:
    """Search as `tacit plan tune` does; of each batch of runs the first and the last are carried out."""

    def run(plans: list[Plan], titles: list[str]) -> list[Outcome]:
        first, *others = plans
        done = Outcome(folder=simulation.start(_alone(first), folder / "tuned"))
        for other in others[-1:]:
            simulation.start(_alone(other), folder / "tuned")
        return [done] * len(plans)

    (folder / "tuned.toml").write_text(tune(file, small, run).text, encoding="utf-8")
    load(folder / "tuned.toml")


def _sweep(file: Path, small: list[str], folder: Path) -> None:
    """Check every combination as `tacit plan sweep` does, and carry out the arms of one of them with another seed."""
    over = "codec.epsilon=1,2" if load(file).privacy is None else "privacy.epsilon=1,2,8"
    points = grid(file, [over], [1, 2], small)
    assert (
        find_without_room(
            {f"{point.title} {plan.seed}": plan for point in points for plan in point.plans}
        )
        == {}
    )
    for arm in list_arms(points[-1].plans[0]).values():
        simulation.start(_alone(arm), folder / "swept")


def _alone(plan: Plan) -> Plan:
    return replace(plan, baselines=())


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of tiny runs wait for the disk longer than they compute, and nothing here is about crashes."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, FEW, AT_ONCE))
def test_what_init_writes_for_odd_tables_runs_tunes_and_sweeps(first: int, tmp_path: Path) -> None:
    accepted = 0
    for number in range(first, first + AT_ONCE):
        folder = tmp_path / str(number)
        folder.mkdir()
        accepted += accept(make_odd_table(number, folder), folder)
    assert accepted >= AT_ONCE / 3, "a law about plans needs plans"


def main() -> int:
    """Go through all tables, print what fails, and leave with the number of failures."""
    os.fsync = lambda fd: None
    accepted, failures = 0, 0
    for number in range(ALL):
        with tempfile.TemporaryDirectory() as place:
            table = make_odd_table(number, Path(place))
            try:
                accepted += accept(table, Path(place))
            except Exception as error:
                failures += 1
                print(
                    f"{number} ({', '.join(table.oddities)}): {type(error).__name__}: {error}",
                    flush=True,
                )
    print(
        f"{ALL} tables: {accepted} plans, all run, tuned and swept but for {failures};"
        f" {ALL - accepted - failures} refused"
    )
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
