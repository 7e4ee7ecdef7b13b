"""A server that chooses the projection of images: sites accept only what the plan implies, and build nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit.deployment.bodies import Terms, pack, unpack
from tacit.deployment.shared_projection import ProjectionBody
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import WireError
from tacit.features import Projection
from tests.deployment.agreements import terms_of
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import owner

PIXELS = 16


def body(directions: int = 2, width: int = PIXELS, value: float = 0.5) -> ProjectionBody:
    matrix = np.full((directions + 1, width), value, np.float32)
    return ProjectionBody.of(Projection(centre=matrix[0], directions=matrix[1:]))


def server_of(folder: Path, **features: Any) -> tuple[HostileServer, list[str]]:
    random, told = np.random.default_rng(0), list[str]()
    images = random.integers(0, 255, (60, PIXELS)).astype(np.uint8)
    frame = pl.DataFrame({"client": np.arange(60) % 6, "image": images, "label": np.arange(60) % 2})
    frame.write_parquet(folder / "rows.parquet")
    tree = {
        "data": {
            "source": "given",
            "test": 0.0,
            "columns": {"client": "client", "image": "image", "label": "label"},
        },
        "features": features,
        "model": {"name": "logistic"},
        "codec": {"name": "plain"},
        "server": {"rounds": 2},
    }
    if features:
        tree["public"] = {"source": "own.parquet"}
    site = OwnerSite(owner("a", folder / "rows.parquet", folder / "a", tell=told.append))
    return HostileServer(site, plans.parse(tree)), told


def test_a_projection_of_the_plans_shape_is_accepted(tmp_path: Path) -> None:
    server, _ = server_of(tmp_path, project=2)
    opened = server.open()
    assert opened
    begun = server.begin(opened, projection=body())
    assert begun
    assert begun.dim == 3  # two directions and a bias


BAD = {
    "none": (None, "the terms have no projection"),
    "more directions": (body(directions=3), "the terms have one with 3 directions"),
    "another width": (body(width=9), "takes 9 numbers, and an image has 16"),
    "not finite": (body(value=float("nan")), "not finite"),
    "overflowing": (body(value=1e38), "not finite or above 1e+12"),
    "torn": (ProjectionBody(rows=3, values=bytes(40)), "do not make 3 rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_another_one_is_refused_before_a_model_is_built(tmp_path: Path, case: str) -> None:
    projection, sentence = BAD[case]
    server, told = server_of(tmp_path, project=2)
    opened = server.open()
    assert opened
    assert server.begin(opened, projection=projection) is None
    assert server.status == "terms"
    assert any(sentence in one for one in told), told


def test_a_plan_that_projects_nothing_has_none(tmp_path: Path) -> None:
    server, told = server_of(tmp_path)
    opened = server.open()
    assert opened
    assert server.begin(opened, projection=body()) is None
    assert any("features.project = None" in one for one in told)


def test_terms_bind_the_projection() -> None:
    """Two sites that received different projections confirm different digests."""
    one, other = (pack(terms_of(projection=body(value=value))) for value in (0.5, 0.25))
    assert one != other
    assert unpack(one, Terms).projection == body()
    with pytest.raises(WireError):
        unpack(one.replace(b"rows", b"rovs"), Terms)
