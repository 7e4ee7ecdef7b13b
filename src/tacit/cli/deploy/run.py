"""tacit deploy run: run a plan between the sites of a server."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import (
    RUNS,
    SERVER,
    AllowCode,
    AsJson,
    Deadline,
    FolderOption,
    LogOrPlan,
    NoReport,
    Overrides,
    Quiet,
    Runs,
)
from tacit.cli.top.run import carry_out, list_targets, list_targets_again
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.deployment.server.job import Sites
    from tacit.deployment.server.messenger import RequestSettings
    from tacit.plan import Plan
    from tacit.protocol.observer import Observer

_SECONDS_AWAY = 600.0
"""How long to wait for a server that does not respond."""
_MIN_SITES = 2

PlanOrNone = Annotated[
    Path | None,
    typer.Argument(metavar="PLAN", help="The plan, a TOML file.", show_default=False),
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="RUN", help="Resume a stopped or killed run."),
]
MinSites = Annotated[
    int, typer.Option("--min-sites", min=1, help="Stop if fewer sites than this respond.")
]
RetryAfter = Annotated[
    float,
    typer.Option(
        "--retry-after",
        min=1,
        help="Seconds before a request is sent again to a site that has not responded.",
    ),
]
Grace = Annotated[
    float,
    typer.Option(
        "--grace",
        min=0,
        help="Seconds to wait, once, for the return of a site that has left.",
    ),
]
ApprovalWait = Annotated[
    float,
    typer.Option(
        "--approval-wait",
        min=0,
        help="Seconds to wait for owners who approve each run; --resume goes on waiting.",
    ),
]
ChosenSites = Annotated[
    list[str] | None,
    typer.Option(
        "--site", help="A site to offer the run to; may be repeated. By default all admitted ones."
    ),
]
TestRows = Annotated[
    Path | None,
    typer.Option("--test", metavar="FILE", help="Test rows of the server, to evaluate models on."),
]
Helpers = Annotated[
    list[str] | None,
    typer.Option(
        "--helper",
        help="A site that acts as a helper of [secure_aggregation]; may be repeated.",
    ),
]
SimulatedNoise = Annotated[
    bool,
    typer.Option(
        "--simulated-noise",
        help="Draw noise from the plan's seed, to compare with a simulation. Not private.",
    ),
]


def run(
    plan: PlanOrNone = None,
    overrides: Overrides = None,
    folder: FolderOption = SERVER,
    resume: Resume = None,
    min_sites: MinSites = _MIN_SITES,
    deadline: Deadline = 600.0,
    retry_after: RetryAfter = 20.0,
    grace: Grace = 4.0,
    approval_wait: ApprovalWait = 86_400.0,
    site: ChosenSites = None,
    test: TestRows = None,
    helper: Helpers = None,
    simulated_noise: SimulatedNoise = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    allow_code: AllowCode = False,
    log: LogOrPlan = None,
) -> None:
    """Run a plan between the sites that joined the server.

    Run it on the machine of `tacit server start`, or as a coordinator from
    another one, with your folder of access. It writes the same record and
    report as `tacit run`. Without --test, sites evaluate models on rows that
    they hold out. Sites that refuse or are absent are named; the run
    continues without them, and asks absent ones again when they are back.
    Where owners approve each run, it waits for them and says for whom.

    \b
    Examples:
      tacit deploy run plan.toml --min-sites 3
      tacit deploy run plan.toml --site hospital-a --site hospital-b
      tacit deploy run plan.toml --test test.csv --deadline 120
      tacit deploy run plan.toml --folder ana
      tacit deploy run --resume newsgroups-3 --min-sites 2
    """
    from tacit.deployment.server.messenger import RequestSettings
    from tacit.plan import load

    if deadline < 1:
        raise PlanError(f"--deadline must be at least 1 second, got {deadline:g}")
    requests = RequestSettings(
        min_sites=min_sites,
        deadline=deadline,
        retry_after=retry_after,
        grace=grace,
        approval_wait=approval_wait,
    )
    fixed = {
        "-o": overrides,
        "--site": site,
        "--test": test,
        "--helper": helper,
        "--simulated-noise": simulated_noise,
    }
    if plan is not None and resume is None:
        loaded, offered = load(plan, overrides), _choose_sites(folder, site, min_sites)
        settings = {
            "test": str(test.resolve()) if test else None,
            "helpers": tuple(helper or ()),
            "sites": offered,
            "simulated_noise": simulated_noise,
        }
        connection, targets = Connection(folder, loaded.name, requests), list_targets(loaded, log)

        def work(observer: Observer) -> Path:
            return _start(connection, loaded, runs, settings, observer)

    elif resume is not None and plan is None:
        _refuse_fixed([name for name, value in fixed.items() if value])
        place = _find_permitted(resume, runs, allow_code=allow_code)
        connection, targets = (
            Connection(folder, place.name, requests),
            list_targets_again(place, log),
        )

        def work(observer: Observer) -> Path:
            return connection.until_done(place, observer)

    else:
        raise PlanError(
            "tacit deploy run takes either a plan or --resume RUN; give exactly one of them"
        )

    def explain_stop(stopped: Path) -> str:
        return f"nothing is lost, continue with: {_write_resume_command(stopped, connection)}"

    carry_out(
        lambda observer: _describe_delivery(work(observer)),
        as_json=as_json,
        quiet=quiet,
        page=not no_report,
        log=targets,
        explain_stop=explain_stop,
    )


def _choose_sites(folder: Path, chosen: list[str] | None, min_sites: int) -> tuple[str, ...]:
    """The sites that `--site` names; PlanError for one that is not admitted, or if they are fewer
    than the run needs.
    """
    from tacit.deployment.access.administration import administer
    from tacit.errors import did_you_mean

    admitted = [name for name, one in administer(folder).list_sites().items() if not one.revoked]
    for name in chosen or ():
        if name not in admitted:
            raise PlanError(
                f"--site {name}: no such site is admitted; the admitted sites are"
                f" {', '.join(admitted) or 'none yet'}.{did_you_mean(name, admitted)}"
            )
    offered = tuple(dict.fromkeys(chosen or ()))
    count = len(offered or admitted)
    if 0 < count < min_sites:
        raise PlanError(
            f"--min-sites {min_sites} needs more sites than the {count} that the run is offered to"
            f" ({', '.join(offered or admitted)}); admit or name more sites, or lower --min-sites"
        )
    return offered


def _refuse_fixed(given: list[str]) -> None:
    """Refuse options that a resumed run would ignore."""
    if given:
        raise PlanError(
            f"{', '.join(given)}: cannot be changed when a run is resumed, since its sites agreed to"
            " the plan as it began; leave it out, or start the plan as a new run"
        )


def _write_resume_command(place: Path, connection: Connection) -> str:
    """The command that continues a run, with the options that it needs."""
    from tacit.deployment.server.messenger import RequestSettings
    from tacit.runs.allowed_code import require_permission
    from tacit.runs.run_folder import PLAN, read_plan

    name = place.name if place.parent == RUNS else str(place)
    words = ["tacit", "deploy", "run", "--resume", name]
    if connection.folder != SERVER:
        words += ["--folder", str(connection.folder)]
    usual, chosen = RequestSettings(min_sites=_MIN_SITES), connection.settings
    for option in ("min_sites", "deadline", "retry_after", "grace", "approval_wait"):
        value = getattr(chosen, option)
        if value != getattr(usual, option):
            words += [f"--{option.replace('_', '-')}", f"{value:g}"]
    try:
        require_permission(place / PLAN, read_plan(place), allow_code=False)
    except PlanError:
        words.append("--allow-code")
    return shlex.join(words)


def _describe_delivery(place: Path) -> Path:
    """Print on stderr which sites have the model, and why others have not; return the folder."""
    from tacit.deployment.server.delivery import STORED, read_delivered

    outcome = read_delivered(place)
    having = [site for site, state in outcome.items() if state == STORED]
    if having:
        tables.line(f"the model is now at {', '.join(having)}", stderr=True)
    for site, why in outcome.items():
        if why != STORED:
            tables.line(
                f"site {site} has not received the model: {why}; `tacit deploy run --resume"
                f" {place.name}` sends it again",
                stderr=True,
            )
    return place


def _start(
    connection: Connection, plan: Plan, runs: Path, settings: dict[str, Any], observer: Observer
) -> Path:
    """Run a plan from its beginning; a run that fails before it begins leaves no folder and no keys."""
    from tacit.deployment.server import job
    from tacit.errors import TacitError, UndecidedError

    if plan.features.is_bought:
        plan = _buy_features(connection, plan, runs, settings, observer)
    begun = job.prepare(plan, runs, **settings)
    try:
        return connection.until_done(begun, observer)
    except UndecidedError as error:
        again = _write_resume_command(begun, connection)
        raise UndecidedError(f"{error}; to go on waiting: {again}") from None
    except TacitError:
        job.forget_unbegun(begun)
        raise


def _buy_features(
    connection: Connection, plan: Plan, runs: Path, settings: dict[str, Any], observer: Observer
) -> Plan:
    """Ask the sites for what features need, in a run of its own; the plan with the answers."""
    from tacit import data
    from tacit.assembly.queries.bought_features import fill_in_features, split_for_sites
    from tacit.runs import record, run_folder

    columns = data.resolve_columns(plan.data, import_code=False)
    asked, rest = split_for_sites(plan, columns)
    if asked is None:
        return rest
    place = _start(connection, asked, runs, {**settings, "test": None}, observer)
    found = record.select_entries(list(run_folder.entries(place)), record.Answered)
    tables.line(f"features were bought in run {place.name}; training follows", stderr=True)
    return fill_in_features(rest, columns, found[-1].answers)


def _find_permitted(run: str, runs: Path, *, allow_code: bool) -> Path:
    """The folder of a run; PlanError if its plan names code that was not allowed."""
    from tacit.cli.folders import locate_run
    from tacit.runs.allowed_code import require_permission
    from tacit.runs.run_folder import PLAN, read_plan

    place = locate_run(run, runs)
    require_permission(place / PLAN, read_plan(place), allow_code=allow_code)
    return place


class Connection:
    """A connection to the sites of a server; reopened when the server comes back."""

    def __init__(self, folder: Path, name: str, settings: RequestSettings) -> None:
        self.folder, self.name, self.settings = folder, name, settings
        self._was_there, self._left = False, time.monotonic()

    def until_done(self, place: Path, observer: Observer) -> Path:
        """Run the rest of a run. While the server is away, wait, then resume from the last round."""
        from tacit.deployment.server import job
        from tacit.errors import AccessError, PeerError

        end, self._was_there = time.monotonic() + _SECONDS_AWAY, job.has_begun(place)
        while True:
            try:
                try:
                    return self._carry_on(place, observer)
                finally:
                    if self._was_there:
                        end = max(end, self._left + _SECONDS_AWAY)
            except AccessError:
                raise
            except PeerError as error:
                if time.monotonic() > end or not self._was_there:
                    raise
                tables.line(f"{error}; retrying", stderr=True)
                time.sleep(2.0)

    def _carry_on(self, place: Path, observer: Observer) -> Path:
        """Run the rest of a run while the server is there."""
        from tacit.deployment.access.access_folder import is_access_folder
        from tacit.deployment.server import job

        if is_access_folder(self.folder):
            return self._carry_on_remotely(place, observer)
        sites = self.open()
        done, self._was_there = False, True
        try:
            found = job.resume(place, sites, observer)
            done = True
            return found
        finally:
            sites.transport.close(done)
            self._left = time.monotonic()

    def _carry_on_remotely(self, place: Path, observer: Observer) -> Path:
        from tacit.deployment.access.remote_run import resume_remotely
        from tacit.deployment.access.server_access import ServerAccess

        def note_open() -> None:
            self._was_there = True

        with ServerAccess(self.folder) as access:
            try:
                return resume_remotely(access, place, self.settings, observer, note_open)
            finally:
                self._left = time.monotonic()

    def open(self) -> Sites:
        """Open a channel to the registered sites of the server."""
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
                f"{self.folder}: no site is admitted yet; invite one with `tacit server invite NAME`"
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
