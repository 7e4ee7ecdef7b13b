"""Noise belongs to one run: the same plan on the same rows repeats it, anything else shares none of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import engine, plan, record
from tacit.draws import Draws
from tacit.engine.fingerprint import fingerprints_of
from tacit.engine.run_folder import RECORD
from tacit.engine.simulated_data import prepare
from tests.engine.small import small_plan, write_csv


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def identity(job: plan.Plan) -> str:
    return fingerprints_of(job, prepare(job, Draws.seeded(job.seed))).identity


def model_of(folder: Path) -> str:
    return record.of_kind(list(record.read(folder / RECORD)), record.Finished, "run")[-1].model_sha256


def test_a_run_under_another_name_from_a_moved_file_is_the_same_run(reviews, tmp_path) -> None:
    moved = tmp_path / "moved.csv"
    moved.write_bytes(reviews.read_bytes())
    one, other = small_plan(reviews), replace(small_plan(moved), name="other")
    assert identity(one) == identity(other)
    assert model_of(engine.start(one, tmp_path / "one")) == model_of(engine.start(other, tmp_path / "other"))


@pytest.mark.parametrize("change", [{"server__rounds": 7}, {"local__lr": 0.02}, {"seed": 4}, {"data__clients": 19}])
def test_any_other_setting_makes_another_run(reviews, change) -> None:
    assert identity(small_plan(reviews)) != identity(small_plan(reviews, **change))


def test_one_changed_row_makes_another_run(reviews, tmp_path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(reviews.read_text().replace("good", "grey", 1))
    assert identity(small_plan(reviews)) != identity(small_plan(other))


def test_two_runs_share_no_noise(reviews) -> None:
    """The words two runs would compare with agree no more often than chance: 64 bits each, 10,000 of them."""
    from tacit.seat import Own

    root = Draws.seeded(0)
    one, other = (Own(root, 3).noise(name, 1, "train").words(10_000) for name in ("a", "b"))
    same = np.unpackbits((one ^ other).view(np.uint8)).mean()
    assert same == pytest.approx(0.5, abs=6 * 0.5 / np.sqrt(640_000))
