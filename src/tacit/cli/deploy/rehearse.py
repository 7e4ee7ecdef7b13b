"""tacit deploy rehearse: run a plan between a server and several sites, all on this machine."""

from __future__ import annotations

import contextlib
import json
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
from tacit.cli.options import RUNS, AsJson, NoReport, Overrides, PlanFile, Quiet, Runs
from tacit.cli.top.run import carry_out, list_targets

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
        typer.Option("--sites", min=1, max=len(_NAMES), help="Number of sites."),
    ] = 3,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Also simulate the run with the same noise, and compare the models.",
        ),
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Keep the folders of server and sites here; by default they are deleted.",
        ),
    ] = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
) -> None:
    """Rehearse a deployment: run a plan between separate sites on this machine.

    The clients of the simulation are divided among sites. Each site is a
    process with its own rows, keys, policy and ledger. A server with TLS
    passes signed messages between them. All processes stop at the end.
    A [corrupt] table is left out: only a simulation corrupts clients.

    \b
    Examples:
      tacit deploy rehearse examples/newsgroups.toml -o server.rounds=5
      tacit deploy rehearse plan.toml --sites 3 --compare
    """
    from tacit.plan import load
    from tacit.simulation.rehearsal import prepare_rehearsal

    loaded = replace(load(plan, overrides), baselines=())
    if loaded.corrupt is not None:
        tables.line("rehearsed without [corrupt], which only a simulation can do", stderr=True)
        loaded = replace(loaded, corrupt=None)
    place = keep or Path(tempfile.mkdtemp(prefix="tacit-rehearsal-"))

    def work(observer: Observer) -> Path:
        ready = prepare_rehearsal(loaded, place / "rows", sites)
        with start_sites(place, ready) as server:
            return deploy_between(server, ready, runs, observer, same_noise=False)

    try:
        if compare:
            hashes = compare_models(loaded, place, lambda ready: start_sites(place, ready), sites)
            _print_comparison(*hashes, as_json=as_json)
        else:
            carry_out(
                work,
                as_json=as_json,
                quiet=quiet,
                page=not no_report,
                log=list_targets(loaded, None),
                explain_stop=lambda _: "a rehearsal is not resumed; run the command again",
            )
    finally:
        if keep is None:
            shutil.rmtree(place, ignore_errors=True)


def _print_comparison(simulated: str, deployed: str, *, as_json: bool) -> None:
    from tacit.cli.exit_codes import Missed

    if as_json:
        tables.print_json(
            "rehearsal/1",
            {"simulated": simulated, "sites": deployed, "same": simulated == deployed},
        )
    else:
        tables.line(f"simulation  {simulated}")
        tables.line(f"sites       {deployed}")
    if simulated != deployed:
        raise Missed("the two models differ")
    if not as_json:
        tables.line("both models are identical to the bit")


@contextlib.contextmanager
def start_sites(place: Path, ready: Rehearsal) -> Iterator[Path]:
    """Start a server and one site per file of rows; yield the server's folder, then stop all."""
    from tacit.cli.server.start import make_certificates
    from tacit.deployment.transport.server.registry import register
    from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink

    server = place / "server"
    make_certificates(server, ["127.0.0.1"])
    with (
        start_superlink(SuperLinkSettings(server, "127.0.0.1", 0, True)) as where,
        contextlib.ExitStack() as stack,
    ):
        for folder, public in _create_sites(place, ready, where.address, server):
            register(server, folder.name, public)
            stack.enter_context(_join(folder))
        yield server


def _create_sites(
    place: Path, ready: Rehearsal, address: str, server: Path
) -> list[tuple[Path, bytes]]:
    """Create the folders of the sites, with each other's signing keys; also their public keys."""
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
        (place / name / POLICY).write_text(_write_policy(ready.plan), encoding="utf-8")
    exchange_peer_keys([folder for folder, _ in made])
    return made


def _write_policy(plan: Plan) -> str:
    """The policy of a rehearsal, which also allows the code that the user's own plan names."""
    from tacit.deployment.deployable_plan import remove_simulation_settings
    from tacit.privacy.policy.user_code import find_user_code

    code = json.dumps([str(one) for one in find_user_code(remove_simulation_settings(plan))])
    return POLICY_OF_A_REHEARSAL.replace("[allow]\n", f"[allow]\nuser_code = {code}\n", 1)


@contextlib.contextmanager
def _join(folder: Path) -> Iterator[None]:
    """Run a site in a separate process, which ends with this one, even if this one is killed."""
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


def deploy_between(
    server: Path, ready: Rehearsal, runs: Path, observer: Observer, *, same_noise: bool
) -> Path:
    """Run the rehearsed plan between the sites of a server; the run's folder."""
    from tacit.cli.deploy.run import Connection
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
"""Starts a server with sites for a rehearsal, and yields its folder."""


def compare_models(plan: Plan, place: Path, start: Servers, sites: int) -> tuple[str, str]:
    """Model hashes of a simulation, and of the same run between sites with the same noise."""
    from tacit import simulation
    from tacit.api import Run
    from tacit.deployment.deployable_plan import prepare_for_sites
    from tacit.simulation.rehearsal import prepare_rehearsal

    ready = prepare_rehearsal(plan, place / "rows", sites)
    prepare_for_sites(ready.plan, simulated_noise=True)  # refuse before anything is trained
    simulated = simulation.start(plan, place / "simulated")
    with start(ready) as server:
        between = deploy_between(
            server, ready, place / "deployed", simulation.Silence(), same_noise=True
        )
    return Run(simulated).parameters_sha256, Run(between).parameters_sha256


POLICY_OF_A_REHEARSAL = """# A rehearsal on one machine: everything a plan may ask is allowed. Do not use it for real data.
[allow]
models = ["*"]
codecs = ["*"]
files = ["*"]
schemas = ["*"]
disclosures = [
  "clients", "rows", "classes", "ranges", "exact_ranges", "formats", "categories", "words", "measures",
  "class_counts"
]
votes = true
negotiation = true
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
