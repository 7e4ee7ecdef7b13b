"""The examples pass their own checks and run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from tacit import plan
from tacit.cli import execute
from tests.docs.pages import TEXT

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LONGEST = 100
"""Lines: the whole path of a round fits on a screen and a half."""


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_plans_pass_check(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert ": ok" in said
    promise = next(line for line in said.splitlines() if "privacy:" in line)
    none = {
        "dp_sum": "epsilon 8 per run",
        "onebit": "epsilon 8 per run",
        "plain": "none: sent in the clear",
        "hashcomb": "none: not differentially private, other clients can decode it",
    }
    assert none.get(plan.load(path).codec.name, "per bit") in promise


def test_the_main_job_is_the_one_that_init_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["init"]) == 0
    written, example = plan.load(tmp_path / "plan.toml"), plan.load(EXAMPLES / "newsgroups.toml")
    assert (written.codec, written.server, written.local) == (
        example.codec,
        example.server,
        example.local,
    )


def test_every_example_stands_in_the_documents_and_every_named_one_exists() -> None:
    named = set(re.findall(r"examples/([a-z_]+\.toml)", TEXT))
    assert named == {path.name for path in EXAMPLES.glob("*.toml")}


@pytest.mark.slow
def test_one_round_runs_and_is_short() -> None:
    path = EXAMPLES / "one_round.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "per bit" in done.stdout
    assert "accuracy after one round" in done.stdout


def test_the_package_contains_the_only_copy_of_each_plan() -> None:
    shipped = Path(tacit.__file__).parent / "examples"
    links = {path.name: path for path in EXAMPLES.glob("*.toml")}
    assert set(links) == {path.name for path in shipped.glob("*.toml")}
    assert all(path.is_symlink() for path in links.values())
