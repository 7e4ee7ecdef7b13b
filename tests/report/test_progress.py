"""How far a run is, folded from its record."""

from __future__ import annotations

from tacit.report.progress import RunProgress
from tests.report import made_up


def folded(**record: int) -> RunProgress:
    progress = RunProgress()
    for entry in made_up.record(**record):
        progress.add_entry(entry)
    return progress


def test_a_finished_record_is_done() -> None:
    progress = folded(rounds=4)
    assert list(progress.arms) == ["run", "fedavg", "central"]
    assert all(arm.finished and arm.fraction == 1.0 for arm in progress.arms.values())


def test_a_stopped_record_says_how_far_and_how_long() -> None:
    arm = folded(rounds=4, stop=3).arms["run"]
    assert (arm.round_no, arm.rounds, arm.finished) == (3, 4, False)
    assert arm.fraction == 0.75
    assert arm.seconds_left is not None
    assert arm.seconds_left > 0


def test_clients_move_the_bar_within_a_round() -> None:
    progress = folded(rounds=4, stop=2)
    progress.add_clients("run", 3, 50, 100)
    assert progress.arms["run"].fraction == 2.5 / 4


def test_facts_have_units() -> None:
    progress = folded(rounds=4)
    said = ", ".join(progress.arms["run"].facts(progress.leading))
    assert "up per client" in said
    assert "per bit" in said
