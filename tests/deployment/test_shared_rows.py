"""Rows that sites disclose, together with what else a plan may have: the model is the simulation's to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit import simulation
from tacit.deployment.bodies import StatisticsBody
from tacit.deployment.server.job import deploy, resume
from tacit.deployment.server.server_side import build_release_schema
from tacit.privacy.policy.user_code import find_user_code
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.disclose_rows import Discloser, DiscloseRows
from tacit.protocol.round import gather
from tacit.runs import run_folder
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.agreements import terms_of
from tests.deployment.local_post import GENEROUS, model_of, owner, rehearsed, sites_of
from tests.simulation.test_job import StopsAt
from tests.slots import slot

SEEN = StatisticsBody(classes=["poor", "rich"], ranges={}, categories={})


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random, rows = np.random.default_rng(0), 600
    age = random.integers(20, 26, rows)
    town = random.choice(["here", "there", "afar"], rows, p=[0.6, 0.3, 0.1])
    work = random.choice(["baker", "smith", "nurse", "judge", "poet"], rows)
    gain = np.where(random.random(rows) < 0.1, random.integers(1, 100, rows) * 10, 0)
    pay = random.normal(0, 0.4, rows) + (age > 22) + (work == "judge") + gain / 500
    label = np.where(pay > 1.0, "rich", "poor")
    path = tmp_path_factory.mktemp("people") / "people.csv"
    least = np.where(np.arange(rows) < 2, 200, 0)
    frame = {"age": age, "town": town, "work": work, "gain": gain, "label": label, "least": least}
    pl.DataFrame(frame).write_csv(path)
    return path


COLUMNS = {"numeric": ["age", "gain"], "text": ["work", "town"], "label": "label", "quasi": ["age"]}
WORDS = {"words": "all", "start": "random", "lr": 0.02}


def job(source: Path, **changes: Any) -> plans.Plan:
    share = {
        "k": 14,
        "server_steps": "as_client",
        "generalise": {"gain": "suppress", "town": "suppress"},
    }
    tree: dict[str, Any] = {
        "name": "people", "seed": 5,
        "data": {"source": str(source), "clients": 6, "test": 0.2, "columns": COLUMNS, "share": {**share, **changes.pop("share", {})}},
        "features": {"text": "words", "length": 4, "ranges": {"age": [20, 26], "gain": [0, 1000]}},
        "model": {"name": "bilstm", "hidden": [3], "embedding": 4},
        "private": WORDS,
        "local": {"optimizer": "adam", "lr": 0.05, "epochs": 1, "batch": 32},
        "codec": {"name": "plain"},
        "server": {"rounds": 3, "weights": "rows"},
    }  # fmt: skip
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if name:
            tree.setdefault(table, {})[name] = value
        else:
            tree[table] = value
    return plans.parse(tree)


GLOBAL = {"counts": "global", "k": 80, "rows_per_client": 40}
SUMMED: dict[str, Any] = {
    "codec": {"name": "onebit", "epsilon": 8.0, "delta": 1e-3, "clip": 1.0, "reporters": 0.5},
    "secure_aggregation": {"helpers": 2, "min_clients": 2},
    "server": {"rounds": 2},
}

OWN_RULE = "tests.deployment.closeness:t_close"

WAYS: dict[str, dict[str, Any]] = {
    "words that stay": {},
    "without words": {
        "features": {"buckets": 64},
        "model": {"name": "mlp", "hidden": [4]},
        "private": {},
    },
    "private parameters": {
        "features": {"buckets": 64},
        "model": {"name": "logistic"},
        "private": {"parameters": ["*bias"]},
    },
    "global counts": {"share": GLOBAL, **SUMMED},
    "global counts of labels": {
        "share": {**GLOBAL, "rule": "distinct_l", "l": 2, "release": "whole_row", "k": 17},
        **SUMMED,
    },
    "global counts by label, and votes": {
        "share": {**GLOBAL, "rule": "label_k", "k": 32},
        "data__local_test": 0.3,
        "filter": {"lr": 0.05, "vote_epsilon": 4.0, "memory": 1.0},
        **SUMMED,
    },
    "all five systems": {
        "share": {**GLOBAL, "rule": "distinct_l", "l": 2, "release": "whole_row", "k": 17},
        "features__quantise": {"columns": ["gain"], "levels": 4, "trained_on": "tokens"},
        "negotiation": {},
        "data__local_test": 0.3,
        "filter": {
            "lr": 0.01,
            "head_scale": 0.5,
            "protect": "record",
            "epsilon": 4.0,
            "clip": 1.0,
            "batch_rows": 40,
            "votes_epsilon": 8.0,
            "delta": 1e-3,
            "memory": 1.0,
        },
        **SUMMED,
    },
    "votes": {
        "data__local_test": 0.3,
        "filter": {"lr": 0.05, "vote_epsilon": 4.0, "memory": 1.0},
        "share": {"k": 10},
    },
    "a k of its own for each client": {"share": {"k": 10, "k_column": "least"}},
    "global counts, each client's own k": {
        "share": {**GLOBAL, "k": 70, "k_column": "least"},
        **SUMMED,
    },
    "a rule of one's own": {"share": {"rule": OWN_RULE, "k": 10, "rule_settings": {"t": 0.25}}},
    "global counts, a rule of one's own": {
        "share": {**GLOBAL, "k": 40, "rule": OWN_RULE, "rule_settings": {"t": 0.22}},
        **SUMMED,
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_leave(people: Path, tmp_path: Path, way: str) -> None:
    pytest.importorskip("torch")
    settings = job(people, **WAYS[way])
    listed = [str(one) for one in find_user_code(settings)]
    policy = GENEROUS.replace("[allow]", f"[allow]\nuser_code = {listed}")
    simulated, deployed = rehearsed(settings, tmp_path, policy)
    assert deployed == simulated
    run = tmp_path / "deployed" / "people-1"
    left = pl.read_parquet(run / run_folder.DISCLOSED)
    assert 50 < left.height < 400
    assert left.columns == ["age", "work", "label"]
    trained = run / "private" / "run" / "-1"
    assert trained.exists() == (way != "without words")


def test_a_suppressed_column_is_not_taken_from_a_site(people: Path) -> None:
    """A site that sends it by mistake would show what its owner's plan hides."""
    plan = job(people)
    exchange = DiscloseRows(plan.name, build_release_schema(plan, terms_of(seen=SEEN)))
    assert list(exchange.schema) == ["age", "work", "label"]
    rows = pl.DataFrame({"age": [20.0], "gain": [10.0], "work": ["poet"], "label": ["rich"]})
    for frame, taken in ((rows.drop("gain"), 1), (rows, 0)):
        message = exchange.respond(Discloser(slot(0), frame, 1), None)  # type: ignore[arg-type]
        found = gather(exchange, Intake(range(1), 0, 100, least_weight=0), [message])
        assert (len(found.total.arrived), len(found.refused)) == (taken, 1 - taken)


def test_the_servers_words_are_those_of_the_round_after_a_resume(
    people: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    plan = job(people)
    simulated = simulation.start(plan, tmp_path / "simulated")
    ready = prepare_rehearsal(plan, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    watch, sites = StopsAt(2), sites_of(owners)
    with pytest.raises(KeyboardInterrupt):
        deploy(
            ready.plan, sites, tmp_path / "runs", watch, test=str(ready.test), simulated_noise=True,
            identity=ready.identity,
        )  # fmt: skip
    place = tmp_path / "runs" / "people-1"
    assert model_of(resume(place, sites)) == model_of(simulated)
