"""Runs whose server reads updates one by one: the same bits by any way, the mean as before, and bad clients kept out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan, simulation, training
from tacit.codecs import Extent
from tacit.protocol import messages
from tacit.protocol.aggregation import CollectedUpdates, Intake
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges import batch
from tacit.protocol.exchanges.train import Train
from tacit.protocol.round import State, gather
from tacit.protocol.site import Client, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.adversaries.clean_rows import CleanRows
from tacit.simulation.baselines.arms import list_arms
from tests.roles import decode
from tests.simulation.small import small_plan, write_csv

ROOT, CLIENTS = Draws.seeded(0), 8
EXTENT = Extent(rounds=1, cohort=CLIENTS)
CODECS = [plan.Plain(), plan.RR(epsilon=2.0, clip=0.02), plan.RRSampled(epsilon=20.0, clip=0.02), plan.RQM(clip=0.02, margin=0.02),
          plan.Gaussian(epsilon=20.0, delta=1e-5, clip=1.0), plan.QSGD()]  # fmt: skip


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def finished(folder: Path) -> record.Finished:
    return record.select_entries(list(record.read(folder / RECORD)), record.Finished, "run")[-1]


def made_rows() -> Rows:
    matrix = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    return Rows(
        inputs=Dense(matrix=matrix, width=6),
        labels=(matrix[:, 0] > 0).astype(np.int32),
        classes=("no", "yes"),
    )


def learner() -> training.Learner:
    held = Clients(order=np.arange(40), starts=np.arange(0, 41, 5))
    return training.build(plan.Logistic(), plan.Local(epochs=1, batch=4), made_rows(), held)


def train_over(
    made: training.Learner, settings: plan.Codec, server: plan.Server
) -> tuple[Train, Site]:
    agreement = Agreement(
        run="run-1", identity="i", dim=made.size, codec=codecs.build(settings, EXTENT), public=ROOT.publish("public"), server=server
    )  # fmt: skip
    return Train(agreement, ROOT), Site(agreement, range(CLIENTS), ROOT, np.full(CLIENTS, 5), made)


def begin(made: training.Learner) -> State:
    return State(round_no=1, cohort=np.arange(CLIENTS), model=made.initial(ROOT), optimizer={})


@pytest.mark.parametrize("settings", CODECS, ids=lambda one: one.name)
def test_single_updates_are_what_the_sum_is_made_of(settings) -> None:
    made = learner()
    by_sum, site = train_over(made, settings, plan.Server())
    one_by_one, _ = train_over(made, settings, plan.Server(rule="median"))
    request = by_sum.build_request(begin(made))
    total = batch.train_together(by_sum, site, made.worker(), request).total
    single = batch.train_together(one_by_one, site, made.worker(), request)
    alone = batch.respond_one_by_one(one_by_one, site, made.worker(), request)
    names, rows, weights = single.total.value()
    assert names.tolist() == list(range(CLIENTS))
    assert weights.tolist() == [1] * CLIENTS
    assert all(
        np.array_equal(ours, theirs)
        for ours, theirs in zip(single.total.value(), alone.total.value(), strict=True)
    )
    assert (single.clients, single.bytes_up) == (alone.clients, alone.bytes_up)
    mean = decode(by_sum.agreement.codec, total, ROOT, ROOT)
    np.testing.assert_allclose(rows.mean(axis=0), mean, rtol=1e-4, atol=1e-6)


def test_an_update_that_is_not_finite_is_refused_and_the_others_count() -> None:
    made = learner()
    train, site = train_over(made, plan.Plain(), plan.Server(rule="median"))
    request = train.build_request(begin(made))
    frames = [
        train.respond(Client(site, site.slot(name), made.worker()), request)
        for name in range(CLIENTS)
    ]
    header = messages.parse(*frames[3]).header
    frames[3] = messages.frame(header, np.full(made.size, np.nan, np.float32).view(np.uint8))
    got = gather(train, Intake(range(CLIENTS), 1, 1), frames)
    assert [refusal.sender for refusal in got.refused] == [3]
    assert got.total.value()[0].tolist() == [0, 1, 2, 4, 5, 6, 7]
    after = train.close(begin(made), got.total).state
    assert not np.array_equal(after.model, begin(made).model)


def test_a_round_in_which_nobody_answers_changes_nothing() -> None:
    made = learner()
    train, _ = train_over(made, plan.Plain(), plan.Server(rule="centred_clipping"))
    before = begin(made)
    after = train.close(before, CollectedUpdates()).state
    assert np.array_equal(after.model, before.model)


@pytest.mark.parametrize("rule", ["trimmed_mean", "foolsgold", "centred_clipping"])
def test_one_and_three_workers_and_a_resumed_run_end_with_the_same_bits(
    reviews, tmp_path, rule
) -> None:
    server = {"rounds": 4, "rule": rule, **({"assumed_bad": 0.2} if rule == "trimmed_mean" else {})}
    job = small_plan(reviews, codec={"name": "plain"}, server=server)
    calm = simulation.start(replace(job, engine=plan.Engine(workers=1)), tmp_path)
    busy = simulation.start(replace(job, engine=plan.Engine(workers=3)), tmp_path)
    assert finished(calm).parameters_sha256 == finished(busy).parameters_sha256
    stopped = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, stopped, observer=StopsAfter(2))
    resumed = simulation.resume(next(stopped.iterdir()))
    assert finished(resumed).parameters_sha256 == finished(calm).parameters_sha256


class StopsAfter(simulation.Silence):
    """An observer that presses Ctrl-C after some round."""

    def __init__(self, round_no: int) -> None:
        self.round_no = round_no

    def entry(self, entry: record.Entry) -> None:
        if isinstance(entry, record.Round) and entry.round_no == self.round_no + 1:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "server",
    [{"rule": "median"}, {"rule": "trimmed_mean", "assumed_bad": 0.2, "mix": True}, {"rule": "multi_krum", "assumed_bad": 0.2},
     {"rule": "geometric_median"}, {"rule": "norm_bound"}, {"rule": "mean", "mix": True, "assumed_bad": 0.2},
     {"rule": "fltrust"}, {"rule": "zeno", "assumed_bad": 0.6}],
    ids=lambda table: "-".join(map(str, table.values())),
)  # fmt: skip
def test_every_rule_learns(reviews, tmp_path, server) -> None:
    public = {"public": {"share": 0.1}} if server["rule"] in ("fltrust", "zeno") else {}
    folder = simulation.start(
        small_plan(reviews, codec={"name": "plain"}, server={"rounds": 8, **server}, **public),
        tmp_path,
    )
    assert finished(folder).metrics["accuracy"] > 0.75


def test_randomised_updates_are_read_as_noisy_ones(reviews, tmp_path) -> None:
    folder = simulation.start(
        small_plan(reviews, server__rule="geometric_median", server__rounds=6), tmp_path
    )
    assert finished(folder).metrics["auc"] > 0.5


def test_baselines_are_means(reviews) -> None:
    job = small_plan(
        reviews,
        baselines=["fedavg", "central"],
        server={"rule": "multi_krum", "assumed_bad": 0.2, "mix": True},
    )
    rules = {name: (arm.server.rule, arm.server.one_by_one) for name, arm in list_arms(job).items()}
    assert rules == {
        "run": ("multi_krum", True),
        "fedavg": ("mean", False),
        "central": ("mean", False),
    }


@pytest.mark.parametrize(
    "server", [{"rule": "fltrust"}, {"rule": "zeno", "assumed_bad": 0.75}], ids=["fltrust", "zeno"]
)
def test_a_server_with_rows_of_its_own_bears_a_bad_majority(server) -> None:
    made, settings = (
        learner(),
        plan.parse({"model": {"name": "logistic"}, "local": {"epochs": 1, "batch": 4}}),
    )
    train, site = train_over(made, plan.Plain(), plan.Server(**server))
    train.judge = CleanRows(settings, made_rows(), ROOT, None).at
    state = begin(made)
    total = batch.train_together(train, site, made.worker(), train.build_request(state)).total
    names, updates, _ = total.value()
    turned = CollectedUpdates()
    for name, update in zip(names.tolist(), updates, strict=True):
        turned.add(name, update if name < 2 else -5 * update, 1)
    moved = train.close(state, turned).state.model - state.model
    assert moved @ updates.mean(axis=0) > 0, "the way the honest ones point"
    assert np.linalg.norm(moved) < 3 * np.linalg.norm(updates, axis=1).max()


def test_turned_updates_ruin_the_mean_and_not_the_rules(reviews, tmp_path) -> None:
    found = {}
    for rule in ("mean", "median", "multi_krum", "zeno"):
        server = {
            "rounds": 12,
            "rule": rule,
            **({"assumed_bad": 0.3} if rule in ("multi_krum", "zeno") else {}),
        }
        tables = {
            "corrupt": {"kind": "sign_flip", "clients": 0.3, "scale": 5.0},
            **({"public": {"share": 0.1}} if rule == "zeno" else {}),
        }
        folder = simulation.start(
            small_plan(reviews, codec={"name": "plain"}, server=server, **tables), tmp_path
        )
        found[rule] = finished(folder).metrics["accuracy"]
    assert found.pop("mean") < 0.7
    assert min(found.values()) > 0.8, found
