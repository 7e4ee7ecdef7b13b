"""tacit run and tacit resume keep a data owner's policy: what goes beyond it is refused before anything leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import engine
from tests.cli.made_up import PEOPLE, tacit, write_people

Capture = pytest.CaptureFixture[str]
STRICT = "[share]\nmin_k = 4\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    write_people(tmp_path)
    # Two rows are held out to measure on, so classes are smaller than in the plan for tacit disclose.
    Path("plan.toml").write_text(PEOPLE.replace("test = 0.0", "test = 0.2").replace("k = 3", "k = 2"))
    return tmp_path


def test_a_run_beyond_the_policy_is_refused_and_leaves_nothing(capsys: Capture, here: Path) -> None:
    Path("mine.toml").write_text(STRICT)
    said = tacit(capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet")
    assert said.code == 3
    assert "refused: the plan goes beyond mine.toml" in said.err
    assert "the smallest class that would leave has" in said.err
    assert not (here / "runs").exists()


def test_a_run_within_the_policy_goes_on(capsys: Capture, here: Path) -> None:
    Path("mine.toml").write_text("[share]\nmin_k = 2\nmax_share = 1.0\n")
    said = tacit(capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet", "-o", "server.rounds=1")
    assert said.code == 0, said.err
    assert (here / "runs" / "people-1").exists()


def test_resume_keeps_the_policy_too(capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tacit(capsys, "run", "plan.toml", "--quiet", "-o", "server.rounds=1").code == 0
    Path("mine.toml").write_text(STRICT)
    monkeypatch.setattr(engine, "resume", lambda *_, **__: pytest.fail("nothing may leave"))
    assert tacit(capsys, "resume", "people-1", "--policy", "mine.toml").code == 3


def test_a_plan_that_discloses_nothing_keeps_every_policy(capsys: Capture) -> None:
    Path("plan.toml").write_text(Path("plan.toml").read_text().replace("[data.share]\nk = 2\n", ""))
    Path("mine.toml").write_text(STRICT)
    said = tacit(capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet", "-o", "server.rounds=1")
    assert said.code == 0, said.err


@pytest.mark.parametrize("words", [("run", "plan.toml"), ("resume", "people-1")])
def test_a_policy_that_is_not_understood_stops_everything(capsys: Capture, here: Path, words: tuple[str, ...]) -> None:
    (here / "runs" / "people-1").mkdir(parents=True)
    (here / "runs" / "people-1" / "plan.toml").write_text(Path("plan.toml").read_text())
    Path("mine.toml").write_text("[share]\nmin_kay = 3\n")
    assert tacit(capsys, *words, "--policy", "mine.toml").code == 2
