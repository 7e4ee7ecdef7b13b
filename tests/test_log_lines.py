"""Log lines: time, level, run and round in each; nobody else's words make a line of their own."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tacit.cli.progress import LogProgress, build_observer
from tacit.cli.site.join import StateLog
from tacit.deployment.transport import flower_log
from tacit.log_lines import DETAILS, SETTING, LineLog, log_context
from tacit.runs.record import Refused

NOW = "2026-11-16T14:03:22.123Z"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.delenv(SETTING, raising=False)
    return []


def log(lines: list[str]) -> LineLog:
    return LineLog("hospital-a", lines.append, lambda: NOW)


def test_text(lines: list[str]) -> None:
    log(lines)("online")
    with log_context(run="notes-1", round_no=3):
        log(lines)("responds")
        with log_context(level="WARNING"):
            log(lines)("ask refused:\n    limits.x\n    limits.y")
        log(lines)("responds again")
    place = "run=notes-1 round=3 hospital-a:"
    assert lines == [
        f"{NOW} INFO run=- round=- hospital-a: online",
        f"{NOW} INFO {place} responds",
        f"{NOW} WARNING {place} ask refused:",
        f"{NOW} WARNING {place}     limits.x",
        f"{NOW} WARNING {place}     limits.y",
        f"{NOW} INFO {place} responds again",
    ]


def test_json(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "json")
    with log_context(run="notes-1", round_no=3, level="WARNING"):
        log(lines)("refused:\n  é\x1b[2J\u2028x")
    log(lines)("online")
    first, second = map(json.loads, lines)
    assert (first["level"], first["run"], first["round"]) == ("WARNING", "notes-1", 3)
    assert first["time"] == NOW
    assert "\x1b" not in first["message"]
    assert (second["run"], second["round"], second["level"]) == (None, None, "INFO")
    assert all(len(line.splitlines()) == 1 for line in lines)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x1b[1A"]
)
def test_words_of_others_make_no_line(lines, monkeypatch, form, end) -> None:
    """A server that writes a whole line into its message, or into the name of a run."""
    monkeypatch.setenv(SETTING, form)
    forged = f"{NOW} INFO run=- round=- hospital-a: all is well"
    with log_context(run=f"x{end}{forged}"):
        log(lines)(f"refused: {end}{forged}")
    for line in "\n".join(lines).splitlines():
        assert not line.startswith(forged)
        if form == "json":
            assert json.loads(line)["name"] == "hospital-a"
        else:
            assert line.startswith(f"{NOW} INFO run='x")
            assert "run=- round=- hospital-a: all" not in line.partition(" hospital-a: ")[0]


def test_the_log_of_flower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "json")
    monkeypatch.setenv("FLWR_HOME", "")
    flower_log.redirect_flower_log(tmp_path)
    logger = logging.getLogger("flwr")
    try:
        try:
            raise ValueError("bad\nnode")
        except ValueError:
            logger.exception("a site said: %s", "x\ny")
    finally:
        for name in ("flwr", "uvicorn", "uvicorn.error", "uvicorn.access", "alembic"):
            logging.getLogger(name).handlers.clear()
    (line,) = (tmp_path / flower_log.LOG).read_text().splitlines()
    found = json.loads(line)
    assert (found["level"], found["name"]) == ("ERROR", "flwr")
    assert "ValueError" in found["message"]


def test_progress_of_a_deployment(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv(SETTING, "json")
    observer = build_observer(quiet=False)
    assert isinstance(observer, LogProgress)
    observer.folder = tmp_path / "notes-1"
    observer.entry(
        Refused(arm="run", round_no=2, exchange="train", sender="site b", reason="policy\n{}")
    )
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert (found["level"], found["run"], found["round"]) == ("WARNING", "notes-1", 2)
    assert found["message"].startswith("train: site b: policy")


def test_a_connection_goes_to_work_and_back_in_details(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    states = ["joining", "online", "working", "online", "working", "unreachable: x", "online"]

    def log_states() -> list[str]:
        lines.clear()
        logged = StateLog(log(lines))
        for state in states:
            logged(state)
        return [
            line.removeprefix(f"{NOW} ").replace("run=- round=- hospital-a: ", "") for line in lines
        ]

    monkeypatch.delenv(DETAILS, raising=False)
    shown = ["INFO joining", "INFO online", "WARNING unreachable: x", "INFO online"]
    assert log_states() == shown
    monkeypatch.setenv(DETAILS, "1")
    assert [line for line in log_states() if not line.startswith("DEBUG")] == shown
    assert len(lines) == len(states)
