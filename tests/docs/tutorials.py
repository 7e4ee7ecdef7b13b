"""Run tutorials from their own text, compare the output that they show, and write them as notebooks.

`python -m tests.docs.tutorials` runs every tutorial in an empty folder of its own and prints how long each took; names
choose some, and `--notebooks` also writes `docs/tutorials/NAME.ipynb` with the output of this execution. A page is read from
top to bottom:

- a block with a title (```toml title="plan.toml") is written to the file of that name;
- an `sh` block runs in a new shell in the tutorial's folder; it must succeed, or end with the code that a comment above
  it names (<!-- exit code 3 -->);
- a `python` block without a title runs in one Python process for the whole page;
- a `text` block below <!-- output --> shows what the block above printed. Every line that it shows must occur, in this order.
  An ellipsis stands for anything: for lines if it is alone on a line, else for the rest of the line. With <!-- output: numbers
  within 0.05 --> numbers may differ by that much, relative to the shown ones or absolutely below 1.

Other blocks are for reading only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "tutorials"
NAMES = tuple(sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "index"))
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```\n?', re.M | re.S
)
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->\n?", re.S)
NUMBER = re.compile(r"[-+−±]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?")
FRAME = re.compile(r"[─━│╭╮╰╯┌┐└┘├┤┬┴┼╞╪╡═]+")
LONGEST_SECONDS = 600
PYTHON_WORKER = """
import contextlib, io, json, sys, traceback
names, wire = {"__name__": "__main__"}, sys.stdout
for line in sys.stdin:
    printed, failed = io.StringIO(), False
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "tutorial", "exec"), names)
        except BaseException:
            failed = True
            traceback.print_exc(file=printed)
    print(json.dumps([failed, printed.getvalue()]), file=wire, flush=True)
"""


@dataclass(frozen=True)
class Cell:
    """One block of a page: prose, a file, commands, Python, shown output, or text for reading only."""

    kind: str
    text: str
    title: str = ""
    code: int = 0
    tolerance: float = 0.0


@dataclass(frozen=True)
class Executed:
    """What a cell printed, and how long it took."""

    cell: Cell
    printed: str
    seconds: float


def read(name: str) -> list[Cell]:
    """Read the cells of a tutorial, in order."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    cells, end = [], 0
    for fence in FENCE.finditer(text):
        prose = text[end : fence.start()]
        cells += _read_prose(prose)
        note = (COMMENT.findall(prose) or [""])[-1] if prose.rstrip().endswith("-->") else ""
        cells.append(_read_block(fence, note))
        end = fence.end()
    return [*cells, *_read_prose(text[end:])]


def _read_prose(text: str) -> list[Cell]:
    words = COMMENT.sub("", text).strip()
    return [Cell("prose", words)] if words else []


def _read_block(fence: re.Match[str], note: str) -> Cell:
    language, title, text = fence["language"], fence["title"] or "", fence["text"]
    if title:
        return Cell("file", text, title=title)
    if language in ("sh", "python"):
        code = re.fullmatch(r"exit code (\d+)", note)
        return Cell(language, text, code=int(code[1]) if code else 0)
    shown = re.fullmatch(r"output(?:: numbers within ([\d.]+))?", note)
    if language == "text" and shown:
        return Cell("output", text, tolerance=float(shown[1] or 0))
    return Cell("reading", fence.group().rstrip())


class Folder:
    """An empty folder in which the cells of one tutorial run; leaving it ends what they started."""

    def __init__(self, path: Path) -> None:
        self.path = path / "tutorial"
        self.path.mkdir()
        self._environment = {
            **os.environ,
            "XDG_STATE_HOME": str(path / "state"),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join(
                str(Path(entry).resolve())
                for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)
                if entry
            ),
        }
        self._worker: subprocess.Popen[str] | None = None
        self._shells: list[int] = []

    def run(self, cell: Cell) -> str:
        """Run one cell and return what it printed."""
        if cell.kind == "file":
            place = self.path / cell.title
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(cell.text, encoding="utf-8")
            return ""
        printed = self._run_python(cell.text) if cell.kind == "python" else self._run_shell(cell)
        return printed.replace(f"{self.path}{os.sep}", "").replace(str(self.path), ".")

    def close(self) -> None:
        """End the Python process and every process that a shell left behind."""
        if self._worker is not None and self._worker.stdin is not None:
            self._worker.stdin.close()
            self._worker.wait(30)
        for group in self._shells:
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                continue

    def _run_shell(self, cell: Cell) -> str:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            shell = subprocess.Popen(
                ["bash", "-eu", "-o", "pipefail", "-c", cell.text],
                cwd=self.path,
                env=self._environment,
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._shells.append(shell.pid)
            code = shell.wait(LONGEST_SECONDS)
            out.seek(0)
            err.seek(0)
            printed, complaint = out.read(), err.read()
        assert code == cell.code, f"exit code {code} of\n{cell.text}\n{printed}\n{complaint}"
        return printed + (complaint if code else "")

    def _run_python(self, text: str) -> str:
        if self._worker is None:
            self._worker = subprocess.Popen(
                [sys.executable, "-c", PYTHON_WORKER],
                cwd=self.path,
                env={**self._environment, "PYTHONSAFEPATH": ""},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._worker.stdin
        assert self._worker.stdout
        print(json.dumps(text), file=self._worker.stdin, flush=True)
        failed, printed = json.loads(self._worker.stdout.readline())
        assert not failed, f"{printed}\nin\n{text}"
        return str(printed)


def execute(name: str) -> list[Executed]:
    """Run a tutorial in an empty folder; fail at the first cell that does not do what the page says."""
    done: list[Executed] = []
    with tempfile.TemporaryDirectory(prefix="tutorial-") as root:
        folder = Folder(Path(root))
        try:
            for cell in read(name):
                started = time.monotonic()
                if cell.kind == "output":
                    problem = compare(cell.text, done[-1].printed, cell.tolerance)
                    assert not problem, f"{name}: {problem}\nprinted:\n{done[-1].printed}"
                    continue
                is_run = cell.kind in ("file", "sh", "python")
                printed = folder.run(cell) if is_run else ""
                if is_run or cell.kind in ("prose", "reading"):
                    done.append(Executed(cell, printed, time.monotonic() - started))
        finally:
            folder.close()
    return done


def compare(shown: str, printed: str, tolerance: float = 0.0) -> str:
    """Return the first shown line that was not printed in its place, or nothing."""
    rest, is_gap = [line for line in printed.splitlines() if _split(line)], True
    for line in shown.splitlines():
        if not _split(line):
            continue
        if line.strip() == "…":
            is_gap = True
            continue
        reach = range(len(rest)) if is_gap else range(min(1, len(rest)))
        found = next((n for n in reach if _is_same(line, rest[n], tolerance)), None)
        if found is None:
            return f"the page shows a line that was not printed: {line.strip()}"
        rest, is_gap = rest[found + 1 :], False
    return ""


def _split(line: str) -> list[str]:
    return FRAME.sub(" ", line).split()


def _is_same(shown: str, printed: str, tolerance: float) -> bool:
    words, others = _split(shown), _split(printed)
    if words and words[-1] == "…":
        words = words[:-1]
        others = others[: len(words)]
    return len(words) == len(others) and all(
        word == other or _is_near(word, other, tolerance)
        for word, other in zip(words, others, strict=True)
    )


def _is_near(word: str, other: str, tolerance: float) -> bool:
    """Whether two words differ in numbers only, and each number by no more than the tolerance."""
    if not tolerance or NUMBER.sub("#", word) != NUMBER.sub("#", other):
        return False
    pairs = zip(_numbers(word), _numbers(other), strict=True)
    return all(abs(one - two) <= tolerance * max(1, abs(one)) for one, two in pairs)


def _numbers(word: str) -> list[float]:
    return [
        float(found.strip("%±").replace(",", "").replace("−", "-"))
        for found in NUMBER.findall(word)
    ]


def make_cells(name: str) -> list[dict[str, Any]]:
    """The cells of a tutorial's notebook, without output."""
    cells = [cell for cell in read(name) if cell.kind != "output"]
    return [_make_cell(cell, number) for number, cell in enumerate(cells, 1)]


def _make_cell(cell: Cell, number: int) -> dict[str, Any]:
    magic = {"file": f"%%writefile {cell.title}\n", "sh": "%%bash\n"}.get(cell.kind, "")
    if cell.kind == "sh" and cell.code:
        magic = "%%bash --no-raise-error\n"
    source = (magic + cell.text).rstrip("\n").splitlines(keepends=True)
    if cell.kind in ("prose", "reading"):
        kind: dict[str, Any] = {"cell_type": "markdown"}
    else:
        kind = {"cell_type": "code", "execution_count": None, "outputs": []}
    return {"id": f"cell-{number}", "metadata": {}, "source": source, **kind}


def write_notebook(name: str, done: list[Executed]) -> None:
    """Write an executed tutorial as a notebook. Dates and hashes are left out of its output."""
    cells, count = make_cells(name), 0
    for cell, executed in zip(cells, done, strict=True):
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        printed = mask(executed.printed).splitlines(keepends=True)
        if executed.cell.kind == "file":
            printed = [f"Writing {executed.cell.title}\n"]
        if printed:
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": printed}]
    page = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(page, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / f"{name}.ipynb").write_text(text, encoding="utf-8")


def mask(printed: str) -> str:
    """Replace what differs in every execution: dates, and the end of every hash and fingerprint."""
    without_dates = re.sub(
        r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?Z?)?)?", "DATE", printed
    )
    without_hashes = re.sub(r"\b[0-9a-f]{8,}\b", "HASH", without_dates)
    return re.sub(r"\b[0-9a-f]{4}(?: [0-9a-f]{4}){15}\b", "FINGERPRINT", without_hashes)


def main() -> int:
    """Run the named tutorials, all without a name; return 1 if one fails."""
    parser = argparse.ArgumentParser(description="Run the tutorials from their own text.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--notebooks", action="store_true", help="also write them as notebooks")
    parser.add_argument("--verbose", action="store_true", help="print the seconds of each block")
    chosen = parser.parse_args()
    failed = 0
    for name in chosen.names or NAMES:
        started = time.monotonic()
        try:
            done = execute(name)
        except AssertionError as error:
            print(f"{name}: failed after {time.monotonic() - started:.0f} s\n{error}")
            failed = 1
            continue
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
        for one in done if chosen.verbose else ():
            if one.seconds > 1:
                print(f"  {one.seconds:5.1f} s  {one.cell.text.splitlines()[0]}")
        if chosen.notebooks:
            write_notebook(name, done)
    return failed


if __name__ == "__main__":
    sys.exit(main())
