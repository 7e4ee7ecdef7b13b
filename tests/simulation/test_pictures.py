"""Runs on pictures: a small vision transformer in every regime, and rows that a frozen network has
read.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit import plan, simulation
from tacit.assembly import feature_sources
from tacit.errors import PlanError
from tacit.features import Fitted
from tacit.runs import record, run_folder
from tacit.runs.record import Prepared, Round

pytest.importorskip("torch")


@pytest.fixture
def bars(tmp_path: Path) -> Path:
    """Pictures of 8 by 8 with a bright bar, upright or lying, in noise."""
    random = np.random.default_rng(0)
    upright = random.integers(0, 2, 240)
    images = random.integers(0, 90, (240, 8, 8))
    for image, label, at in zip(images, upright, random.integers(0, 8, 240), strict=True):
        (image.T if label else image)[at] = 250
    frame = pl.DataFrame({"picture": images.reshape(240, 64).astype(np.uint8), "upright": upright})
    frame.write_parquet(tmp_path / "bars.parquet")
    return tmp_path / "bars.parquet"


def job(source: Path, **tables: object) -> plan.Plan:
    tree = {
        "seed": 1,
        "data": {
            "source": str(source),
            "clients": 4,
            "columns": {"image": "picture", "label": "upright"},
        },
        "model": {"name": "vit", "patch": 4, "width": 16, "layers": 1, "heads": 2},
        "local": {"lr": 0.01, "epochs": 4, "batch": 16},
        "codec": {"name": "plain"},
        "server": {"rounds": 5},
        **tables,
    }
    return plan.parse(tree)


def last(folder: Path) -> float:
    return record.select_entries(list(run_folder.entries(folder)), Round)[-1].metrics["accuracy"]


def test_a_vision_transformer_learns_together_and_in_one_place(bars: Path, tmp_path: Path) -> None:
    folder = simulation.start(job(bars), tmp_path / "runs")
    assert last(folder) > 0.8
    tensors = run_folder_tensors(folder)
    assert tensors["head.weight"].shape == (1, 16)
    assert tensors["places"].shape == (4, 16)
    central = simulation.start(job(bars, regime="central"), tmp_path / "central")
    assert last(central) > 0.8


def run_folder_tensors(folder: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(folder / run_folder.MODEL)


def test_layers_begin_with_weights_of_their_own() -> None:
    from tacit.training.modules.networks import VisionTransformer

    network = VisionTransformer(plan.ViT(), 784, 10)
    first, second = (network.layers[number].linear1.weight for number in (0, 1))
    assert (first != second).any()
    assert 90_000 < sum(parameter.numel() for parameter in network.parameters()) < 120_000


@pytest.mark.parametrize(("patch", "got"), [(3, "a side of 8 pixels"), (5, "a side of 8 pixels")])
def test_patches_that_do_not_fit_are_refused(
    bars: Path, tmp_path: Path, patch: int, got: str
) -> None:
    with pytest.raises(
        PlanError,
        match=rf"model.patch = {patch} must divide the side of square images, but the rows have {got}",
    ):
        simulation.start(job(bars, model={"name": "vit", "patch": patch}), tmp_path)


def test_a_run_trains_on_what_a_frozen_network_reads(
    bars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Strongest:
        """Reads the largest sums over rows and over columns: a bar is as clear as day."""

        width = 2

        def __call__(self, seen: np.ndarray) -> np.ndarray:
            images = seen.reshape(-1, 8, 8) / 2000
            return np.stack([images.sum(1).max(1), images.sum(2).max(1)], axis=1).astype(np.float32)

    monkeypatch.setattr(feature_sources, "get_weights_folder", lambda *_: tmp_path)
    monkeypatch.setattr("tacit.features.frozen.build_frozen_reader", lambda *_: Strongest())
    chosen = job(
        bars,
        features={"image": "efficientnet_lite0"},
        model={"name": "logistic"},
        local={"lr": 0.2, "epochs": 4, "batch": 16},
    )
    folder = simulation.start(chosen, tmp_path / "runs")
    assert record.select_entries(list(run_folder.entries(folder)), Prepared)[0].inputs == 2
    assert last(folder) > 0.95


def test_a_projection_is_fitted_on_the_rows_at_the_center(bars: Path, tmp_path: Path) -> None:
    chosen = job(
        bars,
        features={"project": 20, "standardise": True},
        model={"name": "logistic"},
        public={"share": 0.2},
    )
    folder = simulation.start(chosen, tmp_path)
    assert record.select_entries(list(run_folder.entries(folder)), Prepared)[0].inputs == 20
    kept = Fitted.from_dict(json.loads((folder / "model.json").read_text())["fitted"])
    assert kept.projection is not None
    assert (kept.projection.directions.shape, kept.released) == ((20, 64), ())
