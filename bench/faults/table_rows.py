"""The rows of the fault table: what happens in each, and what must come of it."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.faults.scene import FaultyRun, Scene, fill_disk, name_space


@dataclass(frozen=True)
class FaultRow:
    """A row: what happens, what comes of it, and whether the model is that of the undisturbed run.

    `why` says why not. `needs_links` rows need network namespaces; `disks` are folders on small
    disks of their own.
    """

    name: str
    title: str
    happen: Callable[[Scene], FaultyRun]
    why: str = ""
    needs_links: bool = False
    disks: tuple[str, ...] = ()
    most_waited: float | None = None
    person: str = "c"


ROWS: dict[str, FaultRow] = {}


def _row(
    name: str, title: str, **settings: object
) -> Callable[[Callable[[Scene], FaultyRun]], Callable[[Scene], FaultyRun]]:
    def keep(happen: Callable[[Scene], FaultyRun]) -> Callable[[Scene], FaultyRun]:
        ROWS[name] = FaultRow(name, title, happen, **settings)  # type: ignore[arg-type]
        return happen

    return keep


def _begin(scene: Scene, *options: str, at: str = "ask 3", min_sites: int = 3) -> FaultyRun:
    """A run that waits before a request."""
    run = scene.prepare(*options, min_sites=min_sites)
    run.hold(at)
    run.start()
    run.is_held(at)
    return run


def _end(run: FaultyRun) -> FaultyRun:
    run.release()
    run.finish()
    return run


@_row("undisturbed", "nothing happens")
def _undisturbed(scene: Scene) -> FaultyRun:
    return _end(_begin(scene))


@_row("site-killed", "kill -9 of a site after it was charged, and a new start")
def _site_killed(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    scene.sites["c"].tell("after reserved")
    run.release()
    assert scene.sites["c"].died_there(60, lambda: True)
    scene.sites["c"].start()
    return _end(run)


@_row("server-killed", "kill -9 of the server, and a new start")
def _server_killed(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    scene.server.kill()
    run.release()
    time.sleep(1.0)
    scene.server.start()
    return _end(run)


@_row("run-killed", "kill -9 of the process that runs the plan, and `deploy run --resume`")
def _run_killed(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    run.deploy.tell("after collected")
    run.release()
    assert run.deploy.died_there(60, lambda: True)
    run.start()
    return _end(run)


@_row("six-kills", "six kills -9 at random moments, of any process, and new starts")
def _six_kills(scene: Scene) -> FaultyRun:
    random = np.random.default_rng(6)
    points = [f"ask {number}" for number in (2, 3, 4, 5)]
    run = scene.prepare()
    run.hold(*points)
    run.start()
    for kill in range(6):
        if kill % 3 != 2 and points:
            run.is_held(points[0])
            points = points[1:]
            run.release(*points)
        time.sleep(float(random.uniform(0.0, 0.5)))
        one = random.choice([*scene.sites, "server", "run"])
        process = {"server": scene.server, "run": run.deploy, **scene.sites}[str(one)]
        if process is run.deploy and run.deploy.code is not None:
            continue
        process.kill()
        process.start()
        if process is scene.server:
            time.sleep(1.0)
    return _end(run)


@_row("link-down", "the link of a site is down for 20 seconds", needs_links=True)
def _link_down(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    scene.link("c", "set", "down")
    run.release()
    time.sleep(20.0)
    scene.link("c", "set", "up")
    return _end(run)


@_row("frozen", "a site's process is stopped for 20 seconds (SIGSTOP)")
def _frozen(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    scene.sites["c"].send(signal.SIGSTOP)
    run.release()
    time.sleep(20.0)
    scene.sites["c"].send(signal.SIGCONT)
    return _end(run)


@_row("slow-link", "the link of a site has 64 kbit/s", needs_links=True)
def _slow_link(scene: Scene) -> FaultyRun:
    scene.slow("c", "64kbit")
    return _end(_begin(scene))


@_row(
    "disk-full-site",
    "the disk of a site is full; later it has free space, and the run is resumed",
    disks=("c",),
)
def _disk_full_site(scene: Scene) -> FaultyRun:
    run = _begin(scene, "--deadline", "15")
    filler = fill_disk(scene.sites["c"].folder)
    run.release()
    run.finish()
    filler.unlink()
    if scene.sites["c"].code is not None:
        scene.sites["c"].start()
    run.start()
    return _end(run)


@_row(
    "disk-full-server",
    "the server's disk is full; later it has free space, and the run is resumed",
    disks=("server", "runs"),
    person="server",
)
def _disk_full_server(scene: Scene) -> FaultyRun:
    run = _begin(scene, "--deadline", "15")
    fillers = [fill_disk(scene.folder / name) for name in ("server", "runs")]
    run.release()
    run.finish()
    for filler in fillers:
        filler.unlink()
    if scene.server.code is not None:
        scene.server.start()
    run.start()
    return _end(run)


@_row("clock-off", "a site starts with a clock that is ten minutes ahead, then with the right one")
def _clock_off(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    scene.sites["c"].kill()
    scene.set_clock("c", 600.0)
    scene.sites["c"].start()
    scene.sites["c"].ends()
    scene.set_clock("c", 0.0)
    scene.sites["c"].start()
    return _end(run)


@_row("wrong-certificate", "the server shows a certificate of another authority, then its own")
def _wrong_certificate(scene: Scene) -> FaultyRun:
    from tacit.deployment.transport.certificates import (
        SERVER_CERTIFICATE,
        SERVER_KEY,
        make_authority,
        make_server_certificate,
    )

    run, other = _begin(scene), scene.folder / "other"
    make_authority(other)
    make_server_certificate(other, [])
    kept = scene.folder / "kept"
    kept.mkdir()
    for name in (SERVER_CERTIFICATE, SERVER_KEY):
        shutil.copy2(scene.server.folder / name, kept / name)
    for name in (SERVER_CERTIFICATE, SERVER_KEY):
        shutil.copy2(other / name, scene.server.folder / name)
    scene.sites["c"].kill()
    scene.sites["c"].start()
    scene.sites["c"].ends()
    for name in (SERVER_CERTIFICATE, SERVER_KEY):
        shutil.copy2(kept / name, scene.server.folder / name)
    scene.sites["c"].start()
    return _end(run)


@_row(
    "site-leaves",
    "a site leaves for good (`site leave`); `--min-sites 2`",
    why="the clients of site c are not in rounds 3 to 6",
    most_waited=5.5,
)
def _site_leaves(scene: Scene) -> FaultyRun:
    run = _begin(scene, min_sites=2)
    scene.call("site", "leave", str(scene.sites["c"].folder))
    return _end(run)


@_row(
    "site-killed-for-good",
    "a site is killed for good; `--min-sites 2`",
    why="the clients of site c are not in rounds 3 to 6",
    most_waited=12.0,
)
def _killed_for_good(scene: Scene) -> FaultyRun:
    run = _begin(scene, min_sites=2)
    scene.sites["c"].tell("before reserved")
    run.release()
    assert scene.sites["c"].died_there(60, lambda: True)
    return _end(run)


@_row(
    "fewer-sites",
    "a run stops without a site, and is resumed with `--min-sites 2`",
    why="the clients of site c are not in rounds 3 to 6",
)
def _fewer_sites(scene: Scene) -> FaultyRun:
    run = _begin(scene, "--deadline", "30")
    scene.call("site", "leave", str(scene.sites["c"].folder))
    run.release()
    run.finish()
    run.deploy.words += ["--min-sites", "2"]
    run.start()
    return _end(run)


@_row("upgrade", "a site is stopped and continues with a newer version of Tacit")
def _upgrade(scene: Scene) -> FaultyRun:
    from bench import ROOT, SOURCE
    from tests.wheel.try_upgrade import install, make_newer

    newer = scene.folder / "newer"
    install(make_newer(newer, other_default=False), scene.folder / "installed")
    run, site = _begin(scene), scene.sites["c"]
    site.send(signal.SIGTERM)
    site.ends()
    site.environment = {"PYTHONPATH": f"{scene.folder / 'installed'}:{ROOT}:{SOURCE}"}
    site.environment["TACIT_BENCH_INSTALLED"] = "1"
    site.start()
    return _end(run)


@_row(
    "rows-changed",
    "a site's file of rows changes before round 3, and is the old one again before round 5",
    why="the clients of site c are not in rounds 3 and 4",
)
def _rows_changed(scene: Scene) -> FaultyRun:
    run, rows = _begin(scene, min_sites=2), scene.ready.files[2]
    before = rows.read_bytes()
    rows.write_bytes(before[: len(before) // 2])
    run.release("ask 5")
    run.is_held("ask 5")
    rows.write_bytes(before)
    return _end(run)


@_row("certificate-renewed", "the server's certificate is renewed, and a site connects anew")
def _certificate_renewed(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    print(scene.call(*RENEW, str(scene.server.folder), "--now"), flush=True)
    scene.sites["c"].kill()
    scene.sites["c"].start()
    return _end(run)


@_row("two-runs", "two coordinators run two plans on one server at the same time")
def _two_runs(scene: Scene) -> FaultyRun:
    first, second = _begin(scene), scene.prepare(folder="others")
    second.hold("ask 3")
    second.start()
    second.is_held("ask 3")
    second.release()
    first.release()
    first.finish()
    return _end(second)


@_row("same-run-twice", "a second coordinator resumes a run that is under way")
def _same_run_twice(scene: Scene) -> FaultyRun:
    run = _begin(scene)
    second = scene.resume(run.place, name="second")
    second.start()
    second.ends()
    (scene.folder / "second.log").write_text(second.read_log())
    return _end(run)


@_row(
    "leaves-before-start",
    "a site agrees to a run and leaves before it begins; `--min-sites 2`",
    why="the run began without site c",
)
def _leaves_before_start(scene: Scene) -> FaultyRun:
    run = _begin(scene, at="begin 0", min_sites=2)
    scene.call("site", "leave", str(scene.sites["c"].folder))
    return _end(run)


RENEW = ["server", "certs", "renew"]
"""Words of the command that renews a certificate."""


def choose_spaces(scene: Scene) -> list[str]:
    """Names of the namespaces of a scene's sites."""
    return [name_space(name) for name in scene.sites]


def find_folders(row: FaultRow, folder: Path) -> list[Path]:
    """The folders of a row that are on small disks."""
    return [folder / name for name in row.disks]
