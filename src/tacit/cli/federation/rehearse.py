"""tacit rehearse: a server and several sites on this machine, from nothing to the table, and
nothing left running.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.jobs.run import carry_out
from tacit.cli.options import RUNS, AsJson, NoReport, Overrides, PlanFile, Quiet, Runs

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.protocol.observer import Observer
    from tacit.simulation.rehearsal import Rehearsal

_NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "i")
_STOP_SECONDS = 10.0


def rehearse(
    plan: PlanFile,
    overrides: Overrides = None,
    sites: Annotated[
        int,
        typer.Option("--sites", min=1, max=len(_NAMES), help="How many sites share the clients."),
    ] = 3,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Simulate the same run too, with the same noise, and compare the models.",
        ),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Keep the server and sites there; without it they are removed.",
        ),
    ] = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
) -> None:
    """Rehearse a plan between real sites on this machine.

    The clients of a simulation are divided among sites, each with rows,
    keys, a policy and a ledger of its own and in a process of its own. A
    server with TLS passes letters between them. Everything is stopped at
    the end.

    \b
    Examples:
      tacit rehearse examples/newsgroups.toml -o server.rounds=5
      tacit rehearse plan.toml --sites 3 --compare
    """
    from tacit.plan import load
    from tacit.simulation.rehearsal import rehearsal

    loaded = replace(load(plan, overrides), baselines=())
    place = folder or Path(tempfile.mkdtemp(prefix="tacit-rehearsal-"))

    def work(observer: Observer) -> Path:
        ready = rehearsal(loaded, place / "rows", sites)
        with started(place, ready) as server:
            return deployed(server, ready, runs, observer, False)

    try:
        if compare:
            _tell_compared(
                *compared(loaded, place, lambda ready: started(place, ready), sites),
                as_json=as_json,
            )
        else:
            carry_out(work, as_json=as_json, quiet=quiet, page=not no_report)
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)


def _tell_compared(simulated: str, deployed: str, *, as_json: bool) -> None:
    from tacit.cli.exit_codes import Missed

    if as_json:
        tables.print_json(
            {"simulated": simulated, "sites": deployed, "same": simulated == deployed}
        )
    else:
        tables.line(f"simulation  {simulated}")
        tables.line(f"sites       {deployed}")
    if simulated != deployed:
        raise Missed("the two models differ")
    if not as_json:
        tables.line("both models are the same to the bit")


@contextlib.contextmanager
def started(place: Path, ready: Rehearsal) -> Iterator[Path]:
    """Yield the folder of a running server that a site for each file of rows has joined; all
    processes end with the block.
    """
    from tacit.cli.federation.server import make_certificates
    from tacit.deployment.transport.server.registry import register
    from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink

    server = place / "server"
    make_certificates(server, ["127.0.0.1"])
    with (
        start_superlink(SuperLinkSettings(server, "127.0.0.1", 0, True)) as where,
        contextlib.ExitStack() as stack,
    ):
        for folder, public in _made_sites(place, ready, where.address, server):
            register(server, folder.name, public)
            stack.enter_context(_joined(folder))
        yield server


def _made_sites(
    place: Path, ready: Rehearsal, address: str, server: Path
) -> list[tuple[Path, bytes]]:
    """Make the folders of the sites, each knowing the signing keys of the others; return them with
    their public keys.
    """
    from tacit.deployment.site.site_folder import (
        POLICY,
        SiteSettings,
        create_site,
        exchange_peer_keys,
    )
    from tacit.deployment.transport.certificates import AUTHORITY

    made = []
    for name, rows in zip(_NAMES, ready.files, strict=False):
        settings = SiteSettings(
            name=name,
            data=str(rows.resolve()),
            server=address,
            authority=str((server / AUTHORITY).resolve()),
            state="state",
            client=ready.plan.data.columns.client,
            quasi_identifiers=ready.plan.data.columns.quasi,
        )
        made.append((place / name, create_site(place / name, settings)))
        (place / name / POLICY).write_text(POLICY_OF_A_REHEARSAL, encoding="utf-8")
    exchange_peer_keys([folder for folder, _ in made])
    return made


@contextlib.contextmanager
def _joined(folder: Path) -> Iterator[None]:
    """Run a site in a process of its own, which ends with this one, whatever ends it."""
    with (folder / "site.log").open("w") as log:
        words = [sys.executable, "-P", "-m", "tacit", "site", "join", str(folder), "--with-parent"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            yield
        finally:
            if process.stdin:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def deployed(
    server: Path, ready: Rehearsal, runs: Path, observer: Observer, same_noise: bool
) -> Path:
    """Return the folder of a run of the rehearsed plan between the sites of a server."""
    from tacit.cli.federation.deploy import Connection
    from tacit.deployment.server import job
    from tacit.deployment.server.messenger import RequestSettings

    identity = ready.identity if same_noise else None
    begun = job.prepare(
        ready.plan,
        runs,
        test=str(ready.test.resolve()),
        simulated_noise=same_noise,
        identity=identity,
    )
    settings = RequestSettings(min_sites=len(ready.files), deadline=300.0)
    try:
        return Connection(server, ready.plan.name, settings).until_done(begun, observer)
    finally:
        job.forget_unbegun(begun)


Servers = Callable[["Rehearsal"], AbstractContextManager[Path]]
"""Starts a server with sites for a rehearsal, and gives its folder."""


def compared(plan: Plan, place: Path, server_of: Servers, sites: int) -> tuple[str, str]:
    """Return the hashes of the model of a simulation, and of the same run between sites with the
    same noise.
    """
    from tacit import simulation
    from tacit.api import Run
    from tacit.simulation.rehearsal import rehearsal

    simulated = simulation.start(plan, place / "simulated")
    ready = rehearsal(plan, place / "rows", sites)
    with server_of(ready) as server:
        between = deployed(server, ready, place / "deployed", simulation.Silence(), True)
    return Run(simulated).parameters_sha256, Run(between).parameters_sha256


POLICY_OF_A_REHEARSAL = """# A rehearsal on one machine: everything the plan may ask is allowed. A real owner writes another.
[allow]
models = ["*"]
codecs = ["*"]
files = ["*"]
disclosures = [
  "clients", "rows", "classes", "ranges", "exact_ranges", "formats", "categories", "words", "measures"
]
votes = true
trust_server = true
simulation_noise = true

[columns]
label = ["*"]
text = ["*"]
numeric = ["*"]
categorical = ["*"]
image = ["*"]
split = ["*"]

[limits]
max_epsilon_per_run = 1e12
max_epsilon_lifetime = 1e12
delta = 0.1
no_epsilon = true
max_rounds_per_run = 100000
max_rounds_per_day = 100000
min_cohort = 1
min_clients_per_value = 1
max_values_per_column = 100000
max_test_share = 0.9

[measures]
counts = "exact"
min_rows = 1
min_clients = 1

[share]
columns = ["*"]
exact = ["*"]
generalise = {"*" = ["*"]}
min_k = 1
min_l = 1
max_share = 1.0
"""
