"""A run between real sites goes on under kill -9: of the process that runs the plan, and of a site that has paid already."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from bench.faults import field
from bench.faults.ledgers import Verdict, judged, totals
from bench.faults.trial import run_of
from tacit import simulation
from tacit.api import Run


@pytest.mark.slow
def test_a_deploy_and_a_site_are_killed(tmp_path) -> None:
    job = field.small_plan(tmp_path, rounds=2)
    simulated = Run(simulation.start(job, tmp_path / "simulated")).parameters_sha256
    with field.started(tmp_path, job) as here:
        place, deploy = here.begin_run()
        deploy.tell("after checkpoint")
        here.sites["b"].tell("after reserved")
        deploy.start()
        try:
            for one in (deploy, here.sites["b"]):
                assert one.died_there(300, lambda: True), (one.folder / "log").read_text()
                one.start()
            field.until(lambda: deploy.code is not None, "the run has ended")
        finally:
            deploy.kill()
        assert deploy.code == 0, (deploy.folder / "log").read_text()
    folders = [one.folder for one in here.sites.values()]
    assert Run(place).parameters_sha256 == simulated
    found = judged(folders, run_of(place), field.arrived(deploy), {})
    assert found.arrived >= 6  # whoever is asked again sends the same once more
    assert replace(found, arrived=0) == Verdict(0, 0, 0, 0, 0, 0)
    assert len({paid for folder in folders for paid in totals(folder, run_of(place)).values()}) == 1
