"""Runs on quantised columns: in one place, in rounds, by each client alone, and after a stop."""

import json
from pathlib import Path

import numpy as np
import pytest

from tacit import plan, simulation
from tacit.errors import TacitError
from tacit.privacy import ledger
from tacit.privacy.statement.unprotected import list_unprotected
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.prepared_rows import prepare
from tests.simulation.test_hashcomb import digest
from tests.simulation.test_resume import stopped

TOKENS = {"levels": 4, "trained_on": "tokens"}
COINS = {"levels": 8, "selection": "last_head", "mean_level": 5.0}


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    random = np.random.default_rng(0)
    rows = random.uniform(0, 1, (600, 3)) * [100, 8, 1]
    lines = [
        f"{a:.3f},{b:.4f},{c:.4f},{'yes' if a / 100 + b / 8 > 1 else 'no'}" for a, b, c in rows
    ]
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text("\n".join(["age,pay,noise,y", *lines]) + "\n", encoding="utf-8")
    return path


def job(source: Path, quantise: dict | None, **changes: object) -> plan.Plan:
    tree = {
        "name": "columns", "seed": 2, "data": {"source": str(source), "clients": 6,
        "columns": {"numeric": ["age", "pay", "noise"], "label": "y"}},
        "features": {
            "ranges": {"age": [0, 100], "pay": [0, 8], "noise": [0, 1]}, "missing": [],
            **({"quantise": quantise} if quantise else {}),
        },
        "model": {"name": "mlp", "hidden": [16]}, "local": {"lr": 0.2, "epochs": 5, "batch": 16}, "codec": {"name": "plain"},
        "server": {"rounds": 8, "weights": "rows"}, **changes,
    }  # fmt: skip
    return plan.parse(tree)


@pytest.mark.parametrize("regime", ["central", "federated", "local_only"])
@pytest.mark.parametrize("quantise", [TOKENS, COINS, {"levels": 8}], ids=str)
def test_every_regime_trains_on_quantised_columns(people, tmp_path, quantise, regime) -> None:
    rounds = {"rounds": 20 if regime == "central" else 4, "weights": "rows"}
    folder = simulation.start(job(people, quantise, regime=regime, server=rounds), tmp_path)
    finished = record.select_entries(list(record.read(folder / RECORD)), record.Finished, "run")[-1]
    assert finished.metrics["accuracy"] > 0.7, "half of the rows are of each label"


def test_central_training_says_who_was_handed_what(people, tmp_path) -> None:
    told = {}
    for name, quantise in (
        ("tokens", TOKENS),
        ("midpoints", {"levels": 4, "columns": ["age"]}),
        ("none", None),
    ):
        asked = job(people, quantise, regime="central", server={"rounds": 1})
        entries = list(record.read(simulation.start(asked, tmp_path) / RECORD))
        told[name] = next(
            one.promise
            for one in record.select_entries(entries, record.Released)
            if one.exchange == "train"
        )
        account = ledger.charge(ledger.Account(), (told[name],), 1, uses=1)
        left = " ".join(list_unprotected(account, [], plan.dump(asked)))
        assert ("a reader of the rows sees equal tokens" in left) == (name == "tokens")
        assert ("sees the channel of each number" in left) == (name == "midpoints")
    assert told["none"].mechanism == "all rows in one place"
    assert (
        told["tokens"].mechanism
        == "all rows in one place, with all numbers as keyed tokens of up to 2^4 channels, the same"
        " in all rows; not differentially private"
    )
    assert (
        "the columns age as mid-points of up to 2^4 channels; not differentially private"
        in told["midpoints"].mechanism
    )
    assert (
        "that nobody gives the clients' secret to the party that holds the rows"
        in told["tokens"].trust
    )
    assert told["midpoints"].trust == told["none"].trust


def test_a_stopped_run_goes_on_and_other_channels_are_refused(people, tmp_path) -> None:
    asked = job(people, TOKENS)
    whole = simulation.start(asked, tmp_path / "whole")
    folder = stopped(asked, tmp_path / "stopped")
    written = (folder / "plan.toml").read_text(encoding="utf-8")
    (folder / "plan.toml").write_text(written.replace("levels = 4", "levels = 5"), encoding="utf-8")
    with pytest.raises(TacitError, match="plan"):
        simulation.resume(folder)
    (folder / "plan.toml").write_text(written, encoding="utf-8")
    simulation.resume(folder)
    assert digest(folder) == digest(whole)


def test_neither_the_secret_nor_a_range_of_rows_is_kept_with_the_model(people, tmp_path) -> None:
    asked = job(people, TOKENS, server={"rounds": 1})
    folder = simulation.start(asked, tmp_path)
    secret = Draws.seeded(asked.seed).sealed("clients").key
    kept = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert not any(secret in some or secret.hex().encode() in some for some in kept)
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert facts["fitted"]["secret_check"]
    assert facts["fitted"]["released"] == []
    assert facts["features"]["quantise"]["levels"] == 4
    assert prepare(asked, Draws.seeded(asked.seed)).fitted.to_dict() == facts["fitted"]
