"""Canaries in a run: they join the sum as single messages would, survive a stop, and catch a twin with half the noise."""

from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan, simulation
from tacit.codecs import dp_sum
from tacit.protocol.agreement import Agreement
from tacit.randomness import Draws
from tacit.report import summarise
from tacit.report.as_json import privacy_to_json, run_to_json
from tacit.report.audits import build_grids
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.adversaries.canaries import SEEN, Canaries
from tests.roles import decode, encode
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_resume import Stops

DP_SUM = {"name": "dp_sum", "epsilon": 8.0, "delta": 1e-5, "clip": 1.0}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def some(dim: int = 300, count: int = 200, epsilon: float = 8.0, rate: float = 1.0) -> Canaries:
    settings = plan.DPSum(epsilon=epsilon, delta=1e-5, clip=0.7)
    extent = codecs.Extent(rounds=8, cohort=5, rate=rate)
    made = codecs.build(settings, extent)
    terms = Agreement(
        run="a",
        identity="x",
        dim=dim,
        codec=made,
        public=Draws.seeded(1).publish(),
        server=plan.Server(),
    )
    return Canaries(count=count, terms=terms, draws=Draws.seeded(3), extent=extent)


@pytest.mark.parametrize(("rate", "round_no"), [(1.0, 1), (1.0, 2), (0.3, 3)])
def test_the_sum_is_that_of_single_messages(rate, round_no) -> None:
    canaries = some(rate=rate)
    made, together, single = (
        canaries.terms.codec,
        *(canaries.terms.codec.empty(300) for _ in range(2)),
    )
    canaries.join(together, round_no)
    for number in np.flatnonzero(canaries.inside & canaries._select_sampled(round_no)):
        sign = np.float32((1, -1, -1, 1)[round_no - 1])
        single.add(
            encode(
                made, sign * canaries.direction(number), Draws.seeded(0), Draws.seeded(0)
            ).payload,
            1,
            Draws.seeded(0),
        )
    assert together.value().tolist() == single.value().tolist()
    assert together.weight == single.weight
    assert 60 < canaries.inside.sum() < 140


def run(canaries: Canaries, twice: bool = False) -> record.Audited:
    """Return the audit of a run of canaries alone; a broken twin lets every message count twice, which halves the noise."""
    arrays, made = {}, canaries.terms.codec
    for round_no in range(1, 9):
        total = made.empty(canaries.terms.dim)
        for _ in range(2 if twice else 1):
            canaries.join(total, round_no)
        arrays = canaries.seen(
            arrays, decode(made, total, Draws.seeded(0), Draws.seeded(7).at(round_no))
        )
    return canaries.audited(arrays[SEEN], 8.0, 1e-5)


def test_what_is_shown_is_near_the_claim_and_half_the_noise_is_flagged() -> None:
    """With a fixed seed: one audit alone flags sound noise once in hundreds of runs (tests/privacy/test_one_run.py)."""
    canaries = some(dim=20_000, count=1000)
    sound, broken = run(canaries), run(canaries, twice=True)
    assert not sound.findings["flagged"]
    assert broken.findings["flagged"]
    estimate = sound.findings["shown"][0]
    assert 0.8 * 8 <= estimate["epsilon"] <= 8.5
    assert [len(grid.rows) for grid in build_grids(sound)] == [3]


def test_a_stopped_run_has_the_same_canaries_and_they_are_in_record_report_and_json(
    reviews, tmp_path
) -> None:
    job = small_plan(
        reviews, codec=DP_SUM, audit={"canaries": 150}, server={"rounds": 4}, baselines=["fedavg"]
    )
    watch = Stops()
    whole = simulation.start(job, tmp_path / "whole", watch)
    stops = Stops(entry=len(watch.kinds) // 2)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, tmp_path / "cut", stops)
    again = simulation.resume(stops.folder)
    found = [
        record.select_entries(list(record.read(folder / RECORD)), record.Audited)
        for folder in (whole, again)
    ]
    assert found[0] == found[1]
    assert [one.name for one in found[0]] == ["canaries"]
    seen = summarise(list(record.read(whole / RECORD)))
    assert privacy_to_json(seen)["canaries"]["claimed"] == 8.0
    assert run_to_json(seen, whole)["audits"]["canaries"]["canaries"] == 150


def test_a_plan_without_canaries_has_none(reviews, tmp_path) -> None:
    folder = simulation.start(small_plan(reviews, codec=DP_SUM, server={"rounds": 1}), tmp_path)
    assert not record.select_entries(list(record.read(folder / RECORD)), record.Audited)


def test_the_codec_of_canaries_draws_nothing_at_the_client() -> None:
    """Their sum is made of one encoded message, which holds for a codec whose clients add no noise."""
    made = dp_sum.make(
        plan.DPSum(epsilon=8.0, delta=1e-5, clip=0.7), codecs.Extent(rounds=8, cohort=5)
    )
    row = np.random.default_rng(0).normal(size=50).astype(np.float32)
    first, second = (
        encode(made, row, Draws.seeded(seed), Draws.seeded(seed)).payload for seed in (0, 1)
    )
    assert first.tobytes() == second.tobytes()
    assert (
        encode(made, -row, Draws.seeded(0), Draws.seeded(0)).payload.view("<i4")
        == -first.view("<i4")
    ).all()
