"""A server with TLS and three site processes on this machine, end to end, and nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit import plan as plans
from tests.simulation.small import small_plan, write_csv

pytest.importorskip("flwr", reason="flwr is not installed")


def running(folder: Path) -> list[str]:
    """Return the commands of processes that name a folder."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = one.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in command and str(os.getpid()) != one.parent.name:
            found.append(command)
    return found


@pytest.mark.slow
def test_the_same_model_as_the_simulator_and_no_process_left(tmp_path) -> None:
    job = small_plan(write_csv(tmp_path / "reviews.csv"), server__rounds=2)
    (tmp_path / "plan.toml").write_text(plans.to_toml(job), encoding="utf-8")
    place = tmp_path / "rehearsal"
    words = [
        "deploy",
        "rehearse",
        str(tmp_path / "plan.toml"),
        "--compare",
        "--json",
        "--keep",
        str(place),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tacit", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["same"]
    assert found["sites"] == found["simulated"]
    assert running(place) == []
    assert {path.name for path in place.iterdir()} >= {"server", "a", "b", "c"}
    assert all(
        (place / name / secret).stat().st_mode & 0o077 == 0
        for name in "abc"
        for secret in ("node.key", "secret")
    )


@pytest.mark.slow
def test_killed_it_leaves_no_process(tmp_path) -> None:
    """Its sites and its server end with it, also where it has no time to end them."""
    job = small_plan(write_csv(tmp_path / "reviews.csv"), server__rounds=100)
    (tmp_path / "plan.toml").write_text(plans.to_toml(job), encoding="utf-8")
    place = tmp_path / "rehearsal"
    words = ["deploy", "rehearse", str(tmp_path / "plan.toml"), "--quiet", "--keep", str(place)]
    with subprocess.Popen([sys.executable, "-m", "tacit", *words], cwd=tmp_path) as process:
        _until(lambda: len(running(place)) >= 5)  # itself, the server, three sites
        process.kill()
    _until(lambda: running(place) == [])


def _until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 240
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)
