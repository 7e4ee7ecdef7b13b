"""tacit deploy: run a plan between the sites of a server, with the live view, record and report of
`tacit run`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.federation.server import FOLDER, Folder
from tacit.cli.jobs.run import carry_out
from tacit.cli.options import RUNS, AllowCode, AsJson, NoReport, Overrides, Quiet, Runs

if TYPE_CHECKING:
    from tacit.deployment.server.job import Sites
    from tacit.deployment.server.messenger import RequestSettings
    from tacit.protocol.observer import Observer

_SECONDS_AWAY = 600.0
"""How long a server that went away is waited for."""


def deploy(
    plan: Annotated[
        str | None,
        typer.Argument(metavar="PLAN", help="The plan, a TOML file.", show_default=False),
    ] = None,
    overrides: Overrides = None,
    folder: Folder = FOLDER,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a stopped or killed run."),
    ] = None,
    min_sites: Annotated[
        int, typer.Option("--least-sites", min=1, help="Stop if fewer sites answer.")
    ] = 2,
    deadline: Annotated[
        float,
        typer.Option("--deadline", min=1, help="Seconds to wait for the answers of an exchange."),
    ] = 600.0,
    retry_after: Annotated[
        float,
        typer.Option("--ask-again", min=1, help="Seconds until a silent site is asked again."),
    ] = 20.0,
    test: Annotated[
        Path | None,
        typer.Option("--test", metavar="FILE", help="Rows of the server to measure models on."),
    ] = None,
    helper: Annotated[
        list[str] | None,
        typer.Option("--helper", help="A site that helps with [secure_aggregation]."),
    ] = None,
    simulated_noise: Annotated[
        bool,
        typer.Option(
            "--simulated-noise",
            help="Noise from the plan's seed, to compare with a simulation; not private.",
        ),
    ] = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a plan between the sites that joined the server.

    It runs beside the server (`tacit server`), and ends with the same
    table, record and report as `tacit run`. Without --test models are
    measured on rows the sites hold out. Sites that refuse are named; the
    run goes on with the others.

    \b
    Examples:
      tacit deploy plan.toml --least-sites 3
      tacit deploy plan.toml --test test.csv --deadline 120
      tacit deploy --resume newsgroups-3
    """
    from tacit.deployment.server import job
    from tacit.deployment.server.messenger import RequestSettings
    from tacit.errors import PlanError, TacitError
    from tacit.plan import load

    if (plan is None) == (resume is None):
        raise PlanError(
            "deploy needs a plan, or a run with --resume, got both or neither; name one of them"
        )
    requests = RequestSettings(min_sites=min_sites, deadline=deadline, retry_after=retry_after)
    settings = {
        "test": str(test.resolve()) if test else None,
        "helpers": tuple(helper or ()),
        "simulated_noise": simulated_noise,
    }
    if resume is not None:
        from tacit.cli.folders import folder_of
        from tacit.runs.allowed_code import require_permission
        from tacit.runs.run_folder import PLAN, plan_of

        place = folder_of(resume, runs)
        require_permission(place / PLAN, plan_of(place), allow_code=allow_code)
        name = place.name
    else:
        loaded = load(Path(plan or ""), overrides)
        name = loaded.name

    def work(observer: Observer) -> Path:
        with_sites = Connection(folder, name, requests)
        if resume is not None:
            return with_sites.until_done(place, observer)
        begun = job.prepare(loaded, runs, **settings)
        try:
            return with_sites.until_done(begun, observer)
        except TacitError:
            job.forget_unbegun(begun)  # with its keys
            raise

    carry_out(work, as_json=as_json, quiet=quiet, page=not no_report)


class Connection:
    """A line to the sites of a server; opened anew when the server went away and came back."""

    def __init__(self, folder: Path, name: str, settings: RequestSettings) -> None:
        self.folder, self.name, self.settings = folder, name, settings

    def until_done(self, place: Path, observer: Observer) -> Path:
        """Run what is left of a run; a server that went away is waited for, and the run taken up
        from its last round.
        """
        from tacit.deployment.server import job
        from tacit.errors import PeerError

        end, was_there = time.monotonic() + _SECONDS_AWAY, job.has_begun(place)
        while True:
            try:
                sites = self.sites()
                done, was_there = False, True
                try:
                    found = job.resume(place, sites, observer)
                    done = True
                    return found
                finally:
                    sites.transport.close(done)
                    end = time.monotonic() + _SECONDS_AWAY
            except PeerError as error:
                if time.monotonic() > end or not was_there:
                    raise
                tables.line(f"{error}; trying again", stderr=True)
                time.sleep(2.0)

    def sites(self) -> Sites:
        """Return the sites of the server, and a line to them."""
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
        from cryptography.hazmat.primitives.serialization import load_ssh_public_key

        from tacit.deployment.server.job import Sites
        from tacit.deployment.transport.flower_messages import MAX_MESSAGE_BYTES
        from tacit.deployment.transport.server.channel import FlowerChannel
        from tacit.deployment.transport.server.endpoint import read_endpoint
        from tacit.deployment.transport.server.registry import read_sites
        from tacit.errors import PeerError

        known = read_sites(self.folder)
        if not known:
            raise PeerError(
                f"{self.folder}: no site was let in yet; `tacit server admit NAME KEY.pub` does"
                " that"
            )
        keys = {}
        for name, facts in known.items():
            key = load_ssh_public_key(facts["public_key"].encode())
            assert isinstance(key, EllipticCurvePublicKey)
            keys[name] = key
        transport = FlowerChannel(
            folder=self.folder,
            address=read_endpoint(self.folder).address,
            name=self.name,
            max_bytes=MAX_MESSAGE_BYTES,
        )
        return Sites(transport=transport, keys=keys, settings=self.settings)
