"""The harness' own arithmetic; nothing here depends on how long anything takes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from bench import ROOT, SOURCE, show
from bench.clock import Taken, measure
from bench.compare import Result, interleave, middle, seconds, speeds
from bench.shapes import PARAMETERS
from bench.svg import fitted_exponent, plot


def test_what_is_measured_is_the_checkout() -> None:
    """In a process that starts as contenders do, with nothing but the harness on its path."""
    code = "import bench, tacit; print(tacit.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(told.stdout).is_relative_to(SOURCE)


def _scripted(name: str, walls: list[float], heard: list[str]) -> Callable[[], Taken]:
    left = iter(walls)

    def repeat() -> Taken:
        heard.append(name)
        wall = next(left)
        return Taken(wall, 2 * wall)

    return repeat


def test_repeats_are_taken_in_turns_and_give_medians() -> None:
    heard: list[str] = []
    pair = interleave(
        _scripted("ours", [1, 9, 2], heard), _scripted("theirs", [10, 90, 20], heard), 3
    )
    assert heard == ["ours", "theirs"] * 3
    assert pair == (Taken(2, 4), Taken(20, 40))


def test_wall_and_cpu_have_medians_of_their_own() -> None:
    assert middle([Taken(1, 30), Taken(2, 10), Taken(3, 20)]) == Taken(2, 20)


def test_ratios_meet_or_miss_their_bars() -> None:
    wall, cpu = seconds(
        "round", "peer", (Taken(1, 3), Taken(10, 10)), repeats=1, wall_bar=0.15, cpu_bar=0.25
    )
    assert (wall.ratio, wall.met) == (0.1, True)
    assert (cpu.ratio, cpu.met) == (0.3, False)


def test_speeds_are_better_when_higher() -> None:
    wall, _ = speeds(
        "hash", "peer", (Taken(1, 1), Taken(10, 10)), (100, 100), unit="MB/s", repeats=1, bar=20
    )
    assert (wall.ours, wall.theirs, wall.ratio, wall.met) == (100, 10, 10, False)


def test_without_a_peer_there_is_neither_ratio_nor_verdict() -> None:
    alone = Result(figure="exponent", peer="–", ours=1.0, theirs=None, unit="exponent", bar=1.0)
    assert alone.ratio is None
    assert alone.met is None


def test_results_are_written_and_shown(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "OUT", tmp_path)
    results = seconds("round", "peer", (Taken(1, 1), Taken(4, 8)), repeats=3, wall_bar=0.5)
    show.write("round", results)
    written = json.loads((tmp_path / "round.json").read_text())
    assert [
        (entry["figure"], entry["peer"], entry["ours"], entry["theirs"], entry["ratio"])
        for entry in written
    ] == [
        ("round", "peer", 1, 4, 0.25),
        ("round", "peer", 1, 8, 0.125),
    ]
    page = io.StringIO()
    Console(file=page, width=120).print(show.table("round", results))
    assert "0.25" in page.getvalue()
    assert "met" in page.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0"), (0.1234, "0.123"), (12345.6, "12,346"), (2.5e-7, "2.50e-07")],
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert show.number(value) == text


def test_exponent_of_a_power_law() -> None:
    points = [(n, 3 * n**1.5) for n in (10, 100, 1000)]
    assert fitted_exponent(points) == pytest.approx(1.5)
    assert "exponent 1.50" in plot("title", "n", {"line": points})


def test_a_measure_is_never_negative() -> None:
    taken = measure(lambda: None)
    assert taken.wall >= 0
    assert taken.cpu >= 0


def test_the_workload_has_the_agreed_size() -> None:
    assert PARAMETERS == 506_451
