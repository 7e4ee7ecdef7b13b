"""Clients that answer rarely: who is asked, what their own ledgers refuse, noise that goes together, and a stop in between."""

from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan, simulation
from tacit.codecs.distributions.banded import choose_coefficients
from tacit.errors import RunError
from tacit.protocol.agreement import Agreement
from tacit.randomness import Draws
from tacit.report.privacy import summarise_privacy
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.server import choose_cohort
from tacit.simulation.adversaries.canaries import SEEN, Canaries
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_resume import Stops

RARE = {
    "codec": {"name": "dp_sum", "epsilon": 8.0, "delta": 1e-5, "clip": 1.0, "noise": "banded"},
    "server": {"rounds": 8, "cohort": "count", "cohort_size": 5},
    "ledger": {"participations": 2, "separation": 4},
}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def entries(folder: Path) -> list[record.Entry]:
    return list(record.read(folder / RECORD))


def test_those_who_waited_longest_are_asked_so_that_all_are_far_apart() -> None:
    settings, answered, rounds = (
        plan.Server(cohort="count", cohort_size=5),
        np.zeros(22, np.int64),
        [],
    )
    for round_no in range(1, 30):
        cohort = choose_cohort(settings, 22, Draws.seeded(round_no), answered)
        assert len(cohort) == 5
        assert (round_no - answered[cohort][answered[cohort] > 0] >= 4).all()
        answered[cohort] = round_no
        rounds.append(cohort)
    counts = np.bincount(np.concatenate(rounds), minlength=22)
    assert counts.max() - counts.min() <= 1


def test_a_run_keeps_its_loss_is_refused_nothing_and_is_the_same_after_a_stop(
    reviews, tmp_path
) -> None:
    job, watch = small_plan(reviews, **RARE), Stops()
    whole = simulation.start(job, tmp_path / "whole", watch)
    stops = Stops(entry=2 * len(watch.kinds) // 3)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, tmp_path / "cut", stops)
    again = simulation.resume(stops.folder)
    ends = [
        record.select_entries(entries(folder), record.Finished, "run")[0].parameters_sha256
        for folder in (whole, again)
    ]
    assert ends[0] == ends[1]
    assert not record.select_entries(entries(whole), record.Refused)
    assert [
        one.busiest for one in record.select_entries(entries(whole), record.Released, "run")
    ] == [
        1,
        1,
        1,
        1,
        2,
        2,
        2,
        2,
    ]
    found = summarise_privacy(entries(whole))
    assert 8 * (1 - 1e-3) <= found.totals[-1].total.epsilon <= 8
    assert "limits it to 2 responses, at least 4 rounds apart" in found.statement


def test_a_client_refuses_what_its_own_ledger_does_not_allow(reviews, tmp_path) -> None:
    """Bits whose total is only known round by round: after two of them nobody answers a third."""
    tiny = {"name": "rr_sampled", "epsilon": 1.0, "clip": 0.02}
    job = small_plan(reviews, codec=tiny, server={"rounds": 4}, ledger={"epsilon": 2.0})
    with pytest.raises(
        RunError,
        match=(
            r"all responses of round 3 were refused \(its own ledger allows epsilon 2 per run, and this response would make it 3"
        ),
    ):
        simulation.start(job, tmp_path)
    refused = [
        one
        for folder in tmp_path.iterdir()
        for one in record.select_entries(entries(folder), record.Refused)
    ]
    assert {one.round_no for one in refused} == {3}
    assert len(refused) == 20


def audit(weight: int) -> record.Audited:
    """Return what canaries alone show under banded noise; a broken twin counts every message twice."""
    settings = plan.DPSum(epsilon=8.0, delta=1e-5, clip=1.0, noise="banded")
    extent = codecs.Extent(rounds=8, cohort=1, participations=2, separation=4)
    made = codecs.build(settings, extent)
    terms = Agreement(
        run="a",
        identity="x",
        dim=20_000,
        codec=made,
        public=Draws.seeded(1).publish(),
        server=plan.Server(),
    )
    canaries = Canaries(
        count=1000,
        terms=terms,
        draws=Draws.seeded(3),
        extent=extent,
        bands=choose_coefficients(8, 4),
    )
    arrays: dict[str, np.ndarray] = {}
    for round_no in range(1, 9):
        total = made.empty(20_000)
        for _ in range(weight):
            canaries.join(total, round_no)
        arrays = canaries.seen(
            arrays, made.decode_over_rounds(total, round_no, own=Draws.seeded(7).for_server())
        )
    return canaries.audited(arrays[SEEN], 8.0, 1e-5)


def test_canaries_show_the_loss_of_banded_noise_and_a_twin_with_half_of_it_is_caught() -> None:
    """With a fixed seed: one audit alone flags sound noise once in hundreds of runs (tests/privacy/test_one_run.py)."""
    sound, broken = audit(1), audit(2)
    assert not sound.findings["flagged"]
    assert 0.8 * 8 <= sound.findings["shown"][0]["epsilon"] <= 8.6
    assert broken.findings["flagged"]


def test_a_server_that_asks_too_soon_is_not_answered(reviews, tmp_path, monkeypatch) -> None:
    """The server of this twin forgets who waited, and asks the same clients in every round."""
    from tacit.protocol import loop

    monkeypatch.setattr(loop.server, "choose_cohort", lambda *_: np.arange(5))
    with pytest.raises(
        RunError,
        match=r"all responses of round 2 were refused .its own ledger requires 4 rounds between responses",
    ):
        simulation.start(small_plan(reviews, **RARE), tmp_path)
