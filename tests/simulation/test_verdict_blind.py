"""Situations written before their author had read the rules of the verdict: the cause comes first, and what it advises helps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tacit
from tacit.report import summarise
from tacit.report.figures import Summary
from tacit.report.finding import ResultFinding
from tacit.runs import record
from tests.simulation.situations import figure, said

Rows = list[dict[str, object]]
NO_PRIVACY = (
    "privacy.preset=none",
    "privacy.epsilon=none",
    "privacy.delta=none",
    "privacy.clients=none",
    "features.numeric=minmax",  # how the situations were written; the starter reads numbers by "robust"
)
WITHOUT_BASELINES = ("baselines=[]",)
SHORT = "server.rounds=40"


def random_of(situation: int) -> np.random.Generator:
    return np.random.default_rng(7000 + situation)


def row(owner: str, values: np.ndarray, label: str) -> dict[str, object]:
    return {
        "patient": owner,
        **{f"lab_{place}": round(float(one), 3) for place, one in enumerate(values)},
        "ill": label,
    }


def table(
    situation: int, people: int, each: int, columns: int = 6, noise: float = 0.5, shift: float = 0.0
) -> Rows:
    """Return rows with a noisy linear label: the larger `shift`, the rarer is `yes`."""
    random, rows = random_of(situation), []
    weights = np.linspace(1.5, 0.3, columns) * np.where(np.arange(columns) % 2, -1, 1)
    for person in range(people):
        for _ in range(each):
            values = random.normal(size=columns)
            ill = values @ weights + noise * random.normal() > shift
            rows.append(row(f"p{person:04d}", values, "yes" if ill else "no"))
    return rows


def alike(situation: int, people: int, each: int) -> Rows:
    """Return rows whose columns are nearly the same number; small differences between them tell the label."""
    random, rows = random_of(situation), []
    for person in range(people):
        for _ in range(each):
            values = 3 * random.normal() + 0.5 * random.normal(size=6)
            ill = values[0] - values[1] + 0.6 * (values[2] - values[3]) + 0.3 * random.normal() > 0
            rows.append(row(f"p{person:04d}", values, "yes" if ill else "no"))
    return rows


def clinics(situation: int) -> Rows:
    """Return rows of 40 clinics, each with nearly all rows of one of four labels."""
    random, rows = random_of(situation), []
    centers = 1.2 * random.normal(size=(4, 8))
    for clinic in range(40):
        for _ in range(50):
            label = clinic % 4 if random.random() < 0.97 else int(random.integers(4))
            rows.append(
                row(f"c{clinic}", centers[label] + 1.3 * random.normal(size=8), "ABCD"[label])
            )
    return rows


def reviews(situation: int) -> Rows:
    """Return texts in a language that does not exist."""
    random = random_of(situation)
    syllables = [
        one + two
        for one in ("zv", "kx", "qr", "vj", "xh", "tz")
        for two in ("oq", "aj", "uw", "ix")
    ]
    common, good, bad = (
        ["".join(random.choice(syllables, 3)) for _ in range(count)] for count in (300, 30, 30)
    )
    rows: Rows = []
    for person in range(400):
        for _ in range(2):
            liked = random.random() < 0.5
            words = [*random.choice(common, 14), *random.choice(good if liked else bad, 3)]
            rows.append(
                {
                    "patient": f"p{person}",
                    "text": " ".join(random.permutation(words)),
                    "ill": "yes" if liked else "no",
                }
            )
    return rows


def carry_out(folder: Path, rows: Rows, *settings: str) -> Summary:
    """Run the plan that `tacit init` would write, with some settings changed."""
    plan = tacit.starter_plan(rows, label="ill").with_settings("engine.workers=1", *settings)
    run = tacit.run(plan, rows=rows, folder=str(folder), observer=tacit.Silence())
    return summarise(record.read(Path(run.folder) / "record.jsonl"))


def first(run: Summary) -> ResultFinding:
    return said(run)[0]


@pytest.mark.slow
def test_texts_in_another_language(tmp_path: Path) -> None:
    rows, forced = reviews(1), ("features.text=listed", "features.list=en")
    blind = carry_out(tmp_path, rows, *forced)
    assert [one.kind for one in said(blind)] == [
        "features"
    ]  # no advice to collect rows of a class that makes up half of all
    assert "features.text = 'binary' and features.words = 'unicode'" in first(blind).change
    assert "Remove features.list" in first(blind).change
    advised = (
        *forced,
        "features.text=binary",
        "features.words=unicode",
        "features.list=none",
        *WITHOUT_BASELINES,
    )
    assert figure(carry_out(tmp_path, rows, *advised), "auc") > figure(blind, "auc") + 0.2


@pytest.mark.slow
def test_twenty_people(tmp_path: Path) -> None:
    few = carry_out(tmp_path, table(2, 20, 40, columns=25, noise=1.0), "privacy.epsilon=3", SHORT)
    assert first(few).kind == "too few clients"
    more = carry_out(
        tmp_path,
        table(2, 80, 40, columns=25, noise=1.0),
        "privacy.epsilon=3",
        SHORT,
        *WITHOUT_BASELINES,
    )
    assert figure(more, "auc") > figure(few, "auc") + 0.02


HIGH_RATE = (
    *NO_PRIVACY, "model.name=mlp", "model.hidden=[16]", "local.optimizer=sgd", "local.lr=60", "local.epochs=3", "server.rounds=30",
)  # fmt: skip


@pytest.mark.slow
def test_steps_so_long_that_central_training_fails_too(tmp_path: Path) -> None:
    rows = alike(3, 300, 6)
    high = carry_out(tmp_path, rows, *HIGH_RATE)
    assert [one.kind for one in said(high)] == ["diverging"]
    assert "Divide local.lr by 16" in first(high).change
    lower = carry_out(tmp_path, rows, *HIGH_RATE, f"local.lr={60 / 16}", *WITHOUT_BASELINES)
    assert figure(lower, "auc") > figure(high, "auc") + 0.05


def test_random_labels_are_no_divergence(tmp_path: Path) -> None:
    random = random_of(10)
    rows = [{**one, "ill": "yes" if random.random() < 0.5 else "no"} for one in alike(3, 300, 3)]
    calm = carry_out(tmp_path, rows, *HIGH_RATE, "local.lr=0.1", "baselines=['central']")
    assert [one.kind for one in said(calm)] == ["nothing to learn"]


@pytest.mark.slow
def test_three_rounds_of_which_one_is_measured(tmp_path: Path) -> None:
    rows, settings = alike(4, 600, 2), ("server.rounds=3", "server.lr=0.5")
    early = carry_out(tmp_path, rows, *settings)
    assert first(early).kind == "too few rounds"
    assert "server.rounds = 12" in first(early).change
    longer = carry_out(tmp_path, rows, *settings, "server.rounds=12", *WITHOUT_BASELINES)
    assert figure(longer, "auc") > figure(early, "auc") + 0.05


def test_many_rounds_of_which_one_is_measured(tmp_path: Path) -> None:
    once = carry_out(
        tmp_path, alike(4, 300, 2), "server.rounds=16", "server.lr=0.05", "server.evaluate_every=16"
    )
    assert first(once).kind == "cause unknown"
    assert "server.evaluate_every = 2" in first(once).change


@pytest.mark.slow
def test_label_skew_among_few_clients_per_round(tmp_path: Path) -> None:
    rows = clinics(5)
    drifting = (
        *NO_PRIVACY, "local.epochs=20", "local.lr=1", "local.optimizer=sgd", "server.rounds=10", "server.cohort=count",
        "server.cohort_size=4",
    )  # fmt: skip
    skewed = carry_out(tmp_path, rows, *drifting)
    assert first(skewed).kind == "label skew"
    assert "diverging" not in {one.kind for one in said(skewed)}
    assert "server.cohort = 'all'. Remove server.cohort_size." in first(skewed).change
    advised = (
        "local.lr=5",
        "local.epochs=1",
        "local.batches=1",
        "server.optimizer=adam",
        "server.lr=0.5",
        "server.rounds=50",
    )
    everyone = ("server.cohort=all", "server.cohort_size=none")
    assert (
        figure(carry_out(tmp_path, rows, *drifting, *advised, *everyone, *WITHOUT_BASELINES))
        > figure(skewed) + 0.2
    )


def test_a_class_of_two_percent(tmp_path: Path) -> None:
    rare = carry_out(
        tmp_path, table(6, 500, 4, noise=3.0, shift=7.6), SHORT, "baselines=['central']"
    )
    assert first(rare).kind == "classes never predicted"
    assert "threshold" in first(rare).change


def test_a_category_that_leaks(tmp_path: Path) -> None:
    random = random_of(7)
    rows = [
        {
            **one,
            "discharge": "home" if (one["ill"] == "yes") != (random.random() < 0.004) else "ward",
        }
        for one in table(7, 400, 2)
    ]
    leaking = carry_out(tmp_path, rows, SHORT, "baselines=['central']")
    assert first(leaking).kind == "label leak"
    assert "Column discharge" in first(leaking).says


@pytest.mark.slow
def test_no_owner(tmp_path: Path) -> None:
    rows = pl.DataFrame(table(8, 400, 2)).drop("patient").to_dicts()
    assert first(carry_out(tmp_path, rows, SHORT, "baselines=['central']")).kind == "made-up owners"


@pytest.mark.slow
def test_a_tiny_epsilon(tmp_path: Path) -> None:
    rows = table(9, 1500, 2, columns=10)
    tiny = carry_out(tmp_path, rows, "privacy.epsilon=0.01", SHORT)
    assert first(tiny).kind == "epsilon too small"
    assert "epsilon = 0.04 per run" in first(tiny).change
    larger = carry_out(tmp_path, rows, "privacy.epsilon=0.04", SHORT, *WITHOUT_BASELINES)
    assert figure(larger, "auc") > figure(tiny, "auc") + 0.05


def test_random_labels(tmp_path: Path) -> None:
    random = random_of(10)
    rows = [{**one, "ill": "yes" if random.random() < 0.5 else "no"} for one in table(10, 500, 2)]
    assert [one.kind for one in said(carry_out(tmp_path, rows, SHORT))] == ["nothing to learn"]


def test_all_is_well(tmp_path: Path) -> None:
    run = carry_out(tmp_path, table(11, 800, 2), SHORT, "baselines=['central']")
    assert [one.kind for one in said(run)] == ["near central"]


def test_a_threshold_is_blamed_only_if_a_class_is_predicted_too_often(tmp_path: Path) -> None:
    run = carry_out(
        tmp_path,
        table(12, 1500, 2, noise=1.0, shift=2.0),
        SHORT,
        "features.constant=0",
        "baselines=['central']",
    )
    assert [one.kind for one in said(run)] == ["threshold"]
    arms = [
        replace(arm, by_class=arm.by_class and replace(arm.by_class, predicted=arm.by_class.rows))
        for arm in run.arms
    ]
    assert [one.kind for one in said(replace(run, arms=arms))] == ["near central"]
