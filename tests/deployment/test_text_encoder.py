"""Sites whose texts are read by a frozen encoder: they compare its files by hash, and the run equals a simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit.deployment.bodies import StatisticsBody
from tacit.deployment.server.compare_sites import check_sites_agree
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import RunError
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner, rehearsed

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.text_networks import WORDS, write_text_network


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))


def write_rows(folder: Path) -> Path:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 120)
    texts = [" ".join([*random.choice(WORDS, 5), "good" if label else "bad"]) for label in labels]
    path = folder / "rows.parquet"
    pl.DataFrame({"client": np.arange(120) % 12, "note": texts, "liked": labels}).write_parquet(
        path
    )
    return path


def build_plan(source: Path, network: Path) -> plans.Plan:
    tree = {
        "name": "notes", "seed": 4,
        "data": {"source": str(source), "clients": 9, "columns": {"text": ["note"], "label": "liked"}},
        "features": {"text": "encoder", "encoder": str(network), "length": 20},
        "model": {"name": "logistic"},
        "local": {"optimizer": "sgd", "lr": 0.5, "batches": 1},
        "codec": {"name": "plain"},
        "server": {"rounds": 2},
    }  # fmt: skip
    return plans.parse(tree)


def test_a_run_between_sites_equals_a_simulation(tmp_path: Path) -> None:
    network = write_text_network(tmp_path / "network")
    simulated, deployed = rehearsed(build_plan(write_rows(tmp_path), network), tmp_path)
    assert deployed == simulated


def serve(tmp_path: Path, policy: str = GENEROUS) -> tuple[HostileServer, list[str]]:
    told: list[str] = []
    network = write_text_network(tmp_path / "network")
    site = OwnerSite(owner("a", write_rows(tmp_path), tmp_path / "a", policy, tell=told.append))
    tree = plans.dump(build_plan(Path("given"), network))
    tree["data"] = {"source": "given", "test": 0.0, "columns": {"client": "client", "text": ["note"], "label": "liked"}}  # fmt: skip
    return HostileServer(site, plans.parse(tree)), told


@pytest.mark.parametrize("digest", ["", "0" * 32])
def test_terms_with_another_encoder_are_refused(tmp_path: Path, digest: str) -> None:
    server, told = serve(tmp_path)
    opened = server.open()
    assert opened
    seen = StatisticsBody(classes=["0", "1"], ranges={}, categories={}, encoder=digest)
    assert server.begin(opened, seen=seen) is None
    assert server.status == "terms"
    assert any("they state a text encoder with the hash" in one for one in told), told


def test_a_folder_is_read_only_where_the_policy_names_it(tmp_path: Path) -> None:
    server, _ = serve(tmp_path, GENEROUS.replace('files = ["*"]\n', ""))
    assert server.open() is None
    assert "files" in server.rule


def test_a_site_with_other_weights_is_named() -> None:
    def seen(digest: str) -> StatisticsBody:
        return StatisticsBody(classes=["0", "1"], ranges={}, categories={}, encoder=digest)

    with pytest.raises(
        RunError, match=r"site 'b' has a text encoder with the hash 2+; the other"
    ) as e:
        check_sites_agree("job", {"a": seen("1" * 32), "b": seen("2" * 32), "c": seen("1" * 32)})
    assert "use the same files of features.encoder" in str(e.value)
