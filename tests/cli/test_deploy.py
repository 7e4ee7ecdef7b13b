"""tacit deploy run: choosing sites, options that a resume refuses, and the command that continues a stopped run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import plan as plans
from tacit.cli import execute
from tacit.cli.deploy import run as module
from tacit.cli.deploy.run import Connection
from tacit.deployment.server.job import prepare
from tacit.deployment.transport.server.registry import SITES
from tacit.protocol.observer import SiteState
from tests.simulation.small import small_plan, write_csv


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    job = small_plan(write_csv(tmp_path / "reviews.csv"))
    (tmp_path / "plan.toml").write_text(plans.to_toml(job), encoding="utf-8")
    (tmp_path / "server").mkdir()
    known = {name: {"public_key": "", "node_id": "1"} for name in ("hospital-a", "hospital-b")}
    (tmp_path / "server" / SITES).write_text(json.dumps(known))
    return tmp_path


def test_a_site_that_is_not_admitted_is_refused_at_once(here, capsys) -> None:
    assert (
        execute(["deploy", "run", "plan.toml", "--site", "hospital-a", "--site", "hospital-c"]) == 2
    )
    said = capsys.readouterr().err
    assert (
        "--site hospital-c: no such site is admitted; the admitted sites are hospital-a,"
        " hospital-b." in said
    )
    assert not (here / "runs").exists()


def test_more_sites_than_there_are_cannot_be_needed(here, capsys) -> None:
    assert execute(["deploy", "run", "plan.toml", "--site", "hospital-b"]) == 2
    assert (
        "--min-sites 2 needs more sites than the 1 that the run is offered to (hospital-b)"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "option",
    [
        ["-o", "server.rounds=1"],
        ["--site", "hospital-a"],
        ["--helper", "hospital-a"],
        ["--test", "plan.toml"],
        ["--simulated-noise"],
    ],
)
def test_a_resume_refuses_what_it_would_ignore(here, capsys, option) -> None:
    place = prepare(plans.load(here / "plan.toml", None), here / "runs")
    assert execute(["deploy", "run", "--resume", place.name, *option]) == 2
    assert f"{option[0]}: cannot be changed when a run is resumed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ([], "tacit deploy run --resume small-1"),
        (
            ["--folder", "the server", "--min-sites", "1", "--deadline", "120", "--grace", "2.5"],
            "tacit deploy run --resume small-1 --folder 'the server' --min-sites 1 --deadline 120"
            " --grace 2.5",
        ),
    ],
)
def test_ctrl_c_prints_the_command_that_continues(
    here, capsys, monkeypatch, options, command
) -> None:
    (here / "server").rename(here / "the server") if options else None

    def stops(self, place, observer):
        observer.opened(place)
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Connection, "until_done", stops)
    assert execute(["deploy", "run", "plan.toml", "--quiet", *options]) == 130
    said = capsys.readouterr().err
    assert said.strip().endswith(f"nothing is lost, continue with: {command}")

    monkeypatch.setattr(Connection, "until_done", lambda self, place, observer: place)
    words = ["deploy", "run", "--resume", "small-1", "--quiet", "--no-report", *options]
    assert execute(words) == 0, "the command works"


def test_progress_names_sites(capsys) -> None:
    from tacit.cli.progress import LineProgress, QuietProgress

    def state(site: str, name: str, seconds: float = 600.0, **more) -> SiteState:
        return SiteState(
            site=site, round_no=3, exchange="train", state=name, seconds=seconds, **more
        )

    for progress in (LineProgress(), QuietProgress()):
        for one in (
            state("a", "asked"),
            state("c", "absent", 5.0),
            state("a", "replied", 1.0),
            state("c", "absent", 5.0, reason="it is absent"),
            state("c", "asked"),
            state("c", "asked", 580.0),
            state("c", "refused", reason="its owner's policy does not allow it"),
        ):
            progress.site(one)
    assert capsys.readouterr().err.splitlines() == [
        "round 3, train: site c is absent; waiting at most 5.0 s",
        "round 3, train: site c is back; waiting at most 10 min 00 s",
        "round 3, train: site c has not responded yet; waiting at most 9 min 40 s",
        "round 3, train: site c does not respond: its owner's policy does not allow it",
    ]
