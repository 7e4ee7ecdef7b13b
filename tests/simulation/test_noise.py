"""Noise belongs to one run: the same plan on the same rows repeats it, anything else shares none of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan, simulation
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.train import Train
from tacit.protocol.round import State
from tacit.randomness import Draws
from tacit.report.privacy import summarise_privacy
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.fingerprint import compute_data_fingerprints
from tacit.simulation.prepared_rows import prepare
from tests import seeds
from tests.simulation.small import small_plan, write_csv


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def identity(job: plan.Plan) -> str:
    return compute_data_fingerprints(job, prepare(job, Draws.seeded(job.seed))).identity


def model_of(folder: Path) -> str:
    return record.select_entries(list(record.read(folder / RECORD)), record.Finished, "run")[
        -1
    ].parameters_sha256


def test_a_run_under_another_name_from_a_moved_file_is_the_same_run(reviews, tmp_path) -> None:
    moved = tmp_path / "moved.csv"
    moved.write_bytes(reviews.read_bytes())
    one, other = small_plan(reviews), replace(small_plan(moved), name="other")
    assert identity(one) == identity(other)
    assert model_of(simulation.start(one, tmp_path / "one")) == model_of(
        simulation.start(other, tmp_path / "other")
    )


@pytest.mark.parametrize(
    "change", [{"server__rounds": 7}, {"local__lr": 0.02}, {"seed": 4}, {"data__clients": 19}]
)
def test_any_other_setting_makes_another_run(reviews, change) -> None:
    assert identity(small_plan(reviews)) != identity(small_plan(reviews, **change))


def test_one_changed_row_makes_another_run(reviews, tmp_path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(reviews.read_text().replace("good", "grey", 1))
    assert identity(small_plan(reviews)) != identity(small_plan(other))


@pytest.mark.statistical
def test_two_runs_share_no_noise() -> None:
    """The words two runs would compare with agree no more often than by chance: 64 bits each, 10,000 of them; off with 5e-7."""
    from tacit.client import ClientRandomness

    root = seeds.draws(0)
    one, other = (
        ClientRandomness(root, 3).noise(name, 1, "train", "digest").words(10_000)
        for name in ("a", "b")
    )
    same = np.unpackbits((one ^ other).view(np.uint8)).mean()
    assert same == pytest.approx(0.5, abs=seeds.deviations() * 0.5 / np.sqrt(640_000))


DP_SUM = {"name": "dp_sum", "epsilon": 2.0, "delta": 1e-3, "clip": 1.0}


@pytest.mark.parametrize("name", ["dp_sum", "gaussian"])
def test_a_run_with_noise_for_all_its_rounds_ends_at_the_epsilon_its_plan_states(
    reviews, tmp_path, name
) -> None:
    folder = simulation.start(small_plan(reviews, codec={**DP_SUM, "name": name}), tmp_path)
    spent = [
        entry.totals[-1]
        for entry in record.select_entries(list(record.read(folder / RECORD)), record.Spent, "run")
    ]
    assert [(total["unit"], total["delta"]) for total in spent] == [("run", 1e-3)] * 6
    assert sorted(total["epsilon"] for total in spent) == [total["epsilon"] for total in spent]
    assert 2 * (1 - 1e-6) <= spent[-1]["epsilon"] <= 2
    assert (
        "2 per run, delta 0.001 (6 updates, exact composition of Gaussian noise)"
        in summarise_privacy(list(record.read(folder / RECORD))).statement
    )


@pytest.mark.slow
def test_on_poisson_cohorts_every_round_is_paid_by_whoever_might_have_been_asked(
    reviews, tmp_path
) -> None:
    """Also rounds in which nobody was: about two in nine here."""
    job = small_plan(
        reviews, codec=DP_SUM, server={"rounds": 9, "cohort": "poisson", "cohort_size": 1}
    )
    entries = list(record.read(simulation.start(job, tmp_path) / RECORD))
    paid, rounds = (
        record.select_entries(entries, record.Released, "run"),
        record.select_entries(entries, record.Round, "run"),
    )
    assert [entry.busiest for entry in paid if entry.round_no] == list(range(1, 10))
    assert {one.cohort for one in rounds} >= {0, 1}
    found = summarise_privacy(entries)
    assert 2 * (1 - 1e-3) <= found.totals[-1].total.epsilon <= 2
    assert (
        "In each of 9 rounds, a client was sampled with probability 0.05 and then sent updates"
        in found.statement
    )
    assert (
        "(9 rounds, sampled with probability 0.05, composition of loss distributions)"
        in found.statement
    )
    assert any("learns which clients were sampled" in sentence for sentence in found.unprotected)


def test_the_server_adds_other_noise_in_another_run_and_in_another_round_even_if_nobody_answers(
    reviews,
) -> None:
    """Whether anybody answered must not show, and the same noise twice could be subtracted."""
    extent, size = codecs.Extent(rounds=6, cohort=20), 50
    terms = Agreement(
        run="a",
        identity="one",
        dim=size,
        codec=codecs.build(plan.DPSum(**DP_SUM), extent),
        public=Draws.seeded(1).publish(),
        server=plan.Server(),
    )
    models = []
    for identity, round_no in (("one", 1), ("one", 2), ("other", 1)):
        train = Train(replace(terms, identity=identity), Draws.seeded(0))
        state = State(
            round_no=round_no,
            cohort=np.empty(0, np.int64),
            model=np.zeros(size, np.float32),
            optimizer={},
        )
        models.append(train.step(state, train.empty()).model)
    assert len({model.tobytes() for model in models}) == 3
    assert all(model.all() for model in models)


@pytest.mark.parametrize("noise", ["independent", "banded"])
def test_the_server_s_noise_follows_from_its_own_root_and_from_nothing_public(noise) -> None:
    """What clients know would let them subtract it. Only the server's draws are accepted."""
    extent, size = codecs.Extent(rounds=6, cohort=20, participations=2, separation=3), 50
    made = codecs.build(plan.DPSum(**DP_SUM, noise=noise), extent)
    models = {}
    for root, public in ((0, 1), (0, 2), (5, 1)):
        terms = Agreement(
            run="a",
            identity="one",
            dim=size,
            codec=made,
            public=Draws.seeded(public).publish(),
            server=plan.Server(),
        )
        train, nobody = Train(terms, Draws.seeded(root)), np.empty(0, np.int64)
        state = State(round_no=2, cohort=nobody, model=np.zeros(size, np.float32), optimizer={})
        models[root, public] = train.step(state, train.empty()).model.tobytes()
    assert models[0, 1] == models[0, 2]
    assert models[0, 1] != models[5, 1]
    if noise == "banded":
        with pytest.raises(TypeError, match="randomness"):
            made.decode_over_rounds(made.empty(size), 2, own=Draws.seeded(0).publish())
