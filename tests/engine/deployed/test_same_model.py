"""The same plan between three sites, each with a policy and a ledger, ends in the simulator's exact model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.deployed.local_post import rehearsed
from tests.engine.small import small_plan, write_csv
from tests.engine.test_disclosure import job as disclosing_plan
from tests.engine.test_disclosure import people  # noqa: F401 (a fixture)
from tests.engine.worded import worded_plan

CODECS = {
    "plain": {"name": "plain"},
    "rr": {"name": "rr", "epsilon": 2, "clip": 0.02},
    "rr_sampled": {"name": "rr_sampled", "epsilon": 60, "clip": 0.02},
    "rqm": {"name": "rqm", "clip": 0.02, "margin": 0.02, "levels": 6, "coordinates": 50},
    "gaussian": {"name": "gaussian", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
    "dp_sum": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.mark.parametrize("sum_at", ["server", "site"])
@pytest.mark.parametrize("codec", CODECS)
def test_codecs(reviews, tmp_path, codec, sum_at) -> None:
    weights = "equal" if codec == "dp_sum" else "rows"
    server = {"rounds": 3, "weights": weights, "cohort": "count", "cohort_size": 11, "sum_at": sum_at}
    simulated, deployed = rehearsed(small_plan(reviews, codec=CODECS[codec], server=server), tmp_path)
    assert deployed == simulated


@pytest.mark.parametrize("codec", ["plain", "rr", "dp_sum"])
def test_one_client_per_site(reviews, tmp_path, codec) -> None:
    simulated, deployed = rehearsed(small_plan(reviews, codec=CODECS[codec], data__clients=3, server__rounds=2), tmp_path)
    assert deployed == simulated


FILTER = {"lr": 0.5, "vote_epsilon": 4.0}
VOTING = {"source": "", "clients": 9, "local_test": 0.3, "columns": {"text": ["opinion"], "label": "stars"}}
WAYS = {
    "hashcomb": {"codec": {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 10}},
    "noise by helpers": {
        "codec": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}, "secure_sum": {"helpers": 2},
    },
    "secure sum": {"codec": CODECS["rr"], "secure_sum": {"helpers": 1}},
    "votes": {"filter": FILTER, "data": VOTING, "codec": {"name": "plain"}, "model": {"name": "logistic"}},
    "votes on what is averaged": {
        "filter": {**FILTER, "aggregate": "heads"}, "data": VOTING, "codec": {"name": "plain"}, "model": {"name": "logistic"},
    },
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_ways(reviews, tmp_path, way) -> None:
    changes = {key: {**value, "source": str(reviews)} if key == "data" else value for key, value in WAYS[way].items()}
    simulated, deployed = rehearsed(small_plan(reviews, **{**changes, "server": {"rounds": 3}}), tmp_path)
    assert deployed == simulated


def test_shared_rows(people, tmp_path) -> None:  # noqa: F811
    simulated, deployed = rehearsed(disclosing_plan(people, server__rounds=3), tmp_path)
    assert deployed == simulated


def test_private_tables(reviews, tmp_path) -> None:
    pytest.importorskip("torch")
    job = worded_plan(reviews, server={"rounds": 3, "cohort": "count", "cohort_size": 4})
    simulated, deployed = rehearsed(job, tmp_path)
    assert deployed == simulated


def test_votes_where_words_stay(reviews, tmp_path) -> None:
    pytest.importorskip("torch")
    data = {**VOTING, "source": str(reviews)}
    simulated, deployed = rehearsed(worded_plan(reviews, data=data, filter=FILTER, server={"rounds": 2}), tmp_path)
    assert deployed == simulated
