"""A simulated network: who is missing, what is charged, and that nothing depends on workers, stops or other clients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit import plan, simulation
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.protocol.round import Request
from tacit.protocol.site import Site
from tacit.randomness import Draws
from tacit.report.missing.network import summarise_network
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.network.arrivals import Load, NetworkModel
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_resume import Stops

CLIENTS = 2_000
POOR = {"available": 0.8, "drop_out": 0.1, "deadline": 1.0, "row_seconds": 0.02}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def entries(folder: Path) -> list[record.Entry]:
    return list(record.read(folder / RECORD))


def final_hash(folder: Path) -> str:
    return record.select_entries(entries(folder), record.Finished, "run")[-1].parameters_sha256


def draw(names: np.ndarray, **settings: float):
    model = NetworkModel(plan.Network(**settings), Draws.seeded(1), CLIENTS)
    load = Load(down=1_000_000, up=1_000_000, compute=np.full(len(names), 1.0))
    return model.draw(1, "train", names, load)


def test_a_perfect_network_changes_no_model(reviews, tmp_path) -> None:
    plain = {"codec": {"name": "plain"}}
    without = simulation.start(small_plan(reviews, **plain), tmp_path / "without")
    within = simulation.start(small_plan(reviews, **plain, network={}), tmp_path / "within")
    assert final_hash(without) == final_hash(within)
    figures = summarise_network(entries(within))
    assert figures is not None
    assert (figures.counted, figures.rounds) == (figures.asked, 6)
    assert figures.seconds > 6 * 0.2  # two messages of 0.1 s each in every round


def test_shares_are_as_stated() -> None:
    found = draw(np.arange(CLIENTS), available=0.7, drop_out=0.2, deadline=1e6)
    assert abs(found.unreachable.mean() - 0.3) < 0.05
    assert abs(found.dropped.sum() / (~found.unreachable).sum() - 0.2) < 0.05
    assert not found.late.any()
    assert found.seconds == 1e6  # nobody knows that a client will never respond


def test_the_median_client_takes_the_stated_time() -> None:
    found = draw(np.arange(CLIENTS), download=8.0, upload=4.0, latency=0.5)
    # 1 MB down at 8 Mbit/s, 1 MB up at 4, a second of training, half a second each way
    assert abs(found.median_seconds - (1 + 2 + 1 + 1)) < 0.6
    assert found.seconds == found.times.max()


def test_a_server_of_little_bandwidth_is_the_bottleneck() -> None:
    found = draw(np.arange(100), server=16.0)
    assert (found.times >= 100 * 2_000_000 * 8 / 16e6 - 1e-9).all()


def test_whether_a_response_counts_depends_on_no_other_client() -> None:
    everybody, some = np.arange(CLIENTS), np.arange(0, CLIENTS, 7)
    settings = {"available": 0.8, "drop_out": 0.1, "deadline": 4.0}
    assert (draw(everybody, **settings).counted[some] == draw(some, **settings).counted).all()


def test_all_that_were_asked_are_charged(reviews, tmp_path) -> None:
    folder = simulation.start(small_plan(reviews, network=POOR), tmp_path)
    found = entries(folder)
    times = record.select_entries(found, record.NetworkTimes, "run")
    released = record.select_entries(found, record.Released, "run")
    assert [one.clients for one in released] == [one.asked for one in times] == [20] * 6
    assert {one.busiest for one in released} == set(range(1, 7))
    assert sum(one.late + one.dropped + one.unreachable for one in times) > 20
    assert all(one.seconds <= 1.0 for one in times)


def test_the_same_clients_are_missing_with_any_number_of_workers_and_after_a_stop(
    reviews, tmp_path
) -> None:
    job = small_plan(reviews, network=POOR)
    watch = Stops()
    whole = simulation.start(job, tmp_path / "whole", watch)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, tmp_path / "cut", Stops(entry=len(watch.kinds) // 2))
    resumed = simulation.resume(next((tmp_path / "cut").iterdir()))
    one = simulation.start(
        small_plan(reviews, network=POOR, engine={"workers": 1}), tmp_path / "one"
    )
    assert final_hash(whole) == final_hash(resumed) == final_hash(one)


def test_clients_charge_their_own_ledgers_for_responses_that_came_too_late(
    reviews, tmp_path, monkeypatch
) -> None:
    charged: list[int] = []
    charge = Site.refusals

    def note(site: Site, request: Request, claims):
        charged.extend(request.to.tolist())
        return charge(site, request, claims)

    monkeypatch.setattr(Site, "refusals", note)
    job = small_plan(reviews, network={"deadline": 1e-3}, server={"rounds": 1})
    found = entries(simulation.start(job, tmp_path))
    asked = record.select_entries(found, record.NetworkTimes, "run")
    assert [one.late for one in asked] == [20]
    assert sorted(charged) == list(range(20))


def test_distributed_noise_without_enough_clients_loses_the_round(reviews, tmp_path) -> None:
    settings = {
        "codec": {
            "name": "onebit",
            "epsilon": 8.0,
            "delta": 1e-5,
            "clip": 1.0,
            "reporters": 0.7,
        },
        "secure_aggregation": {"helpers": 2},
        "network": {"available": 0.7, "deadline": 60.0},
    }
    found = entries(simulation.start(small_plan(reviews, **settings), tmp_path))
    counted = [
        one.asked - one.unreachable for one in record.select_entries(found, record.NetworkTimes)
    ]
    lost = {
        one.round_no for one in record.select_entries(found, record.Refused) if "lost" in one.reason
    }
    assert lost == {number for number, count in enumerate(counted, 1) if count < 14}
    assert lost


def test_sites_have_a_real_network(reviews) -> None:
    job = small_plan(reviews, network=POOR)
    assert prepare_for_sites(job, simulated_noise=True).network is None
