"""A server with rows of its own: the first model and the projection of images come from them, between sites as in a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.deployment.local_post import rehearsed

PUBLIC = {"share": 0.1, "epochs": 4, "batch": 16, "optimizer": "sgd", "lr": 0.05}


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of 6 by 6 with a bright bar, upright or lying, in noise."""
    random = np.random.default_rng(0)
    upright = random.integers(0, 2, 300)
    images = random.integers(0, 90, (300, 6, 6))
    for image, label, at in zip(images, upright, random.integers(0, 6, 300), strict=True):
        (image.T if label else image)[at] = 250
    frame = pl.DataFrame({"picture": images.reshape(300, 36).astype(np.uint8), "upright": upright})
    path = tmp_path_factory.mktemp("data") / "bars.parquet"
    frame.write_parquet(path)
    return path


def lazyinf(source: Path, **tables: Any) -> plans.Plan:
    tree = {
        "name": "bars", "seed": 4,
        "data": {"source": str(source), "clients": 9, "local_test": 0.333, "columns": {"image": "picture", "label": "upright"}},
        "public": {**PUBLIC, "last_layer": "zero"},
        "features": {"project": 5, "row_norm": 10.0},
        "model": {"name": "logistic"},
        "local": {"optimizer": "sgd", "lr": 0.02, "batch": 5},
        "codec": {"name": "plain"},
        "filter": {"lr": 0.001, "vote_epsilon": 1.6, "testers": 5, "memory": 1.0, "rule": "self_tuned"},
        "server": {"rounds": 3},
        **tables,
    }  # fmt: skip
    return plans.parse(tree)


PROJECTIONS: dict[str, dict[str, Any]] = {
    "principal components": {"project": 5, "row_norm": 10.0},
    "directions between classes": {"project": 1, "directions": "classes", "standardise": True},
}


@pytest.mark.parametrize("features", PROJECTIONS)
def test_votes_on_projected_images_after_a_warm_start(
    bars: Path, tmp_path: Path, features: str
) -> None:
    simulated, deployed = rehearsed(lazyinf(bars, features=PROJECTIONS[features]), tmp_path)
    assert deployed == simulated
    started = [
        record.select_entries(list(record.read(place / RECORD)), record.WarmStarted)
        for place in (tmp_path / "simulated" / "bars-1", tmp_path / "deployed" / "bars-1")
    ]
    assert started[0] == started[1]
    assert started[0][0].rows == 24
    assert [*(tmp_path / "sites").glob("*/models/*/model.safetensors")]


def test_a_file_of_public_rows_is_used_as_a_whole(bars: Path, tmp_path: Path) -> None:
    """A fifth of it was held out as test rows that nobody used."""
    pl.read_parquet(bars).head(50).write_parquet(tmp_path / "own.parquet")
    public = {**PUBLIC, "share": 1.0, "source": str(tmp_path / "own.parquet")}
    simulated, deployed = rehearsed(lazyinf(bars, public=public), tmp_path)
    assert deployed == simulated
    entries = list(record.read(tmp_path / "deployed" / "bars-1" / RECORD))
    assert record.select_entries(entries, record.WarmStarted)[0].rows == 50
