"""`python -m bench.ui [long|list|live|cost]`: how fast the pages of `tacit ui` are, and what they cost.

- long: a record of 10^6 entries opens in a server that has not seen it; time and peak memory.
- list: 500 runs are listed by a server that has not seen them.
- live: from a line of the record to the change in the browser, without a reload.
- cost: rounds of a run while its page is open, against rounds while it is closed, in turns.

Each prints a line per figure with its bar and writes bench/out/ui.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from bench import ROOT, SOURCE
from tacit.runs.record import Signed, Writer
from tests.report import made_up

_OUT = ROOT / "bench" / "out" / "ui.json"
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
_PAGE = {"accept": "text/html"}


@dataclass(frozen=True)
class Figure:
    """A measured number and the largest that is good enough."""

    name: str
    value: float
    bar: float
    unit: str
    note: str = ""

    def show(self) -> str:
        """A line for people."""
        verdict = "ok" if self.value <= self.bar else "MISSED"
        return f"{self.name}: {self.value:.4g} {self.unit} (bar {self.bar:g}), {verdict}{self.note}"


@dataclass
class ServedRuns:
    """A `tacit ui` process and a client that is logged in."""

    process: subprocess.Popen[str]
    origin: str
    client: httpx.Client
    link: str

    def get(self, path: str) -> tuple[float, str]:
        """Seconds that a page takes, and its text."""
        began = time.perf_counter()
        answer = self.client.get(self.origin + path, headers=_PAGE).raise_for_status()
        return time.perf_counter() - began, answer.text

    def peak_bytes(self) -> int:
        """Largest resident memory of the server so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    def cpu_seconds(self) -> float:
        """CPU time of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serve(runs: Path) -> Iterator[ServedRuns]:
    """Start `tacit ui` over a folder, and log in; the next one-time link is in `link`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit", "ui", "--runs", str(runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_ENVIRONMENT,
    )
    try:
        with httpx.Client(timeout=60) as client:
            link = _read_link(process)
            origin = "/".join(link.split("/")[:3])
            _wait(origin)
            client.get(link, headers=_PAGE)
            yield ServedRuns(process, origin, client, _read_link(process))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def _read_link(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if "token=" in line:
            return line.partition(": ")[2].strip()
    raise SystemExit("tacit ui has ended before it showed a link")


def _wait(origin: str) -> None:
    for _ in range(600):
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"{origin}/login")
            return
        time.sleep(0.05)


def write_long_record(folder: Path, entries: int, name: str = "long-1") -> Path:
    """A running run with this number of entries: released, round, spent, signed, repeated."""
    rounds = entries // 4
    first = made_up.folder(folder, made_up.record(rounds=1, stop=1), name) / "record.jsonl"
    writer = Writer(folder / name / "one.jsonl")
    for entry in [*made_up.one_round("run", 7, 7, 0.645, 12_620), Signed(signature="5b" * 64)]:
        writer.append(entry)
    writer.close()
    (folder / name / "one.jsonl").rename(folder / "one.jsonl")
    one = (folder / "one.jsonl").read_text()
    one = one.replace('"rounds": 7', f'"rounds": {rounds}').replace('"busiest": 7', '"busiest": 9')
    before, *rest = one.split('"round_no": 7')
    with first.open("a") as file:
        for number in range(2, rounds + 1):
            mark = f'"round_no": {number}'
            file.write(before + "".join(mark + piece for piece in rest))
    return first


def measure_long(folder: Path, repeats: int) -> list[Figure]:
    """A record of 10^6 entries."""
    path = write_long_record(folder / "runs", 1_000_000)
    taken, peaks, again, cpu = [], [], [], []
    for _ in range(repeats):
        with serve(folder / "runs") as served:
            before = served.cpu_seconds()
            taken.append(served.get("/runs/long-1")[0])
            cpu.append(served.cpu_seconds() - before)
            peaks.append(served.peak_bytes())
            again.append(served.get("/runs/long-1")[0])
    note = f"; {path.stat().st_size / 1e6:.0f} MB, CPU {statistics.median(cpu):.2f} s"
    note += f", again {statistics.median(again):.2f} s"
    return [
        Figure("10^6 entries open", statistics.median(taken), 2.0, "s", note + _spread(taken)),
        Figure("their memory", max(peaks) / 1e6, 300.0, "MB"),
    ]


def measure_list(folder: Path, repeats: int) -> list[Figure]:
    """500 runs of 40 rounds with two baselines."""
    entries = made_up.record()
    for number in range(1, 501):
        made_up.folder(folder / "runs", entries, f"newsgroups-{number}")
    taken, again, cpu = [], [], []
    for _ in range(repeats):
        with serve(folder / "runs") as served:
            before = served.cpu_seconds()
            taken.append(served.get("/")[0])
            cpu.append(served.cpu_seconds() - before)
            again.append(served.get("/")[0])
    note = f"; CPU {statistics.median(cpu):.2f} s, again {statistics.median(again):.2f} s"
    return [Figure("500 runs listed", statistics.median(taken), 1.0, "s", note + _spread(taken))]


def _spread(taken: list[float]) -> str:
    load = os.getloadavg()[0]
    return f"; from {min(taken):.2f} to {max(taken):.2f}, load {load:.0f}"


_WATCH = """([part, text]) => {
  window.seen = null;
  const place = document.getElementById(part);
  const look = () => { if (place.textContent.includes(text) && window.seen === null) window.seen = Date.now(); };
  new MutationObserver(look).observe(place, { childList: true, subtree: true, characterData: true });
}"""


def measure_live(folder: Path, repeats: int) -> list[Figure]:
    """From a line of the record to the browser's page, for each of some lines."""
    from tests.ui.browser import open_page, start_browser

    rounds = 10 * repeats
    place = made_up.folder(folder / "runs", made_up.record(rounds=rounds, stop=1), "live-1")
    delays = []
    writer = Writer(place / "record.jsonl")
    with (
        serve(folder / "runs") as served,
        start_browser() as browser,
        open_page(browser, served.link) as (page, found),
    ):
        page.goto(f"{served.origin}/runs/live-1")
        page.wait_for_timeout(1500)
        for number in range(2, rounds + 1):
            page.evaluate(_WATCH, ["part-stages", f"{number} of {rounds}"])
            for entry in made_up.one_round("run", number, rounds, 0.6, 12_620):
                writer.append(entry)
            writer.sync()
            began = time.time()
            while (seen := page.evaluate("window.seen")) is None:
                page.wait_for_timeout(20)
            delays.append(seen / 1000 - began)
            time.sleep(0.05 + 0.13 * (number % 7))
        writer.close()
        assert not found.errors, found.errors
        assert not found.foreign, found.foreign
    note = f"; median {statistics.median(delays):.2f}, {len(delays)} lines"
    return [Figure("record line to page, longest", max(delays), 1.0, "s", note)]


_PLAN = """name = "cost"
[data]
source = "rows.csv"
clients = 300
[data.columns]
client = "person"
label = "risk"
numeric = [{columns}]
[codec]
name = "plain"
[model]
name = "mlp"
hidden = [600, 200]
[server]
rounds = {rounds}
evaluate_every = 5
"""
_TURN = 12
"""Rounds between opening and closing the page."""


def measure_cost(folder: Path, repeats: int) -> list[Figure]:
    """Rounds with the page open against rounds with it closed, in turns within one run."""
    rounds = 2 * _TURN * 4 * repeats
    _write_rows(folder / "rows.csv")
    columns = ", ".join(f'"x{k}"' for k in range(40))
    (folder / "plan.toml").write_text(_PLAN.format(rounds=rounds, columns=columns))
    runs = folder / "runs"
    with serve(_make(runs)) as served:
        command = [sys.executable, "-m", "tacit", "run", "plan.toml", "--quiet", "--no-report"]
        process = subprocess.Popen(command, cwd=folder, env=_ENVIRONMENT, stdout=subprocess.DEVNULL)
        turns = _take_turns(served, runs / "cost-1" / "record.jsonl", process, rounds)
    ratios = _pair(_read_seconds(runs / "cost-1" / "record.jsonl"), turns)
    low, high = _interval(ratios)
    share = turns.cpu / turns.wall
    typical = statistics.median(_read_seconds(runs / "cost-1" / "record.jsonl"))
    note = f"; 95 % interval {low:+.2%} to {high:+.2%}, {len(ratios)} pairs of {_TURN} rounds"
    note += f" of {typical:.2f} s"
    return [
        Figure("cost of an open page", 100 * (statistics.median(ratios) - 1), 1.0, "%", note),
        Figure("its CPU time", 100 * share, 1.0, "% of one core"),
    ]


@dataclass
class _Turns:
    """Rounds at which the page was opened and closed; CPU and wall seconds while it was open."""

    opened: list[tuple[int, int]]
    cpu: float = 0.0
    wall: float = 0.0


def _make(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write_rows(path: Path) -> None:
    draw = np.random.default_rng(1)
    lines = ["person,risk," + ",".join(f"x{k}" for k in range(40))]
    for number in range(6000):
        values = draw.normal(size=40)
        risk = "high" if values[:5].sum() > 0 else "low"
        lines.append(f"p{number % 300},{risk}," + ",".join(f"{value:.3f}" for value in values))
    path.write_text("\n".join(lines) + "\n")


def _count_rounds(path: Path) -> int:
    return path.read_bytes().count(b'{"kind": "round", "arm": "run"') if path.exists() else 0


def _take_turns(
    served: ServedRuns, path: Path, process: subprocess.Popen[bytes], rounds: int
) -> _Turns:
    """Open the run's page in every second turn, until the run has ended."""
    turns, events = _Turns([]), f"{served.origin}/runs/cost-1/events"
    while process.poll() is None and (done := _count_rounds(path)) < rounds - _TURN:
        if done // _TURN % 2 == 0:
            time.sleep(0.05)
            continue
        cpu, began = served.cpu_seconds(), time.perf_counter()
        served.get("/runs/cost-1")
        with served.client.stream("GET", events, headers={"accept": "*/*"}) as stream:
            for _ in stream.iter_lines():
                now = _count_rounds(path)
                if now // _TURN % 2 == 0 or process.poll() is not None:
                    break
        turns.opened.append((done, now))
        turns.cpu += served.cpu_seconds() - cpu
        turns.wall += time.perf_counter() - began
    process.wait()
    return turns


def _read_seconds(path: Path) -> list[float]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [one["seconds"] for one in lines if one["kind"] == "round" and one["arm"] == "run"]


def _pair(seconds: list[float], turns: _Turns) -> list[float]:
    """Ratio of each open turn to the mean of the neighbouring closed turns; edges are left out."""
    found = []
    for begin, end in turns.opened:
        first = begin // _TURN * _TURN
        open_ = seconds[begin + 1 : end - 1]
        closed = [
            *seconds[first - _TURN + 1 : first - 1],
            *seconds[end + 1 : first + 2 * _TURN - 1],
        ]
        if len(open_) >= _TURN // 2 and closed:
            found.append(statistics.median(open_) / statistics.median(closed))
    return found


def _interval(ratios: list[float]) -> tuple[float, float]:
    """95 % interval of the median minus 1, by the bootstrap."""
    draw = np.random.default_rng(1)
    medians = [np.median(draw.choice(ratios, len(ratios))) for _ in range(2000)]
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(low - 1), float(high - 1)


FIGURES = {
    "long": measure_long,
    "list": measure_list,
    "live": measure_live,
    "cost": measure_cost,
}


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.ui", description=__doc__)
    parser.add_argument("figures", nargs="*", choices=[*FIGURES, []], help="by default all")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    known: dict[str, Any] = json.loads(_OUT.read_text()) if _OUT.exists() else {}
    for name in asked.figures or FIGURES:
        with tempfile.TemporaryDirectory() as folder:
            found = FIGURES[name](Path(folder), asked.repeats)
        for one in found:
            print(one.show(), flush=True)
        known[name] = [one.__dict__ for one in found]
    _OUT.parent.mkdir(exist_ok=True)
    _OUT.write_text(json.dumps(known, indent=1))


if __name__ == "__main__":
    main()
