"""A server, three sites and runs, each in a process of its own, with a link between the server and each site that can be cut.

With the right to make network namespaces the server and every site have one of their own. Without it all of them use
the loopback address, and rows that need a link are left out.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import ROOT, SOURCE
from bench.faults.dying import ARRIVED, CLOCK, HELD, HOLD
from bench.faults.field import Mortal, until
from bench.faults.ledgers import Verdict, judged, totals
from bench.faults.trial import run_of
from tacit.api import Run
from tacit.cli.deploy.rehearse import POLICY_OF_A_REHEARSAL
from tacit.deployment.server import job
from tacit.plan import Plan
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal

DEPLOY, SERVER = ["deploy", "run"], ["server", "start"]
"""Words of the commands that start a run and a server."""
NAMES = ("a", "b", "c")
SPACES = "TACIT_FAULT_SPACES"
"""Environment variable with the beginning of the names of the namespaces; unset without them."""
ADDRESS = "10.78.0.1"
_RUN_SECONDS = 260.0
_STAMP = re.compile(r"^\S+Z? (INFO|WARNING|ERROR) ")


def name_space(which: str) -> str:
    """Name of the namespace of the server or of a site."""
    return f"{os.environ[SPACES]}{which}"


@contextlib.contextmanager
def make_spaces(beginning: str) -> Iterator[None]:
    """Make namespaces for the server and the sites, with a link between the server and each site."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        for which in ("s", *NAMES):
            ip("netns", "add", f"{beginning}{which}")
            ip("-n", f"{beginning}{which}", "link", "set", "lo", "up")
        ip("-n", f"{beginning}s", "addr", "add", f"{ADDRESS}/32", "dev", "lo")
        for number, name in enumerate(NAMES, 1):
            ends = f"tf{name}s", f"tf{name}c"
            words = ["netns", f"{beginning}s", "type", "veth", "peer", "name", ends[1]]
            ip("link", "add", ends[0], *words, "netns", f"{beginning}{name}")
            for space, end, last in (("s", ends[0], 1), (name, ends[1], 2)):
                ip(
                    "-n",
                    f"{beginning}{space}",
                    "addr",
                    "add",
                    f"10.78.{number}.{last}/24",
                    "dev",
                    end,
                )
                ip("-n", f"{beginning}{space}", "link", "set", end, "up")
            ip("-n", f"{beginning}{name}", "route", "add", ADDRESS, "via", f"10.78.{number}.1")
        yield
    finally:
        for which in ("s", *NAMES):
            subprocess.run(
                ["ip", "netns", "del", f"{beginning}{which}"], check=False, capture_output=True
            )


@dataclass
class Placed(Mortal):
    """A process in a namespace, with an environment of its own."""

    prefix: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start it."""
        usual = {"PYTHONPATH": f"{ROOT}{os.pathsep}{SOURCE}", "TACIT_LOG": "text"}
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*self.prefix, sys.executable, "-P", *self.words],
                stdout=log,
                stderr=log,
                env={**os.environ, **usual, **self.environment},
            )

    def read_log(self) -> str:
        """Everything that it printed."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def waits_for(self, text: str) -> None:
        """Wait until it has printed something."""
        until(lambda: text in self.read_log(), f"{self.folder.name} prints {text!r}")

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def ends(self) -> None:
        """Wait until it has ended by itself."""
        until(lambda: self.code is not None, f"{self.folder.name} has ended")


@dataclass
class FaultyRun:
    """A run that is held before some of its requests, so that something can happen meanwhile."""

    place: Path
    deploy: Placed
    began: float = 0.0

    def hold(self, *points: str) -> None:
        """Let the run wait before requests, such as `ask 3`."""
        fresh = self.deploy.folder / f"{HOLD}.new"
        fresh.write_text("\n".join(points))
        fresh.replace(self.deploy.folder / HOLD)

    def is_held(self, point: str) -> None:
        """Wait until the run waits before a request."""
        path = self.deploy.folder / HELD
        until(lambda: path.exists() and path.read_text() == point, f"the run waits before {point}")

    def start(self) -> None:
        """Start or resume it."""
        self.began = self.began or time.monotonic()
        self.deploy.start()

    def release(self, *points: str) -> None:
        """Let it go on, up to the given points."""
        self.hold(*points)

    def finish(self) -> float:
        """Wait until the process ends; the seconds since the run began."""
        assert self.deploy.process is not None
        self.deploy.process.wait(_RUN_SECONDS)
        return time.monotonic() - self.began


@dataclass
class Scene:
    """Everything that runs in one row of the table."""

    folder: Path
    ready: Rehearsal
    server: Placed
    sites: dict[str, Placed] = field(default_factory=dict)
    runs: list[FaultyRun] = field(default_factory=list)

    def prepare(self, *options: str, folder: str = "runs", min_sites: int = 3) -> FaultyRun:
        """A run that is not started yet."""
        place = job.prepare(
            self.ready.plan,
            self.folder / folder,
            test=str(self.ready.test.resolve()),
            simulated_noise=True,
            identity=self.ready.identity,
        )
        words = ["--min-sites", str(min_sites), *options]
        made = FaultyRun(place, self.resume(place, *words))
        self.runs.append(made)
        return made

    def resume(self, place: Path, *words: str, name: str = "") -> Placed:
        """The process that begins or resumes a run."""
        own = self.folder / "deploys" / (name or f"{place.parent.name}-{place.name}")
        own.mkdir(parents=True)
        fixed = ["--resume", str(place), "--folder", str(self.server.folder), "--no-report"]
        return Placed(["-m", "bench.faults.dying", str(own), *DEPLOY, *fixed, *words], own)

    def call(self, *words: str) -> str:
        """Run a command of Tacit and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tacit", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{SOURCE}"},
        )
        return done.stdout + done.stderr

    def set_clock(self, name: str, seconds: float) -> None:
        """Let a site's clock be ahead from its next start on."""
        path = self.sites[name].folder / CLOCK
        path.write_text(str(seconds)) if seconds else path.unlink(missing_ok=True)

    def link(self, name: str, *words: str) -> None:
        """Change the link of a site: `set up`, `set down`."""
        end = f"tf{name}s"
        subprocess.run(["ip", "link", words[0], end, *words[1:]], check=True)

    def slow(self, name: str, rate: str) -> None:
        """Limit the link of a site in both directions."""
        words = ["root", "tbf", "rate", rate, "burst", "4k", "latency", "2s"]
        subprocess.run(["tc", "qdisc", "add", "dev", f"tf{name}s", *words], check=True)
        prefix = ["ip", "netns", "exec", name_space(name)]
        subprocess.run([*prefix, "tc", "qdisc", "add", "dev", f"tf{name}c", *words], check=True)

    def server_is_up(self) -> bool:
        """Whether the server that was started last accepts connections."""
        from tacit.deployment.transport.server.endpoint import read_endpoint
        from tacit.errors import PeerError

        try:
            found = read_endpoint(self.server.folder)
        except PeerError:
            return False
        return self.server.process is not None and found.pid == self.server.process.pid

    def sum_up(self, run: FaultyRun) -> dict[str, object]:
        """What a run ended with: exit code, model, who was missing and how long, and the ledgers."""
        done = run.deploy.code == 0
        run_name = run_of(run.place)
        folders = [one.folder for one in self.sites.values()]
        log = run.deploy.folder / ARRIVED
        log.touch()
        found: Verdict = judged(folders, run_name, log, {})
        missing = record.select_entries(
            list(record.read(run.place / RECORD)) if (run.place / RECORD).exists() else [],
            record.SiteMissing,
        )
        return {
            "code": run.deploy.code,
            "model": Run(run.place).parameters_sha256 if done else "",
            "ledgers": {
                "uncharged": found.uncharged,
                "double": found.double,
                "unanswered": found.unanswered,
                "damaged": found.damaged,
            },
            "charges": {one.name: sorted(totals(one, run_name).values()) for one in folders},
            "missing": [
                [one.round_no, one.exchange, one.site, one.reason, one.seconds] for one in missing
            ],
        }


@contextlib.contextmanager
def open_scene(folder: Path, plan: Plan, mounts: Sequence[Path] = ()) -> Iterator[Scene]:
    """Yield a scene whose server and sites run; all of it ends with the block. `mounts` are folders
    on small disks of their own.
    """
    from tacit.cli.server.start import make_certificates
    from tacit.deployment.site.site_folder import POLICY, SiteSettings, create_site
    from tacit.deployment.transport.certificates import AUTHORITY
    from tacit.deployment.transport.server.registry import find_online_sites, register

    has_spaces = SPACES in os.environ
    host, server = ADDRESS if has_spaces else "127.0.0.1", folder / "server"
    scene = Scene(folder, prepare_rehearsal(plan, folder / "rows", 3), Placed([], server))
    with contextlib.ExitStack() as stack:
        for path in mounts:
            stack.enter_context(_small_disk(path))
        make_certificates(server, [host])
        port = 8443 if has_spaces else 18_777
        words = [str(server), "--host", host, "--port", str(port)]
        scene.server.words = ["-m", "tacit", *SERVER, *words]
        try:
            scene.server.start()
            until(scene.server_is_up, "the server is up")
            until(lambda: _responds(server), "the server responds")
            for name, rows in zip(NAMES, scene.ready.files, strict=True):
                place = folder / name
                settings = SiteSettings(
                    name=name,
                    data=str(rows.resolve()),
                    server=f"{host}:{port}",
                    authority=str((server / AUTHORITY).resolve()),
                    state="state",
                    client=scene.ready.plan.data.columns.client,
                )
                register(server, name, create_site(place, settings))
                (place / POLICY).write_text(POLICY_OF_A_REHEARSAL, encoding="utf-8")
                prefix = ["ip", "netns", "exec", name_space(name)] if has_spaces else []
                join = ["-m", "bench.faults.dying", str(place), "site", "join", str(place)]
                scene.sites[name] = Placed(join, place, prefix=prefix)
                scene.sites[name].start()
            until(lambda: all(find_online_sites(server).values()), "all sites are online")
            yield scene
        finally:
            for one in (*(run.deploy for run in scene.runs), *scene.sites.values(), scene.server):
                one.kill()


def _responds(server: Path) -> bool:
    from tacit.deployment.transport.server.registry import find_online_sites
    from tacit.errors import PeerError

    try:
        find_online_sites(server)
    except PeerError:
        return False
    return True


@contextlib.contextmanager
def _small_disk(path: Path) -> Iterator[None]:
    path.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", str(path)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False)


def fill_disk(folder: Path) -> Path:
    """Write a file until the disk is full."""
    path = folder / "filler"
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
    with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
        while True:
            file.write(b"0")
    return path


def list_lines(log: str, most: int = 40) -> list[str]:
    """The last lines of a log, each once, without times and folders of this machine."""
    found: list[str] = []
    for line in log.splitlines():
        text = re.sub(r"/\S*/", "", _STAMP.sub(r"\1 ", line)).strip()
        text = re.sub(r"\b(faults-\d+)-[0-9a-f]{8}\b", r"\1", text)
        if text and text not in found:
            found.append(text)
    return found[-most:]


_TELLING = re.compile(
    r"^(WARNING|ERROR)|missing in|not received|retrying|cannot|refuse|must|unreachable|waiting|is used"
    r"|another process|renew|does not know|is not from|: needs|: online$"
)
_SILENT = re.compile(r"Nothing to compare|nobody was protected|simulated")


def choose_lines(lines: list[str], most: int = 4) -> list[str]:
    """The lines of a log that say that something was unusual."""
    found = [line for line in lines if _TELLING.search(line) and not _SILENT.search(line)]
    if all(line.endswith(": online") for line in found):
        return []
    return found[:most]
