"""Votes on any last part of a model: harmful clients are rejected, and refusals name the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit import simulation
from tacit.errors import PlanError
from tacit.plan import Plan
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_filter import voted

TEXT = {"text": ["opinion"], "label": "stars"}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", rows=900)


def job(reviews: Path, model: dict[str, Any], **votes: Any) -> Plan:
    return small_plan(
        reviews,
        data={"source": str(reviews), "clients": 15, "columns": TEXT, "local_test": 0.33},
        filter={"lr": 0.5, **votes},
        codec={"name": "plain"},
        model=model,
        corrupt={"kind": "sign_flip", "clients": 0.2},
        engine={"workers": 1},
        server__rounds=2,
    )


MODELS: dict[str, dict[str, Any]] = {
    "two layers": {"model": {"name": "mlp", "hidden": [6]}, "layers": 2},
    "two layers, noise per row": {
        "model": {"name": "mlp", "hidden": [6]}, "layers": 2, "head_scale": 0.5,
        "protect": "record", "epsilon": 8.0, "delta": 1e-3, "clip": 1.0, "batch_rows": 40,
    },
    "mini-batches": {"model": {"name": "logistic"}, "batch": 10, "epochs": 2},
    "mini-batches, noise per row": {
        "model": {"name": "logistic"}, "batch": 20, "epochs": 2, "batch_rows": 40,
        "protect": "record", "epsilon": 8.0, "delta": 1e-3, "clip": 1.0,
    },
    "no bias": {"model": {"name": "logistic", "bias": False}},
    "the layers are averaged": {
        "model": {"name": "mlp", "hidden": [6]}, "layers": 2, "aggregate": "heads",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_harmful_clients_are_rejected(reviews, tmp_path, name) -> None:
    folder = simulation.start(job(reviews, **MODELS[name]), tmp_path)
    bad = set(simulated_bad(folder))
    found = voted(folder)[-1]
    assert set(found.rejected) >= bad
    assert len(found.rejected) <= len(bad) + 2


def simulated_bad(folder: Path) -> list[int]:
    from tacit.runs import record
    from tacit.runs.run_folder import RECORD

    return record.select_entries(list(record.read(folder / RECORD)), record.Corrupted)[0].clients


@pytest.mark.parametrize(
    ("model", "most"),
    [({"name": "mlp", "hidden": [6]}, 2), ({"name": "lstm_step", "units": 4}, 1)],
)
def test_more_layers_than_there_are_is_refused(reviews, tmp_path, model, most) -> None:
    with pytest.raises(PlanError, match=rf"filter\.layers must be at most {most}, .*got 9"):
        simulation.start(job(reviews, model, layers=9), tmp_path)
