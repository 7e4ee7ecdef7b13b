"""Several systems in one plan: votes read through words that stay, shared rows beside them, tokens, and a secure sum."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file

from tacit import plan, simulation, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation import prepared_rows
from tests.simulation.small import FILLER, WORDS, small_plan
from tests.simulation.test_filter import finished, harmful, voted
from tests.simulation.test_resume import Stops, told

pytest.importorskip("torch")

CLEAR = {"vote_epsilon": 4.0}
SUMMED = {"votes_epsilon": 20.0, "delta": 1e-3}
SECURE = {
    "codec": {"name": "onebit", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5, "reporters": 0.5},
    "secure_aggregation": {"helpers": 2, "min_clients": 5},
}
SHARE = {
    "rule": "distinct_l",
    "k": 20,
    "l": 2,
    "counts": "global",
    "rows_per_client": 20,
    "generalise": {"income": "suppress"},
}
TOKENS = {"levels": 3, "columns": ["income"], "trained_on": "tokens"}


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    random, lines = np.random.default_rng(1), ["opinion,town,age,income,stars"]
    for _ in range(700):
        label = int(random.integers(0, 2))
        words = [*random.choice(FILLER[:5], 3), *random.choice(WORDS[label], 2)]
        town, age = random.choice(["a", "b", "c"], p=[0.6, 0.37, 0.03]), random.integers(2, 5) * 10
        lines.append(
            f'"{" ".join(words)}",{town},{age},{label * 40 + random.integers(0, 60)},{"up" if label else "down"}'
        )
    path = tmp_path_factory.mktemp("people") / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def job(
    people: Path, votes: dict | None = None, data: dict | None = None, **changes: object
) -> plan.Plan:
    settings = {
        "data": {
            "source": str(people), "clients": 12, "local_test": 0.33,
            "columns": {"text": ["opinion"], "label": "stars", "quasi": ["town", "age"], "numeric": ["income"]}, **(data or {}),
        },
        "features": {"text": "words", "length": 10, "ranges": {"income": [0, 100]}},
        "model": {"name": "bilstm", "hidden": [4], "embedding": 5},
        "local": {"lr": 0.05, "epochs": 2, "batch": 16},
        "private": {"words": "all"},
        "filter": {"lr": 0.2, "batch_rows": 20, "memory": 1.0, **(votes or CLEAR)},
        "codec": {"name": "plain"},
        "server": {"rounds": 2, "evaluate_every": 2, "test_rows": 20, "test_clients": 2},
        "engine": {"workers": 2},
    }  # fmt: skip
    return small_plan(people, **{**settings, **changes})


def all_five(people: Path, **changes: object) -> plan.Plan:
    features = {"text": "words", "length": 10, "ranges": {"income": [0, 100]}, "quantise": TOKENS}
    return job(people, SUMMED, {"share": SHARE}, **{"features": features, **SECURE, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("votes", [CLEAR, SUMMED], ids=["each", "summed"])
def test_votes_read_through_words_that_stay_find_wrong_labels(
    people, tmp_path, monkeypatch, votes
) -> None:
    harmful(monkeypatch, {2, 5, 11})
    secure = {} if votes is CLEAR else SECURE
    rounds = {"rounds": 6, "evaluate_every": 6, "test_rows": 20, "test_clients": 2}
    folder = simulation.start(job(people, votes, server=rounds, **secure), tmp_path)
    assert set(voted(folder)[-1].rejected) == {2, 5, 11}


def test_a_tester_reads_with_the_words_it_had_when_the_round_began(people, tmp_path) -> None:
    planned = job(people, private={"words": "all", "start": "random"})
    data = prepared_rows.prepare(planned, Draws.seeded(3))
    beginning = Draws.seeded(3).at("initial")
    home = training.Home(
        private=planned.private, folder=tmp_path, beginning=beginning, lexicon=data.lexicon
    )
    learner = training.build(planned.model, planned.local, data.train, data.clients, None, home)
    slot, model = ClientSlot(4, 4, ClientRandomness(Draws.seeded(3), 4)), learner.initial(beginning)
    own = data.own.take(np.arange(data.own_clients.starts[4], data.own_clients.starts[5]))
    before = learner.below(model, own.inputs, slot, 1)
    learner.worker().train(model, slot, slot.own.train(1), 1)
    np.testing.assert_array_equal(learner.below(model, own.inputs, slot, 1), before)
    after = learner.below(model, own.inputs, slot, 2)
    assert np.abs(after - before).max() > 0.01
    words = learner.vocabulary(slot, own.inputs)
    worker = learner.worker()
    worker.assemble(model, learner.load_private(slot, words, 2))
    logits = training.append_ones(after) @ learner.head.matrix(model)
    np.testing.assert_allclose(logits, worker.logits(own.inputs, words), atol=1e-5)


def test_all_five_run_in_one_plan(people, tmp_path) -> None:
    folder = simulation.start(all_five(people), tmp_path)
    entries = list(record.read(folder / RECORD))
    (shared,) = record.select_entries(entries, record.DisclosedRows)
    assert 0 < shared.rows < shared.of_rows
    assert "income" not in shared.columns
    assert "income" not in pl.read_parquet(folder / "disclosed_rows.parquet").columns
    assert len(voted(folder)) == 2
    assert not record.select_entries(entries, record.Refused)
    model = load_file(folder / "model.safetensors")
    assert model["words.shared"].size == 0
    assert model["last.weight"].shape == (
        1,
        2 * 4 + 2**3,
    ), "what was read, and a place for each token of one column"
    released = {
        one.exchange: one.promise
        for one in record.select_entries(entries, record.Released)
        if one.round_no == 1
    }
    assert {"heads", "votes", "train"} <= set(released)
    assert (folder / "private" / "run" / "-1").exists(), (
        "the server has words of its own, for the rows it was sent"
    )


@pytest.mark.slow
def test_any_number_of_workers_and_any_stop_give_the_same_model(people, tmp_path) -> None:
    planned = all_five(people, corrupt={"kind": "sign_flip", "clients": 0.25})
    watch = Stops()
    whole = simulation.start(planned, tmp_path / "calm", watch)
    one = dataclasses.replace(planned, engine=dataclasses.replace(planned.engine, workers=1))
    assert (
        finished(simulation.start(one, tmp_path / "one")).parameters_sha256
        == finished(whole).parameters_sha256
    )
    second = [number for number, kind in enumerate(watch.kinds) if kind in ("Voted", "Round")]
    for number in second[1:3]:  # after the first round, and after the votes of the second
        stopped = Stops(number)
        with pytest.raises(KeyboardInterrupt):
            simulation.start(planned, tmp_path / str(number), stopped)
        simulation.resume(stopped.folder)
        assert told(stopped.folder) == told(whole)


def test_a_last_layer_that_stays_cannot_be_voted_on(people, tmp_path) -> None:
    with pytest.raises(PlanError, match="stays with each client, so nobody else can evaluate it"):
        simulation.start(job(people, private={"words": "all", "parameters": ["last.*"]}), tmp_path)


def test_clients_vote_on_rows_of_the_kind_that_they_keep(people: Path) -> None:
    """Held-out rows like released ones are no test rows: contributors never train on such rows."""
    settings = all_five(people)
    data = prepared_rows.prepare(settings, Draws.seeded(settings.seed))
    assert data.disclosure is not None
    flags = data.disclosure.tests
    assert len(flags) == len(data.own)
    assert 0 < flags.sum() < len(flags)
    kept = data.own_clients.select(flags)
    assert (kept.sizes() <= data.own_clients.sizes()).all()
