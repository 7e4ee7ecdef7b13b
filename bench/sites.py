"""`python -m bench sites`: the round, the server and an idle site with 3, 10, 30 or more sites on this machine.

The same clients are divided among any number of sites, so the training is the same work. The figures are the median round
without each run's first, the CPU time per round of server, coordinator and sites, and what server and sites use while they
wait for 60 seconds. Sizes are measured in turn, and each size runs on a new server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import ROOT, SOURCE
from bench.carriers import build_plan, write_rows
from tacit import simulation
from tacit.cli.deploy.rehearse import POLICY_OF_A_REHEARSAL, deploy_between
from tacit.plan import Plan
from tacit.runs import record
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal

PAGE = ROOT / "docs" / "benchmarks" / "sites.md"
"""The page that is written from the results."""
RESULTS = ROOT / "docs" / "results" / "sites.json"
_CLIENTS, _ROWS = 300, 6_000
WORK = {"little": 1, "more": 60}
"""Epochs of local training: hardly any work, and about three times the CPU time of it."""
_TICKS = os.sysconf("SC_CLK_TCK")
_ONLINE_SECONDS, _STOP_SECONDS, _SETTLE_SECONDS = 600.0, 15.0, 5.0


@dataclass(kw_only=True)
class SiteCounts:
    """What was measured with a number of sites. Seconds are of the clock, CPU seconds of all cores;
    shares are of one core, memory in MB.
    """

    sites: int
    work: str = "little"
    version: str = "now"
    rounds: list[float] = field(default_factory=list)
    server_cpu: float = 0.0
    coordinator_cpu: float = 0.0
    site_cpu: float = 0.0
    server_idle: float = 0.0
    site_idle: float = 0.0
    server_memory: float = 0.0
    site_memory: float = 0.0
    site_memory_after: float = 0.0
    load: float = 0.0

    @property
    def round_seconds(self) -> float:
        """The median round."""
        return statistics.median(self.rounds)


class CpuAtRounds(simulation.Silence):
    """The CPU seconds of each group of processes after each round of a run."""

    def __init__(self, groups: dict[str, list[int]]) -> None:
        self._groups = groups
        self.seen: list[dict[str, float]] = []

    def entry(self, entry: record.Entry) -> None:
        """Take the CPU seconds when a round has ended."""
        if isinstance(entry, record.Round):
            self.seen.append(
                {name: sum(map(read_cpu, pids)) for name, pids in self._groups.items()}
            )


def read_cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def read_memory(pid: int) -> float:
    """Memory of a process in MB; pages that it shares with others count in part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def build_work(folder: Path, rounds: int, work: str) -> Plan:
    """A plan of `_CLIENTS` clients with little or more to train; the last model is evaluated."""
    plan = build_plan("rr", write_rows(folder / "rows.csv", _ROWS))
    return replace(
        plan,
        data=replace(plan.data, clients=_CLIENTS),
        local=replace(plan.local, epochs=WORK[work]),
        server=replace(plan.server, rounds=rounds, evaluate_every=rounds, sum_at="site"),
    )


@contextlib.contextmanager
def started(folder: Path, ready: Rehearsal) -> Iterator[tuple[Path, int, list[int]]]:
    """Start a server and a site for each file of rows; yield the server's folder, its process and
    those of the sites.
    """
    from tacit.cli.server.start import make_certificates
    from tacit.deployment.transport.server.registry import find_online_sites, register
    from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink

    server = folder / "server"
    make_certificates(server, ["127.0.0.1"])
    with (
        start_superlink(SuperLinkSettings(server, "127.0.0.1", 0, True)) as where,
        contextlib.ExitStack() as stack,
    ):
        pids = []
        for number, rows in enumerate(ready.files):
            place = folder / f"site-{number:03d}"
            register(server, place.name, _make_site(place, rows, ready, where.address, server))
            pids.append(stack.enter_context(_joined(place)))
        end = time.monotonic() + _ONLINE_SECONDS
        while not all(find_online_sites(server).values()):
            if time.monotonic() > end:
                raise TimeoutError(f"not all sites were online after {_ONLINE_SECONDS:g} s")
            time.sleep(1.0)
        yield server, where.pid, pids


def _make_site(place: Path, rows: Path, ready: Rehearsal, address: str, server: Path) -> bytes:
    from tacit.deployment.site.site_folder import POLICY, SiteSettings, create_site
    from tacit.deployment.transport.certificates import AUTHORITY

    settings = SiteSettings(
        name=place.name,
        data=str(rows),
        server=address,
        authority=str((server / AUTHORITY).resolve()),
        state="state",
        client=ready.plan.data.columns.client,
    )
    public = create_site(place, settings)
    (place / POLICY).write_text(POLICY_OF_A_REHEARSAL, encoding="utf-8")
    return public


@contextlib.contextmanager
def _joined(place: Path) -> Iterator[int]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{SOURCE}"}
    with (place / "log").open("w") as log:
        words = [sys.executable, "-P", "-m", "tacit", "site", "join", str(place), "--with-parent"]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment
        )
        try:
            yield process.pid
        finally:
            if process.stdin:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def measure(sites: int, work: str, rounds: int, idle: float) -> SiteCounts:
    """Measure one number of sites with one amount of work."""
    folder = Path(tempfile.mkdtemp(prefix=f"tacit-sites-{sites}-"))
    try:
        ready = prepare_rehearsal(build_work(folder, rounds, work), folder / "rows", sites)
        with started(folder, ready) as (server, server_pid, pids):
            found = SiteCounts(sites=sites, work=work)
            time.sleep(_SETTLE_SECONDS)
            found.server_idle, found.site_idle = _measure_idle(server_pid, pids, idle)
            found.server_memory = read_memory(server_pid)
            found.site_memory = statistics.median(map(read_memory, pids))
            groups = {"server": [server_pid], "coordinator": [os.getpid()], "sites": pids}
            watched = CpuAtRounds(groups)
            place = deploy_between(server, ready, folder / "runs", watched, same_noise=False)
            entries = record.select_entries(list(record.read(place / "record.jsonl")), record.Round)
            found.rounds = [one.seconds for one in entries][1:]
            first, last, count = watched.seen[0], watched.seen[-1], len(watched.seen) - 1
            found.server_cpu = (last["server"] - first["server"]) / count
            found.coordinator_cpu = (last["coordinator"] - first["coordinator"]) / count
            found.site_cpu = (last["sites"] - first["sites"]) / count / sites
            found.site_memory_after = statistics.median(map(read_memory, pids))
            found.load = os.getloadavg()[0]
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure_idle(server: int, pids: Sequence[int], seconds: float) -> tuple[float, float]:
    """Shares of a core that the server and one site use while nothing is asked."""
    before, began = [read_cpu(pid) for pid in (server, *pids)], time.monotonic()
    time.sleep(seconds)
    after, length = [read_cpu(pid) for pid in (server, *pids)], time.monotonic() - began
    used = np.subtract(after, before) / length
    return float(used[0]), float(np.mean(used[1:]))


def main(words: Sequence[str] | None = None) -> int:
    """Measure the sizes in turn, keep the figures, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench sites", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, help="numbers of sites (default: 3 10 30)")
    parser.add_argument("--work", choices=WORK, default="little", help="work of a round")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of a run (default 6)")
    parser.add_argument("--repeats", type=int, default=1, help="how often (default 1)")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds idle (default 60)")
    asked = parser.parse_args(words)
    known: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for _ in range(asked.repeats):
        for size in asked.sizes or (3, 10, 30):
            found = measure(size, asked.work, asked.rounds, asked.idle)
            known.append(asdict(found))
            print(json.dumps(asdict(found)), file=sys.stderr, flush=True)
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
            PAGE.write_text(write_page([SiteCounts(**one) for one in known]))
    return 0


def write_page(found: Sequence[SiteCounts]) -> str:
    """The page with a row for each size, work and version."""
    lines = [
        "# Many sites on one machine",
        "",
        f"`python -m bench sites` divides the same {_CLIENTS} clients among 3, 10, 30 or 100 sites, each a process of its own, on one"
        " machine with two cores. A site sums its clients' updates. Ratios are to the round of 3 sites with the same work and"
        " version. Other programs kept the cores busy, and not equally: the load is that of one minute at the end of a run."
        " CPU seconds depend less on it. Where sites share two cores, their own processes take most of a round.",
        "",
        "*before* is with messages in Flower's store, where sites poll"
        " ([decision 020](../decisions/020-messages-in-memory.md)); its figure for 3 idle sites is from the 30 seconds after"
        " a message. A site with 124 MB was measured before a waiting site left out what only a run needs. Memory"
        " counts pages that processes share in part.",
        "",
        "| sites | work | version | round, s | ratio | server CPU, s per round | coordinator CPU | CPU of a site | idle server, % of a core"
        " | idle site | server, MB | site, MB | site after a run, MB | load |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    groups: dict[tuple[str, str, int], list[SiteCounts]] = {}
    for one in found:
        groups.setdefault((one.work, one.version, one.sites), []).append(one)
    for (work, version, sites), several in sorted(groups.items()):
        one = _merge(several)
        base = groups.get((work, version, 3))
        ratio = f"{one.round_seconds / _merge(base).round_seconds:.2f}" if base else ""
        lines.append(
            f"| {sites} | {work} | {version} | {one.round_seconds:.2f} | {ratio} | {one.server_cpu:.3f} |"
            f" {one.coordinator_cpu:.3f} | {one.site_cpu:.3f} | {100 * one.server_idle:.1f} |"
            f" {100 * one.site_idle:.2f} | {one.server_memory:.0f} | {one.site_memory:.0f} |"
            f" {one.site_memory_after:.0f} | {one.load:.0f} |"
        )
    return "\n".join(lines) + "\n"


def _merge(found: list[SiteCounts]) -> SiteCounts:
    """Several measurements as one: all rounds, and the median of everything else."""
    figures = {
        name: statistics.median(getattr(one, name) for one in found)
        for name in SiteCounts.__dataclass_fields__
        if name not in ("sites", "work", "version", "rounds")
    }
    rounds = [seconds for one in found for seconds in one.rounds]
    first = found[0]
    return SiteCounts(
        sites=first.sites, work=first.work, version=first.version, rounds=rounds, **figures
    )


if __name__ == "__main__":
    sys.exit(main())
