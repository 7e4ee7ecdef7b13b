"""Advice: the predicted error is the measured one, and the suggested clip is better than a bad one."""

import pytest

from tacit.errors import PlanError
from tacit.simulation.advice.advise import advise
from tests.simulation.small import small_plan, write_csv


@pytest.mark.parametrize(("epsilon", "clip"), [(1, 0.01), (10, 0.1), (0.5, 0.001)])
def test_predicted_and_measured_error_agree(tmp_path, epsilon, clip) -> None:
    job = small_plan(
        write_csv(tmp_path / "r.csv"), codec={"name": "rr", "epsilon": epsilon, "clip": clip}
    )
    advice = advise(job)
    assert advice.measured_error == pytest.approx(advice.planned.error, rel=0.1)


def test_the_best_clip_beats_a_hundredfold_and_a_hundredth(tmp_path) -> None:
    source = write_csv(tmp_path / "r.csv")
    best = advise(small_plan(source)).best
    for factor in (0.01, 100):
        other = advise(
            small_plan(source, codec={"name": "rr", "epsilon": 2, "clip": best.clip * factor})
        )
        assert other.planned.error > best.error


def test_more_privacy_needs_more_clients(tmp_path) -> None:
    source = write_csv(tmp_path / "r.csv")
    needed = [
        advise(
            small_plan(source, codec={"name": "rr", "epsilon": epsilon, "clip": 0.01})
        ).clients_needed
        for epsilon in (0.1, 1, 5)
    ]
    assert needed[0] > needed[1] > needed[2]


def test_plain_updates_need_no_advice(tmp_path) -> None:
    with pytest.raises(PlanError, match=r"requires codec\.name = 'rr'"):
        advise(small_plan(write_csv(tmp_path / "r.csv"), codec={"name": "plain"}))
