"""Command lines run in this process, with a made-up engine where training is not the point."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tacit import simulation
from tacit.cli import execute
from tacit.plan import Plan
from tacit.reproduction import ReproduciblePaper
from tacit.simulation import Observer
from tests.report import made_up

PLAN = (
    'name = "tiny"\nbaselines = ["fedavg", "central"]\n[codec]\nname = "rr"\nepsilon = 1.0\nclip ='
    " 0.01\n"
)

PEOPLE = """
name = "people"
[data]
source = "people.csv"
clients = 2
partition = "client"
test = 0.0
[data.columns]
client = "who"
numeric = ["age", "pay"]
label = "y"
quasi = ["age"]
[data.share]
k = 3
[codec]
name = "plain"
[server]
weights = "rows"
"""

LENIENT = """
[allow]
models = ["*"]
codecs = ["*"]
disclosures = ["clients", "classes", "rows", "ranges", "formats", "measures"]
[columns]
label = ["*"]
text = ["*"]
numeric = ["*"]
categorical = ["*"]
[limits]
no_epsilon = true
min_cohort = 1
"""
"""A policy that lets PEOPLE be; what it says of rows is for a test to add."""


@dataclass(frozen=True)
class Said:
    """What one command line did."""

    code: int
    out: str
    err: str


def tacit(capsys: pytest.CaptureFixture[str], *words: str) -> Said:
    """Run one command line and return what it said."""
    capsys.readouterr()
    code = execute(words)
    said = capsys.readouterr()
    return Said(code, said.out, said.err)


class InstalledPaper:
    """An entry point of the group `tacit.papers`."""

    def __init__(self, paper: ReproduciblePaper) -> None:
        self.paper, self.name = paper, paper.name

    def load(self) -> ReproduciblePaper:
        return self.paper


def pretend_engine(
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | None = None,
    rounds: int = 4,
    stop: int | None = None,
) -> None:
    """Let the engine write a made-up record instead of training; raise `error` at its end."""

    def start(
        plan: Plan, root: Path = Path("runs"), observer: Observer | None = None, **_: object
    ) -> Path:
        entries = made_up.record(rounds=rounds, name=plan.name, stop=stop)
        folder = made_up.folder(root, entries, name=f"{plan.name}-{len(list(root.glob('*'))) + 1}")
        assert observer is not None
        observer.opened(folder)
        for entry in entries:
            observer.entry(entry)
        observer.clients("run", 1, 50, 100)
        if error:
            raise error
        return folder

    monkeypatch.setattr(simulation, "start", start)


def write_people(folder: Path) -> None:
    """Write ten rows of two owners, and a plan by which seven of them would leave in two classes."""
    rows = [("ann", 20, number, "u" if number else "v") for number in range(3)]
    rows += [
        ("ann", 21, 9, "u"),
        ("ann", 21, 9, "u"),
        ("bob", 21, 9, "v"),
        *[("bob", 30, 5, "u")] * 4,
    ]
    pl.DataFrame(rows, schema=["who", "age", "pay", "y"], orient="row").write_csv(
        folder / "people.csv"
    )
    (folder / "plan.toml").write_text(PEOPLE)
