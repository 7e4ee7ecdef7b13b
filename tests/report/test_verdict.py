"""What is said of a finished run: each kind of verdict on a record made up for it, and silence where nothing is wrong."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest

from tacit.report import summarise
from tacit.report.as_json import run_to_json
from tacit.report.classes import estimate_error, measure_classes
from tacit.report.pages.page import render
from tacit.report.verdict import judge_run
from tacit.runs.record import ByClass, Entry, Finished, Prepared, Round, Spread, Started

CLASSES = ["a", "b", "c"]
FULL = [0.89] * 12


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
    course: list[float], central: float = 0.9, fedavg: float | None = 0.89, rows: tuple[int, ...] = (50, 30, 20),
    predicted: tuple[int, ...] = (50, 30, 20), spread: list[float] | None = None, noiseless: list[float] | None = FULL,
    same_features: float | None = 0.9, **kept: float,
) -> list[Entry]:  # fmt: skip
    """Return the record of a private run with owners of its own and the baselines that are not None."""
    data = Prepared(
        source="x.csv", clients=10, rows_train=1000, rows_test=1000, rows_per_client=[100] * 10, parameters=9, inputs=2,
        classes=CLASSES, text="listed words",
    )  # fmt: skip
    own, end = arm("run", course)[:-1], arm("run", course)[-1]
    counts = ByClass(
        arm="run",
        rows=list(rows),
        predicted=list(predicted),
        right=[min(two) for two in zip(rows, predicted, strict=True)],
    )
    clients = [Spread(arm="run", accuracy=spread)] if spread else []
    others = {
        "fedavg": fedavg and [fedavg] * 4,
        "noiseless": noiseless,
        "same_features": same_features and [same_features] * 4,
    }
    there = {name: values for name, values in others.items() if values}
    plan = {
        "baselines": ["central", *there], "privacy": {"preset": "private", "epsilon": 8.0}, "codec": {"name": "dp_sum"},
        "data": {"source": "x.csv", "partition": "client"}, "server": {"rounds": len(course), "optimizer": "momentum", "lr": 2.0},
    }  # fmt: skip
    baselines = [entry for name, values in there.items() for entry in arm(name, values)]
    return [
        Started(plan=plan, versions={}),
        data,
        *own,
        counts,
        *clients,
        end,
        *arm("central", [central] * 4, **kept),
        *baselines,
    ]


FLAT = [0.89] * 12
CASES = {
    "near central": a_record(FLAT),
    "too few clients": a_record([0.7] * 12),
    "diverging": a_record([0.8] * 6 + [0.6] * 6, noiseless=[0.85] * 3 + [0.7] * 9),
    "too few rounds": a_record(
        [0.04 * place for place in range(1, 13)], noiseless=[0.04 * place for place in range(1, 13)]
    ),
    "nothing to learn": a_record([0.1] * 12, central=0.1, fedavg=0.1, predicted=(100, 0, 0)),
    "features": a_record([0.5] * 12, same_features=0.5, noiseless=[0.5] * 12),
    "settings": a_record([0.5] * 12, noiseless=[0.51] * 12),
    "division": a_record([0.5] * 12, fedavg=0.52, noiseless=[0.51] * 12),
    "classes never predicted": a_record(FLAT, predicted=(60, 40, 0), rows=(50, 45, 5)),
    "clients left behind": a_record(FLAT, spread=[0.95] * 9 + [0.3]),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_comes_first_where_it_is_the_cause(kind: str) -> None:
    first = judge_run(summarise(CASES[kind]))[0]
    assert first.kind == kind, first
    assert first.says
    assert bool(first.change) == (kind not in ("near central", "division"))


def test_a_good_run_is_told_nothing_else() -> None:
    assert [one.kind for one in judge_run(summarise(CASES["near central"]))] == ["near central"]


@pytest.mark.parametrize("missing", ["noiseless", "same_features", "fedavg"])
def test_without_the_arm_that_tells_the_cause_it_is_unknown(missing: str) -> None:
    arms = {"noiseless": [0.5] * 12, "same_features": 0.9, "fedavg": 0.89, missing: None}
    entries = a_record([0.5] * 12, **arms)  # type: ignore[arg-type]
    found = judge_run(summarise(entries))[0]
    assert found.kind == "cause unknown"
    assert repr(missing) in found.change


def test_no_advice_removes_protection() -> None:
    for entries in CASES.values():
        for finding in judge_run(summarise(entries)):
            assert not {"plain", "'none'", "remove the noise"} & set(finding.change.split())


def test_the_better_of_both_central_figures_counts_and_both_are_shown() -> None:
    kept = a_record([0.86] * 12, central=0.91, last_accuracy=0.85, kept_round=3.0)
    found = judge_run(summarise(kept))[0]
    assert found.says.startswith("Below central training")
    assert "91.0 %" in found.says
    assert "epoch 3" in found.says
    assert "85.0 %" in found.says
    worse = a_record([0.86] * 12, central=0.80, last_accuracy=0.91, kept_round=3.0)
    assert judge_run(summarise(worse))[0].says.startswith("Below central training")


def test_clients_with_a_row_or_two_are_not_left_behind() -> None:
    entries = [
        replace(one, rows_per_client=[2] * 10) if isinstance(one, Prepared) else one
        for one in CASES["clients left behind"]
    ]
    assert "clients left behind" not in {one.kind for one in judge_run(summarise(entries))}


def test_texts_without_words_are_in_the_verdict() -> None:
    entries = [
        replace(one, wordless=940) if isinstance(one, Prepared) else one
        for one in CASES["near central"]
    ]
    found = judge_run(summarise(entries))[0]
    assert "940 of 1,000 texts (94%) have no word that the model reads" in found.says
    assert "features.text = 'binary'" in found.change


def test_diverging_without_the_plan_in_quiet_blames_nothing() -> None:
    entries = a_record([0.8] * 6 + [0.6] * 6, noiseless=None)
    found = judge_run(summarise(entries))[0]
    assert "is unknown" in found.says
    assert "'noiseless'" in found.change


def test_an_unfinished_run_has_no_verdict() -> None:
    assert judge_run(summarise(CASES["settings"][:8])) == []


def test_a_rare_class_that_is_missed_is_no_chance() -> None:
    """Always naming the largest class may still rank rows well: that is told as a class never predicted."""
    entries = a_record([0.5] * 12, predicted=(100, 0, 0))
    assert "at chance" not in {one.kind for one in judge_run(summarise(entries))}


def test_precision_and_recall_come_from_counts_and_stand_in_every_output(tmp_path) -> None:
    run = summarise(a_record(FLAT, predicted=(60, 40, 0)))
    found = {one["name"]: one for one in measure_classes(run)}
    assert found["a"] == {
        "name": "a",
        "rows": 50,
        "predicted": 60,
        "precision": 50 / 60,
        "recall": 1.0,
    }
    assert found["c"]["precision"] is None
    assert found["c"]["recall"] == 0.0
    told = run_to_json(run, tmp_path)
    assert told["classes"] == measure_classes(run)
    assert [one["kind"] for one in told["verdict"]] == ["classes never predicted", "near central"]
    page = render(run, "")
    assert "Class by class" in page
    assert "1 of 3 classes is never predicted: c (20.0 % of the test rows)." in page


def test_a_baseline_without_a_choice_is_shown_as_before() -> None:
    central = summarise(CASES["near central"]).arm("central")
    assert central is not None
    assert central.kept_round is None
    assert replace(central, metrics={}).best("accuracy") is None


def test_few_test_rows_state_the_standard_error_in_every_output(tmp_path) -> None:
    few = [
        replace(one, rows_test=26, classes=["no", "yes"]) if isinstance(one, Prepared)
        else replace(one, rows=[13, 13], predicted=[13, 13], right=[12, 12]) if isinstance(one, ByClass)
        else one
        for one in CASES["near central"]
    ]  # fmt: skip
    run = summarise(few)
    found = judge_run(run)[-1]
    assert (found.kind, run.leading) == ("few test rows", "auc")
    assert "26 test rows: the standard error of AUC is about 0.0" in found.says
    assert run_to_json(run, tmp_path)["verdict"][-1]["says"] == found.says
    assert found.says in html.unescape(render(run, ""))


@pytest.mark.parametrize(
    ("metric", "value", "rows", "counts", "error"),
    [
        ("accuracy", 0.5, 96, None, 0.05),
        ("accuracy", 1.0, 26, None, 0.0455),  # never zero
        ("auc", 0.5, 100, [50, 50], 0.0580),  # the variance of Mann and Whitney: 101 / (12 * 2500)
    ],
)
def test_standard_errors(metric, value, rows, counts, error) -> None:
    classes = counts and ByClass(arm="run", rows=counts, predicted=counts, right=counts)
    assert estimate_error(metric, value, rows, classes) == pytest.approx(error, abs=2e-4)


def test_between_sites_no_baselines_are_advised() -> None:
    alone = [
        replace(one, sites=3) if isinstance(one, Prepared) else one
        for one in a_record([0.8] * 6 + [0.6] * 6, noiseless=None)
        if getattr(one, "arm", "run") == "run"
    ]
    advice = " ".join(one.sentence for one in judge_run(summarise(alone)))
    assert "Diverging" in advice
    assert "baseline" not in advice


def test_a_run_without_baselines_at_chance_is_told_to_tune() -> None:
    alone = [
        one
        for one in a_record([0.1] * 12, predicted=(100, 0, 0))
        if getattr(one, "arm", "run") == "run"
    ]
    (found,) = judge_run(summarise(alone))
    assert found.says.startswith("No better than guessing")
    assert "tacit plan tune" in found.change


def test_own_models_have_both_figures() -> None:
    both = {
        "assembled_global": 0.7,
        "global_accuracy": 0.8,
        "assembled_local": 0.6,
        "local_accuracy": 0.9,
    }
    (found,) = [
        one
        for one in judge_run(summarise(a_record([0.5, 0.8], **both)))
        if one.kind == "own models"
    ]
    assert "after one more local training" in found.says
    assert "on common test rows 70.0 % before and 80.0 % after" in found.says
    assert "on rows like a client's own 60.0 % before and 90.0 % after" in found.says
    assert not [
        one for one in judge_run(summarise(a_record([0.5, 0.8]))) if one.kind == "own models"
    ]


def test_a_run_that_is_better_than_its_reference_is_above_it() -> None:
    above = judge_run(summarise(a_record([0.8, 0.95], central=0.9)))
    assert any(one.says.startswith("Above central training: +") for one in above)
