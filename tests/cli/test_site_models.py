"""tacit site models, and predict and export on a model that a site received."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.cli import execute
from tacit.cli.site.models import CARD, write_card
from tacit.deployment.server.job import deploy
from tacit.deployment.site.site_folder import SiteSettings, create_site
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import owner, sites_of
from tests.simulation.small import small_plan, write_csv


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of a site that received the model of one run."""
    folder = tmp_path_factory.mktemp("sites")
    codec = {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}
    job = small_plan(write_csv(folder / "reviews.csv"), codec=codec, server={"rounds": 2})
    ready = prepare_rehearsal(job, folder / "rows", 3)
    owners = []
    for name, file in zip("abc", ready.files, strict=True):
        settings = SiteSettings(name=name, data=str(file), server="localhost:1", client="client")
        create_site(folder / name, settings)
        owners.append(replace(owner(name, file, folder / name), on_model=write_card))
    deploy(ready.plan, sites_of(owners), folder / "runs", test=str(ready.test))
    return folder / "a"


def test_models_are_listed(site, capsys) -> None:
    assert execute(["site", "models", str(site), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["models"]
    assert found["plan"] == "small"
    assert found["result"].startswith("AUC 0.")
    assert found["privacy"].startswith("epsilon ")
    assert execute(["site", "models", str(site)]) == 0
    said = capsys.readouterr().out
    assert found["run"] in said
    assert found["sha256"][:16] in said


def test_a_site_without_models_says_so(site, tmp_path, capsys) -> None:
    settings = SiteSettings(name="new", data="x.csv", server="localhost:1", one_client=True)
    create_site(tmp_path / "new", settings)
    assert execute(["site", "models", str(tmp_path / "new")]) == 0
    assert "no model yet" in capsys.readouterr().out
    assert execute(["site", "models", str(tmp_path / "none")]) == 6


def test_predict_and_export_work_at_the_site(site, tmp_path, capsys) -> None:
    (model,) = (site / "models").iterdir()
    (tmp_path / "new.csv").write_text("opinion\na good film\na bad film\n")
    assert execute(["predict", str(model), str(tmp_path / "new.csv"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 2
    out = str(tmp_path / "sklearn")
    assert execute(["export", str(model), "--to", "sklearn", "--out", out]) == 0
    assert execute(["runs", "verify", str(model)]) == 0
    capsys.readouterr()
    assert execute(["runs", "privacy", str(model), "--json"]) == 0
    statement = json.loads(capsys.readouterr().out)["statement"]
    assert statement in (model / CARD).read_text()
    assert statement in (tmp_path / "sklearn" / CARD).read_text()
