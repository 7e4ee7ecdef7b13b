"""What is said of a finished run: each kind of verdict on a record made up for it, and silence where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.record import ByClass, Entry, Finished, Prepared, Round, Spread, Started
from tacit.report import summary
from tacit.report.as_json import of_run
from tacit.report.classes import by_class
from tacit.report.page import render
from tacit.report.verdict import verdict

CLASSES = ["a", "b", "c"]


def arm(name: str, course: list[float], **more: float) -> list[Entry]:
    rounds = [
        Round(
            arm=name, round_no=place, rounds=len(course), cohort=10, seconds=1.0, bytes_up=10, bytes_down=10,
            metrics={"accuracy": value, "auc": 0.5 + value / 2, "f1": value, "loss": 1 - value},
        )
        for place, value in enumerate(course, 1)
    ]  # fmt: skip
    end = Finished(
        arm=name,
        rounds=len(course),
        metrics={**rounds[-1].metrics, **more},
        parameters_sha256="",
        bytes_up=1,
        bytes_down=1,
        seconds=1.0,
    )
    return [*rounds, end]


def a_record(
    course: list[float], central: float = 0.9, fedavg: float = 0.89, rows: tuple[int, ...] = (50, 30, 20),
    predicted: tuple[int, ...] = (50, 30, 20), spread: list[float] | None = None, **kept: float,
) -> list[Entry]:  # fmt: skip
    data = Prepared(
        source="x.csv", clients=10, rows_train=1000, rows_test=100, rows_per_client=[100] * 10, parameters=9, inputs=2,
        classes=CLASSES,
    )  # fmt: skip
    own, end = arm("run", course)[:-1], arm("run", course)[-1]
    counts = ByClass(
        arm="run", rows=list(rows), predicted=list(predicted), right=[min(two) for two in zip(rows, predicted, strict=True)]
    )
    clients = [Spread(arm="run", accuracy=spread)] if spread else []
    started = Started(plan={"baselines": ["central", "fedavg"], "data": {}}, versions={})
    baselines = [*arm("central", [central] * 4, **kept), *arm("fedavg", [fedavg] * 4)]
    return [started, data, *own, counts, *clients, end, *baselines]


FLAT = [0.89] * 12
CASES = {
    "near central": a_record(FLAT),
    "below central": a_record([0.7] * 12),
    "still rising": a_record([0.05 * place for place in range(1, 13)]),
    "diverging": a_record([0.8] * 6 + [0.6] * 6),
    "at chance": a_record([0.1] * 12, rows=(50, 30, 20), predicted=(100, 0, 0)),
    "classes never predicted": a_record(FLAT, predicted=(60, 40, 0)),
    "clients left behind": a_record(FLAT, spread=[0.95] * 9 + [0.3]),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_is_found_where_it_is(kind: str) -> None:
    found = {one.kind: one for one in verdict(summary(CASES[kind]))}
    assert kind in found
    assert found[kind].says
    assert bool(found[kind].change) == (kind != "near central")


def test_a_good_run_is_told_nothing_else() -> None:
    assert [one.kind for one in verdict(summary(CASES["near central"]))] == ["near central"]


def test_the_gap_is_put_down_to_what_causes_it() -> None:
    noise, division = (a_record([0.7] * 12, fedavg=value) for value in (0.89, 0.71))
    assert "protects the updates" in verdict(summary(noise))[0].change
    assert "division into clients" in verdict(summary(division))[0].change


def test_the_better_of_both_central_figures_counts_and_both_are_shown() -> None:
    kept = a_record([0.86] * 12, central=0.91, last_accuracy=0.85, kept_round=3.0)
    found = verdict(summary(kept))[0]
    assert found.kind == "below central"
    assert "91.0 %" in found.says
    assert "pass 3" in found.says
    assert "85.0 %" in found.says
    worse = a_record([0.86] * 12, central=0.80, last_accuracy=0.91, kept_round=3.0)
    assert verdict(summary(worse))[0].kind == "below central"


def test_an_unfinished_run_has_no_verdict() -> None:
    assert verdict(summary(CASES["below central"][:8])) == []


def test_a_rare_class_that_is_missed_is_no_chance() -> None:
    """Always naming the largest class may still rank rows well: that is told as a class never predicted."""
    entries = a_record([0.5] * 12, predicted=(100, 0, 0))
    assert "at chance" not in {one.kind for one in verdict(summary(entries))}


def test_precision_and_recall_come_from_counts_and_stand_in_every_output(tmp_path) -> None:
    run = summary(a_record(FLAT, predicted=(60, 40, 0)))
    found = {one["class"]: one for one in by_class(run)}
    assert found["a"] == {"class": "a", "rows": 50, "predicted": 60, "precision": 50 / 60, "recall": 1.0}
    assert found["c"]["precision"] is None
    assert found["c"]["recall"] == 0.0
    told = of_run(run, tmp_path)
    assert told["classes"] == by_class(run)
    assert [one["kind"] for one in told["verdict"]] == ["near central", "classes never predicted"]
    page = render(run, "")
    assert "Class by class" in page
    assert "1 of 3 classes never predicted: c (20.0 % of the test rows)." in page


def test_a_baseline_without_a_choice_is_shown_as_before() -> None:
    central = summary(CASES["near central"]).arm("central")
    assert central is not None
    assert central.kept_round is None
    assert replace(central, metrics={}).best("accuracy") is None
