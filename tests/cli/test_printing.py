"""No name in data, plans or folders commands the terminal, and a disk that fails is told in one sentence."""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tacit import cli
from tacit.printable import printable
from tests.cli.made_up import PLAN, pretend_engine, tacit
from tests.report import made_up

Capture = pytest.CaptureFixture[str]
ESCAPE = "\x1b]0;owned\x07\x1b[31m"
"""Sets the title of a terminal window, and its colour."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def silent(text: str) -> bool:
    return not any(reply in text for reply in "\x1b\x07\x9b\x7f\r\u202e")


def test_column_names_reach_the_terminal_written_out(capsys: Capture) -> None:
    frame = {
        f"{ESCAPE}x": [k / 7 for k in range(60)],
        "label": ["yes", f"no{ESCAPE}"] * 30,
        f"{ESCAPE}id": [*range(60)],
    }
    pl.DataFrame(frame).write_csv("t.csv")
    said = tacit(capsys, "init", "own.toml", "--from", "t.csv")
    assert silent(said.out + said.err)
    refused = tacit(capsys, "init", "other.toml", "--from", "t.csv", "--label", f"{ESCAPE}y")
    assert refused.code == 2
    assert silent(refused.out + refused.err)


def test_file_and_run_names_reach_the_terminal_written_out(capsys: Capture, here: Path) -> None:
    (here / f"{ESCAPE}.toml").write_text(PLAN)
    made_up.folder(here / "runs", made_up.record(rounds=2), name=f"{ESCAPE}-1")
    for words in (
        ("check", f"{ESCAPE}.toml"),
        ("check", f"{ESCAPE}none.toml"),
        ("runs",),
        ("runs", "show", f"{ESCAPE}-1"),
        ("runs", "show", f"{ESCAPE}-2"),
        ("runs", "compare", f"{ESCAPE}-1", f"{ESCAPE}-1"),
        ("data", "where", ESCAPE),
        (ESCAPE,),
        ("--debug", "runs", "show", f"{ESCAPE}-2"),
    ):
        said = tacit(capsys, *words)
        assert said.out + said.err
        assert silent(said.out + said.err), words


def test_what_a_record_says_reaches_the_terminal_written_out(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = made_up.record(rounds=2, name=ESCAPE)
    monkeypatch.setattr(made_up, "record", lambda **_: entries)
    pretend_engine(monkeypatch)
    said = tacit(capsys, "run", "plan.toml")
    assert said.code == 0
    assert silent(said.out + said.err)


def test_printable_keeps_letters_of_all_scripts_and_line_ends() -> None:
    kept = "naïve 💬👩‍⚕️ Größe\tשלום\nسلام 中文"
    assert printable(kept) == kept
    assert printable("a\x9bb\u202ec\ud800") == "a\\x9bb\\u202ec\\ud800"


def test_commands_print_only_through_one_file() -> None:
    for file in Path(cli.__file__).parent.glob("*.py"):
        if file.name == "tables.py":
            continue
        calls = [
            node.func
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Call)
        ]
        names = {
            call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls
        }
        assert not names & {"print", "echo", "secho"}, f"{file.name} prints past tables.py"


@pytest.mark.parametrize(
    "number",
    [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.ENXIO],
)
def test_a_failing_disk_is_one_sentence_and_code_7(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    pretend_engine(
        monkeypatch,
        error=OSError(number, os.strerror(number), "runs/tiny-1/checkpoint.safetensors"),
    )
    said = tacit(capsys, "run", "plan.toml", "--quiet")
    assert said.code == 7
    assert said.err.startswith(
        f"runs/tiny-1/checkpoint.safetensors cannot be read or written ({os.strerror(number)}); "
    )
    assert "internal error" not in said.err
    assert len(said.err.splitlines()) == 1


def test_an_error_without_number_or_name_is_told_too(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_engine(monkeypatch, error=OSError("ended early"))
    said = tacit(capsys, "run", "plan.toml", "--quiet")
    assert (said.code, "cannot be read or written (OSError)" in said.err) == (7, True)


class Panic(BaseException):
    """What a compiled library raises when it panics."""


@pytest.mark.parametrize("kind", [ValueError, Panic, OSError, KeyError])
def test_an_unforeseen_error_quotes_no_cell(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    pretend_engine(monkeypatch, error=kind("could not convert 'my diagnosis'"))
    said = tacit(capsys, "run", "plan.toml", "--quiet")
    assert said.code in (7, 70)
    assert kind.__name__ in said.err
    assert "diagnosis" not in said.err
    assert "diagnosis" in tacit(capsys, "run", "plan.toml", "--quiet", "--debug").err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout(here: Path) -> None:
    made_up.folder(here / "runs", made_up.record(rounds=2), name="news-1")
    with Path("/dev/full").open("w") as full:
        code = "from tacit.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, "runs", "show", "news-1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 7
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_a_report_that_cannot_be_written_takes_no_result_away(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_engine(monkeypatch)

    def full(folder: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    monkeypatch.setattr("tacit.report.write", full)
    said = tacit(capsys, "run", "plan.toml", "--quiet")
    assert said.code == 7
    assert "this run" in said.out
    assert (
        "the run finished, but its report cannot be written (No space left on device)" in said.err
    )


def test_runs_cannot_be_kept_where_a_file_is(capsys: Capture, here: Path) -> None:
    (here / "taken").write_text("")
    said = tacit(capsys, "run", "plan.toml", "--quiet", "--runs", "taken")
    assert said.code == 7
    assert said.err.startswith("taken: cannot create a folder for the run there")
