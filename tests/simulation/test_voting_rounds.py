"""Rounds that vote and rounds that keep a decision: what leaves, what is charged, and what a stop changes."""

from pathlib import Path

import pytest

from tacit import simulation
from tacit.protocol.exchanges.votes import Votes
from tacit.report.privacy import summarise_privacy
from tacit.report.votes import summarise_votes
from tacit.runs import record, verify
from tacit.runs.run_folder import RECORD
from tests.simulation.small import small_plan, write_csv

TEXT = {"text": ["opinion"], "label": "stars"}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", rows=900)


def job(reviews: Path, rounds: int = 6, **votes: object):
    return small_plan(
        reviews,
        data={"source": str(reviews), "clients": 15, "columns": TEXT, "local_test": 0.33},
        filter={"lr": 0.5, "head_scale": 0.5, **votes},
        codec={"name": "plain"},
        model={"name": "logistic"},
        corrupt={"kind": "sign_flip", "clients": 0.2},
        engine={"workers": 1},
        server__rounds=rounds,
    )


def entries(folder: Path, kind: type) -> list:
    return record.select_entries(list(record.read(folder / RECORD)), kind)


def test_only_voting_rounds_send_last_layers_and_votes_and_are_charged_for(
    reviews, tmp_path
) -> None:
    folder = simulation.start(job(reviews, until=4, every=2, vote_epsilon=2.0, testers=5), tmp_path)
    assert [one.round_no for one in entries(folder, record.Voted)] == [1, 3]
    sent = {
        name: [one.round_no for one in entries(folder, record.Released) if one.exchange == name]
        for name in ("heads", "votes", "train")
    }
    assert sent == {"heads": [1, 3], "votes": [1, 3], "train": [1, 2, 3, 4, 5, 6]}
    said = summarise_privacy(list(record.read(folder / RECORD))).statement
    assert "add up to epsilon 10 per tester and round, and epsilon 20 per run of 2 rounds" in said
    assert verify.list_damage(folder) == []


def test_rounds_between_votes_keep_the_decision(reviews, tmp_path) -> None:
    folder = simulation.start(job(reviews, until=1), tmp_path)
    (voted,) = entries(folder, record.Voted)
    bad = entries(folder, record.Corrupted)[0].clients
    assert voted.rejected == sorted(bad)
    rounds = entries(folder, record.Round)
    assert {one.cohort for one in rounds} == {12}, "the model is made of the accepted only"
    trained = [one for one in entries(folder, record.Released) if one.exchange == "train"]
    assert {one.clients for one in trained} == {12}


def test_a_stop_between_votes_changes_nothing(reviews, tmp_path, monkeypatch) -> None:
    plan = job(reviews, every=3, error_rate=0.05, vote_epsilon=4.0, test_rows=5)
    whole = simulation.start(plan, tmp_path / "whole")
    asked = Votes.skip

    def stop(votes, state):
        if state.round_no == 5:
            raise KeyboardInterrupt
        return asked(votes, state)

    monkeypatch.setattr(Votes, "skip", stop)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(plan, tmp_path / "stopped")
    monkeypatch.undo()
    (folder,) = [one for one in (tmp_path / "stopped").iterdir() if one.is_dir()]
    simulation.resume(folder)
    ends = [entries(one, record.Finished)[-1].parameters_sha256 for one in (whole, folder)]
    assert ends[0] == ends[1]


def test_a_tester_evaluates_on_other_rows_in_each_vote(reviews, tmp_path, monkeypatch) -> None:
    seen = dict[int, list[set[int]]]()
    chosen = Votes._choose_rows

    def noted(votes, client, round_no):
        found = chosen(votes, client, round_no)
        seen.setdefault(client.slot.name, []).append(set(found.tolist()))
        return found

    monkeypatch.setattr(Votes, "_choose_rows", noted)
    simulation.start(job(reviews, rounds=5, every=2, test_rows=5), tmp_path)
    for used in seen.values():
        assert [len(one) for one in used] == [5, 5, 5]
        assert not used[0] & used[1]


def test_a_round_after_a_lost_vote_asks_nobody(reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tacit.protocol.exchanges.votes.find_rejected", lambda *_: None)
    folder = simulation.start(job(reviews, rounds=2, until=1), tmp_path)
    (refused,) = entries(folder, record.Refused)
    assert (refused.round_no, refused.reason) == (
        2,
        "round lost: no vote has led to a decision yet",
    )


def test_the_report_names_the_last_round_that_voted(reviews, tmp_path) -> None:
    folder = simulation.start(job(reviews, until=2), tmp_path)
    votes = summarise_votes(entries(folder, record.Voted))
    assert votes is not None
    assert "in round 2, the last that voted" in votes.sentence
