"""The same plan between three sites, each with a policy and a ledger, ends in the simulator's exact model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import plan as plans
from tacit import report, simulation
from tacit.deployment.server.job import deploy
from tacit.plan.kinds import OWN, tables_in
from tacit.plan.tables import server as server_table
from tacit.protocol.messages.signed_message import read
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import model_of, owner, rehearsed, sites_of
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_disclosure import job as disclosing_plan
from tests.simulation.test_disclosure import people  # noqa: F401 (a fixture)
from tests.simulation.worded import worded_plan

CODECS = {
    "plain": {"name": "plain"},
    "rr": {"name": "rr", "epsilon": 2, "clip": 0.02},
    "rr_sampled": {"name": "rr_sampled", "epsilon": 60, "clip": 0.02},
    "rqm": {"name": "rqm", "clip": 0.02, "margin": 0.02, "levels": 6, "coordinates": 50},
    "gaussian": {"name": "gaussian", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
    "dp_sum": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
    "onebit": {"name": "onebit", "epsilon": 4.0, "delta": 1e-3, "clip": 0.5},
    "skellam": {"name": "skellam", "epsilon": 4.0, "delta": 1e-3, "clip": 0.5},
    "projunit": {"name": "projunit", "epsilon": 4.0, "clip": 0.5},
    "qsgd": {"name": "qsgd"},
}
COUNTED_ALIKE = ("dp_sum", "onebit", "skellam")
ONE_SUM = ("onebit", "skellam")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def test_no_codec_is_left_out() -> None:
    assert {*CODECS, "hashcomb"} == set(tables_in(plans.Codec)) - {OWN}


@pytest.mark.parametrize(
    ("codec", "sum_at"),
    [
        *((codec, "server") for codec in CODECS),
        *((codec, "site") for codec in CODECS if codec not in ONE_SUM),
    ],
)
def test_codecs(reviews, tmp_path, codec, sum_at) -> None:
    weights = "equal" if codec in COUNTED_ALIKE else "rows"
    server = {
        "rounds": 3,
        "weights": weights,
        "cohort": "count",
        "cohort_size": 11,
        "sum_at": sum_at,
    }
    simulated, deployed = rehearsed(
        small_plan(reviews, codec=CODECS[codec], server=server), tmp_path
    )
    assert deployed == simulated


INTEGERS = ("rr", "rr_sampled", "rqm", "projunit", "gaussian", "dp_sum")


@pytest.mark.parametrize("codec", [*INTEGERS, "plain", "qsgd", "banded"])
def test_sites_with_many_clients_add_up_by_themselves(
    reviews, tmp_path, monkeypatch, codec
) -> None:
    """Where sums are of integers; the model is the simulator's, and the claim of the record says so."""
    monkeypatch.setattr(server_table, "LEAST_CLIENTS_PER_SITE", 6)
    more = WAYS["noise over rounds"] if codec == "banded" else {"codec": CODECS[codec]}
    job = small_plan(reviews, **{"server": {"rounds": 2}, **more})
    one = simulation.start(job, tmp_path / "simulated")
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners)
    place = deploy(
        ready.plan, sites, tmp_path / "runs", test=str(ready.test), simulated_noise=True,
        identity=ready.identity,
    )  # fmt: skip
    assert model_of(place) == model_of(one)
    sums = ", added up at the client's site"
    claims = [
        entry.claim["mechanism"]
        for entry in record.select_entries(list(record.read(place / RECORD)), record.Released)
        if entry.exchange == "train"
    ]
    assert claims
    assert {claim.endswith(sums) for claim in claims} == {codec not in ("plain", "qsgd")}
    stated = report.summarise(list(record.read(place / RECORD))).privacy.statement
    assert "every unprotected update" not in stated
    assert ("the sum of each site's updates" in stated) == (codec in ("dp_sum", "banded"))


@pytest.mark.parametrize(
    "more",
    [
        {"server": {"rule": "median"}},
        {"server": {"sum_at": "server"}},
        {"secure_aggregation": {"helpers": 1}},
        {"codec": CODECS["onebit"]},
    ],
)
def test_plans_that_need_single_responses_do_not(reviews, more) -> None:
    job = small_plan(reviews, **more)
    assert not plans.sums_at_site(job, 10_000, 3)
    assert not plans.sums_at_site(small_plan(reviews), 299, 3)
    assert plans.sums_at_site(small_plan(reviews), 300, 3)
    assert not plans.sums_at_site(small_plan(reviews), 300, None)


@pytest.mark.parametrize("codec", ["plain", "rr", "dp_sum"])
def test_one_client_per_site(reviews, tmp_path, codec) -> None:
    simulated, deployed = rehearsed(
        small_plan(reviews, codec=CODECS[codec], data__clients=3, server__rounds=2), tmp_path
    )
    assert deployed == simulated


def test_counts_and_ngrams_weighed_by_a_public_list(reviews, tmp_path) -> None:
    (tmp_path / "words.txt").write_text("the\nfilm\ngood\nbad")
    chosen = {
        "words": "unicode",
        "buckets": 200,
        "counts": "sublinear",
        "ngrams": 2,
        "characters": [3, 5],
        "rarity": 0.3,
    }
    chosen["list"] = str(tmp_path / "words.txt")
    simulated, deployed = rehearsed(
        small_plan(reviews, codec=CODECS["rr"], features=chosen, server={"rounds": 2}), tmp_path
    )
    assert deployed == simulated


FILTER = {"lr": 0.5, "vote_epsilon": 4.0}
VOTING = {
    "source": "",
    "clients": 9,
    "local_test": 0.3,
    "columns": {"text": ["opinion"], "label": "stars"},
}
WAYS = {
    "hashcomb": {"codec": {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 10}},
    "noise by helpers": {
        "codec": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}, "secure_aggregation": {"helpers": 2},
    },
    "secure sum": {"codec": CODECS["rr"], "secure_aggregation": {"helpers": 1}},
    "secure sum against quantum computers": {"codec": CODECS["onebit"], "secure_aggregation": {"helpers": 2, "post_quantum": True}},
    "noise over rounds": {
        "codec": {**CODECS["dp_sum"], "noise": "banded"}, "ledger": {"participations": 2, "separation": 2},
        "server": {"rounds": 4, "cohort": "count", "cohort_size": 10},
    },
    "clients that have spent enough, secure sum": {
        "codec": CODECS["rr"], "secure_aggregation": {"helpers": 1, "min_clients": 2}, "ledger": {"epsilon": 10_000.0},
        "server": {"rounds": 4, "cohort": "count", "cohort_size": 11},
    },
    "votes added up": {
        "filter": {"lr": 0.5, "votes_epsilon": 8.0, "delta": 1e-3}, "data": VOTING, "model": {"name": "logistic"},
        "codec": CODECS["dp_sum"], "secure_aggregation": {"helpers": 2, "min_clients": 2},
    },
    "votes": {"filter": FILTER, "data": VOTING, "codec": {"name": "plain"}, "model": {"name": "logistic"}},
    "votes on two layers": {
        "filter": {**FILTER, "layers": 2, "batch": 8}, "data": VOTING, "codec": {"name": "plain"},
        "model": {"name": "mlp", "hidden": [4]},
    },
    "votes on what is averaged": {
        "filter": {**FILTER, "aggregate": "heads"}, "data": VOTING, "codec": {"name": "plain"}, "model": {"name": "logistic"},
    },
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_ways(reviews, tmp_path, way) -> None:
    changes = {
        key: {**value, "source": str(reviews)} if key == "data" else value
        for key, value in WAYS[way].items()
    }
    simulated, deployed = rehearsed(
        small_plan(reviews, **{"server": {"rounds": 3}, **changes}), tmp_path
    )
    assert deployed == simulated


def test_clients_do_drop_out_where_they_have_spent_enough(reviews, tmp_path) -> None:
    place = simulation.start(
        small_plan(reviews, **WAYS["clients that have spent enough, secure sum"]), tmp_path
    )
    lost = record.select_entries(list(record.read(place / RECORD)), record.Refused)
    assert {one.round_no for one in lost} == {3, 4}
    assert all("its own ledger allows epsilon 10000 per run" in one.reason for one in lost)


@pytest.mark.parametrize("codec", ["rr", "onebit"])
def test_a_secure_aggregation_is_that_of_the_sites_that_are_there(reviews, tmp_path, codec) -> None:
    """A site that is no helper goes silent after the first round; the sum is exactly the plain sum over the others."""
    models = []
    for place, secure in (("plain", None), ("secure", {"helpers": 2, "min_clients": 2})):
        settings = {**CODECS[codec], **({"reporters": 0.6} if codec == "onebit" else {})}
        job = small_plan(
            reviews,
            codec=settings,
            server={"rounds": 3},
            **({"secure_aggregation": secure} if secure else {}),
        )
        ready = prepare_rehearsal(job, tmp_path / place / "rows", 3)
        owners = [
            owner(name, file, tmp_path / place / name)
            for name, file in zip("abc", ready.files, strict=True)
        ]
        sites = sites_of(owners, min_sites=2, deadline=0.2)
        sites.transport.spoil = lambda site, reply: (
            None if site == "c" and read(reply).subject.round_no > 1 else reply
        )  # type: ignore[attr-defined]
        run = deploy(
            ready.plan,
            sites,
            tmp_path / place / "runs",
            test=str(ready.test),
            simulated_noise=True,
            identity="same",
        )
        lost = [
            one
            for one in record.select_entries(list(record.read(run / RECORD)), record.SiteMissing)
            if one.exchange == "train"
        ]
        assert [(one.round_no, one.site) for one in lost] == [(2, "c"), (3, "c")]
        models.append(model_of(run))
    assert models[0] == models[1]


def test_shared_rows(people, tmp_path) -> None:  # noqa: F811
    simulated, deployed = rehearsed(disclosing_plan(people, server__rounds=3), tmp_path)
    assert deployed == simulated


@pytest.mark.slow
def test_private_tables(reviews, tmp_path) -> None:
    pytest.importorskip("torch")
    job = worded_plan(reviews, server={"rounds": 3, "cohort": "count", "cohort_size": 4})
    simulated, deployed = rehearsed(job, tmp_path)
    assert deployed == simulated


def test_votes_where_words_stay(reviews, tmp_path) -> None:
    pytest.importorskip("torch")
    data = {**VOTING, "source": str(reviews)}
    simulated, deployed = rehearsed(
        worded_plan(reviews, data=data, filter=FILTER, server={"rounds": 2}), tmp_path
    )
    assert deployed == simulated


def test_votes_on_two_layers_where_words_stay(reviews, tmp_path) -> None:
    data, votes = {**VOTING, "source": str(reviews)}, {**FILTER, "layers": 2, "testers": 2}
    simulated, deployed = rehearsed(
        worded_plan(reviews, data=data, filter=votes, server={"rounds": 1}), tmp_path
    )
    assert deployed == simulated
