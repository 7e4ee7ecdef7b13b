"""The search for settings: what it costs, what it never does, and that it can go on; the runs themselves are made up."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.errors import PlanError
from tacit.plan import RR, Plan, parse
from tacit.runs import tune as tuning
from tacit.runs.sweep import Outcome

PLAN = """
[data]
source = "imdb"
[local]
lr = 0.1
[codec]
name = "rr"
epsilon = 1
clip = 0.1
[server]
rounds = 40
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Pretend that runs end at once, better the nearer the rate is to 0.3 and the clip to 0.1; return what was asked for."""
    wanted: list[Plan] = []

    def accuracy(folder: Path) -> float:
        plan = wanted[int(folder.name)]
        assert isinstance(plan.codec, RR)
        return (
            0.9
            - abs(plan.local.lr - 0.3)
            - abs(plan.codec.clip - 0.1)
            + 0.0001 * plan.server.rounds
        )

    pretend(monkeypatch, accuracy)
    return wanted


def pretend(
    monkeypatch: pytest.MonkeyPatch, accuracy: Callable[[Path], float | None], rows: int = 1000
) -> None:
    def trial(settings: tuning.Settings, outcome: Outcome) -> tuning.Trial:
        folder = outcome.folder
        return tuning.Trial(
            settings=settings,
            folder=folder,
            accuracy=accuracy(folder) if folder else None,
            rows=rows,
        )

    monkeypatch.setattr(tuning, "_read_trial", trial)


def search(tmp_path: Path, asked: list[Plan], text: str = PLAN) -> tuning.TuneResult:
    def run(plans: list[Plan], titles: list[str]) -> list[Outcome]:
        asked.extend(plans)
        return [
            Outcome(folder=Path(str(len(asked) - len(plans) + number)))
            for number in range(len(plans))
        ]

    (tmp_path / "plan.toml").write_text(text)
    return tuning.tune(tmp_path / "plan.toml", [], run)


def test_the_better_plan_is_found_on_validation_rows_in_less_than_ten_runs(
    tmp_path: Path, asked: list[Plan]
) -> None:
    found = search(tmp_path, asked)
    assert sum(plan.server.rounds for plan in asked) <= 10 * 40
    assert {plan.data.validation for plan in asked} == {tuning.VALIDATION}
    better = parse(tomllib.loads(found.text))
    assert (better.local.lr, better.codec.clip, better.data.validation) == (0.3, 0.1, 0.0)  # type: ignore[union-attr]
    assert found.best.accuracy is not None
    assert found.planned.accuracy is not None
    assert found.best.accuracy >= found.planned.accuracy


def test_a_plan_that_nothing_beats_is_written_as_it_is(
    tmp_path: Path, asked: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda folder: 0.5)
    found = search(tmp_path, asked)
    said = "tacit plan tune: the best of 15 runs by accuracy on 20% of the training rows, held out"
    assert tomllib.loads(found.text) == {**tomllib.loads(PLAN), "selected_by": said}
    assert all("tacit plan tune: one of its runs" in (one.selected_by or "") for one in asked)
    assert found.best is found.planned


@pytest.mark.parametrize(("rows", "kept"), [(100, True), (100_000, False)])
def test_a_lead_within_the_error_of_few_rows_changes_nothing(
    tmp_path: Path, asked: list[Plan], monkeypatch: pytest.MonkeyPatch, rows: int, kept: bool
) -> None:
    pretend(monkeypatch, lambda folder: 0.5 + 0.01 * asked[int(folder.name)].local.lr, rows)
    found = search(tmp_path, asked)
    assert (found.best is found.planned) is kept


def test_settings_that_change_nothing_are_not_searched(
    tmp_path: Path, asked: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda folder: 0.5)
    private = search(
        tmp_path,
        asked,
        '[privacy]\npreset = "private"\n[data]\nsource = "imdb"\nclients = 5000\n[local]\nnormalise'
        " = true\n",
    )
    assert set(private.planned.settings) == {"server.lr", "server.rounds", "features.buckets"}
    table = search(tmp_path, asked, PLAN.replace("imdb", "adult"))
    assert "features.buckets" not in table.planned.settings


def test_plans_without_rounds_are_refused(tmp_path: Path, asked: list[Plan]) -> None:
    with pytest.raises(PlanError, match="tune supports only plans with regime = 'federated'"):
        search(
            tmp_path,
            asked,
            'regime = "central"\n[data]\nsource = "imdb"\n[codec]\nname = "plain"\n',
        )


def test_a_search_of_failures_says_so(
    tmp_path: Path, asked: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda folder: None)
    with pytest.raises(PlanError, match="all runs of the search failed"):
        search(tmp_path, asked)
