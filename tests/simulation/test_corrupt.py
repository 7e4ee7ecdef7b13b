"""Experiments with corrupted clients: the same in every arm, on every path and with any number of workers, and always told."""

from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan, report, simulation
from tacit.protocol.exchanges import batch
from tacit.protocol.loop import Desk
from tacit.randomness import Draws
from tacit.report.as_json import run_to_json
from tacit.report.pages.page import render
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.adversaries.behaviour import Misbehaving
from tacit.simulation.arm import Setting, SimulatedArm
from tacit.simulation.baselines.arms import list_arms
from tacit.simulation.prepared_rows import prepare
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_exchange import CLIENTS, asked, learner, train_over

UPDATES = ("free_rider", "sign_flip", "random_update", "alie", "ipm", "mimic")
ROWS = ("random_labels", "flipped_labels", "feature_noise", "backdoor")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def entries_of(folder: Path) -> list[record.Entry]:
    return list(record.read(folder / RECORD))


def finished(folder: Path, arm: str = "run") -> record.Finished:
    return record.select_entries(entries_of(folder), record.Finished, arm)[-1]


def losses(folder: Path) -> list[float]:
    return [
        one.metrics["loss"]
        for one in record.select_entries(entries_of(folder), record.Round, "run")
    ]


def job(reviews: Path, kind: str, **more: object) -> plan.Plan:
    corrupt = {
        "kind": kind,
        "clients": 0.4,
        **{key: more.pop(key) for key in ("from_round", "tests", "labels") if key in more},
    }
    return small_plan(
        reviews, corrupt=corrupt, **{"codec": {"name": "plain"}, "server__rounds": 3, **more}
    )


@pytest.mark.parametrize("kind", [*ROWS, *UPDATES])
def test_every_kind_changes_the_run_the_same_with_any_number_of_workers(
    reviews, tmp_path, kind
) -> None:
    one, two = (
        finished(simulation.start(job(reviews, kind, engine__workers=n), tmp_path)) for n in (1, 2)
    )
    clean = finished(
        simulation.start(small_plan(reviews, codec={"name": "plain"}, server__rounds=3), tmp_path)
    )
    assert one.parameters_sha256 == two.parameters_sha256 != clean.parameters_sha256
    assert one.bytes_up == clean.bytes_up
    assert ("attack_success" in one.metrics) == (kind == "backdoor")


def test_colluders_in_processes_send_the_same(reviews, tmp_path) -> None:
    settings = {"model": {"name": "tests.simulation.modules:Tiny"}, "server__rounds": 1}
    one, two = (
        finished(simulation.start(job(reviews, "alie", **settings, engine__workers=n), tmp_path))
        for n in (1, 2)
    )
    assert one.parameters_sha256 == two.parameters_sha256


@pytest.mark.parametrize("kind", ["random_labels", "feature_noise", "sign_flip", "ipm"])
def test_before_their_round_attackers_behave_to_the_bit(reviews, tmp_path, kind) -> None:
    clean = losses(
        simulation.start(small_plan(reviews, codec={"name": "plain"}, server__rounds=4), tmp_path)
    )
    late = losses(simulation.start(job(reviews, kind, from_round=3, server__rounds=4), tmp_path))
    assert late[:2] == clean[:2]
    assert late[2] != clean[2]


@pytest.mark.parametrize(
    "settings", [plan.Plain(), plan.RR(epsilon=2.0, clip=0.1)], ids=["plain", "rr"]
)
@pytest.mark.parametrize(
    "kind", [plan.SignFlip(), plan.FreeRider(), plan.IPM()], ids=lambda one: one.kind
)
def test_the_batched_path_equals_single_answers(settings, kind) -> None:
    made = learner("sparse")
    train, site = train_over(made, codecs.build(settings))
    site.behaviour = Misbehaving(
        kind, np.arange(CLIENTS) % 3 == 0, Draws.seeded(1), rows_before=False
    )
    site.behaviour.common = {"train": np.full(made.size, 0.01, np.float32)}
    ways = (batch.train_together, batch.respond_one_by_one)
    together, alone = (way(train, site, made.worker(), asked(train, made)) for way in ways)
    assert together.total.pack().tobytes() == alone.total.pack().tobytes()


def test_all_federated_arms_have_the_same_attackers_and_central_has_their_rows(
    reviews, tmp_path
) -> None:
    planned = job(
        reviews, "random_labels", from_round=2, baselines=["central", "fedavg", "local_only"]
    )
    draws = Draws.seeded(planned.seed)
    desk = Desk(
        folder=tmp_path, writer=record.Writer(tmp_path / "r.jsonl"), observer=simulation.Silence()
    )
    data = prepare(planned, draws)
    arms = {
        name: SimulatedArm(Setting(desk=desk, draws=draws, data=data), name, arm)
        for name, arm in list_arms(planned).items()
    }
    assert data.corruption.clients.sum() == 8
    for name, arm in arms.items():
        assert isinstance(arm.site.behaviour, Misbehaving) == (name in ("run", "fedavg"))
    clean = prepare(small_plan(reviews), draws)
    wrong = (data.train.labels != clean.train.labels).reshape(20, -1).any(axis=1)
    np.testing.assert_array_equal(wrong, data.corruption.clients)
    np.testing.assert_array_equal(
        data.own.labels, clean.train.labels
    )  # what clients are tried on stays clean
    assert len(data.corruption.before) == data.clients.sizes()[data.corruption.clients].sum()
    assert (
        prepare(job(reviews, "random_labels", tests=True), draws).own.labels.tolist()
        != clean.own.labels.tolist()
    )


def test_a_stopped_experiment_goes_on_as_if_nothing_happened(reviews, tmp_path) -> None:
    planned = job(reviews, "alie", from_round=2, server__rounds=4)

    class StopsInRoundTwo(simulation.Silence):
        folder = Path()

        def opened(self, folder: Path) -> None:
            self.folder = folder

        def entry(self, entry: record.Entry) -> None:
            if isinstance(entry, record.Round) and entry.round_no == 2:
                raise KeyboardInterrupt

    observer = StopsInRoundTwo()
    with pytest.raises(KeyboardInterrupt):
        simulation.start(planned, tmp_path, observer)
    whole = simulation.start(planned, tmp_path)
    assert (
        finished(simulation.resume(observer.folder)).parameters_sha256
        == finished(whole).parameters_sha256
    )


def test_an_experiment_is_told_everywhere(reviews, tmp_path) -> None:
    entries = entries_of(simulation.start(job(reviews, "backdoor", server__rounds=2), tmp_path))
    (said,) = record.select_entries(entries, record.Corrupted)
    assert (said.corruption, len(said.clients), said.of_clients) == ("backdoor", 8, 20)
    run = report.summarise(entries)
    page = render(run, "")
    assert "An experiment: 8 of 20 clients (40 %) were corrupted on purpose (backdoor)." in page
    assert "test rows with the attackers" in page
    assert run_to_json(run, tmp_path)["corrupted"]["clients"] == said.clients


def test_a_backdoor_works_on_a_model_that_learned_it(reviews, tmp_path) -> None:
    metrics = finished(
        simulation.start(job(reviews, "backdoor", server__rounds=12, local__epochs=3), tmp_path)
    ).metrics
    assert metrics["accuracy"] > 0.8
    assert metrics["attack_success"] > 0.8


def filtered(reviews: Path, kind: str, **corrupt: object) -> plan.Plan:
    """Return a job in which clients vote, some of them corrupted; by default none of the votes is noised."""
    data = {
        "source": str(reviews),
        "clients": 20,
        "columns": {"text": ["opinion"], "label": "stars"},
        "local_test": 0.33,
    }
    votes = {"lr": 0.5, "batch_rows": 40, "vote_epsilon": corrupt.pop("vote_epsilon", None)}
    return small_plan(
        reviews, data=data, filter={key: value for key, value in votes.items() if value}, codec={"name": "plain"},
        model={"name": "logistic"}, server__rounds=3, corrupt={"kind": kind, **corrupt},
    )  # fmt: skip


def rejections(folder: Path) -> list[list[int]]:
    return [one.rejected for one in record.select_entries(entries_of(folder), record.Voted)]


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", rows=1200)


def test_votes_find_the_corrupted_from_the_round_in_which_they_begin(many, tmp_path) -> None:
    folder = simulation.start(filtered(many, "flipped_labels", clients=0.2, from_round=2), tmp_path)
    (said,) = record.select_entries(entries_of(folder), record.Corrupted)
    assert rejections(folder) == [[], said.clients, said.clients]


@pytest.mark.parametrize("kind", ["sign_flip", "ipm", "mimic"])
def test_attackers_send_the_head_they_attack_with_and_the_update_they_committed_to(
    many, tmp_path, kind
) -> None:
    folder = simulation.start(filtered(many, kind, clients=0.2), tmp_path)
    assert record.select_entries(entries_of(folder), record.Refused) == []
    (said,) = record.select_entries(entries_of(folder), record.Corrupted)
    assert rejections(folder) == [said.clients if kind != "mimic" else []] * 3


@pytest.mark.parametrize(
    ("clients", "epsilon", "wins"), [(0.2, None, False), (0.6, None, True), (0.6, 1.0, True)]
)
def test_colluding_testers_decide_once_there_are_enough_of_them(
    many, tmp_path, clients, epsilon, wins
) -> None:
    job = filtered(many, "flipped_labels", clients=clients, votes="colluding", vote_epsilon=epsilon)
    folder = simulation.start(job, tmp_path)
    (said,) = record.select_entries(entries_of(folder), record.Corrupted)
    rejected, corrupted = set(rejections(folder)[0]), set(said.clients)
    assert not rejected & corrupted if wins else corrupted <= rejected
