"""tacit server connect, people, runs, record: a server and people on other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import RUNS, SERVER, AsJson, FolderOption, ReachedServer
from tacit.cli.server.invite import Fingerprint, require_same_fingerprint

NewFolder = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", help="Your new folder; by default the name in the invitation."),
]
RunAtServer = Annotated[
    str, typer.Argument(metavar="RUN", help="A run, as `tacit server runs` lists it.")
]


def connect(
    invitation: Annotated[
        Path, typer.Argument(metavar="FILE", help="The .invite file from the server's operator.")
    ],
    folder: NewFolder = None,
    fingerprint: Fingerprint = None,
) -> None:
    """Get access to a server on another machine: as operator, coordinator or auditor.

    The command compares the server's fingerprint with you, makes a key that
    stays in your folder, and writes a .request file. Send it to the
    server's operator, and read out the fingerprint that is printed last.

    \b
    Examples:
      tacit server connect ana.invite
      tacit deploy run plan.toml --folder ana
    """
    from tacit.deployment.access.access_folder import create_access, read_own_fingerprint
    from tacit.deployment.provisioning.enrolment import open_invitation
    from tacit.deployment.provisioning.fingerprint import format_fingerprint

    opened = open_invitation(invitation, for_person=True)
    content = opened.invitation.content
    place = folder or Path(content.site)
    require_same_fingerprint(f"the server {content.server}", opened.fingerprint, fingerprint)
    request = create_access(place, opened)
    tables.line(
        f"{place}: your access to {content.server} as {content.role}, once you are admitted"
    )
    tables.line(f"  1. send {request} to the operator of the server, and read this out by phone:")
    tables.line(f"     {format_fingerprint(read_own_fingerprint(place))}")
    command = {
        "coordinator": f"tacit deploy run PLAN --folder {place}",
        "operator": f"tacit server sites {place}",
        "auditor": f"tacit server runs {place}",
    }[content.role or "auditor"]
    tables.line(f"  2. run: {command}")


def people(folder: ReachedServer = SERVER, as_json: AsJson = False) -> None:
    """List the people who may reach the server from other machines, with their roles.

    \b
    Examples:
      tacit server people
      tacit server people --json
    """
    from msgspec import to_builtins

    from tacit.deployment.access.administration import administer
    from tacit.deployment.provisioning.fingerprint import format_fingerprint

    found = administer(folder).list_people()
    if as_json:
        listed = [
            {"name": name, "revoked": None, **to_builtins(one)} for name, one in found.items()
        ]
        tables.print_json("people/1", {"people": listed})
        return
    for name, one in found.items():
        revoked = f", revoked on {one.revoked}" if one.revoked else ""
        tables.line(f"{name}, {one.role}, certificate until {one.certificate_ends}{revoked}")
        tables.line(f"  {format_fingerprint(one.fingerprint)}")
    if not found:
        tables.line(
            "nobody is admitted yet; invite people with `tacit server invite NAME --role ROLE`",
            stderr=True,
        )


def runs(folder: ReachedServer = SERVER, as_json: AsJson = False) -> None:
    """List the runs that coordinators began from other machines.

    \b
    Examples:
      tacit server runs
      tacit server runs udo --json
    """
    from msgspec import to_builtins

    from tacit.deployment.access.administration import administer

    found = administer(folder).list_runs()
    if as_json:
        tables.print_json(
            "coordinated-runs/1", {"runs": [_drop_task(to_builtins(one)) for one in found]}
        )
        return
    tables.table(
        ("run", "coordinator", "state", "began (UTC)", "changed (UTC)"),
        [(one.run, one.coordinator, one.state, one.opened, one.changed) for one in found],
    )


def _drop_task(facts: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name != "task"}


def record(
    run: RunAtServer,
    folder: FolderOption = SERVER,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for the copy.")
    ] = RUNS,
) -> None:
    """Save the server's copy of a run's record, to be shown and verified.

    Auditors may read the records of all coordinators on other machines,
    coordinators their own. The copy has no model.

    \b
    Examples:
      tacit server record readmissions-1-1f2e3d4c --folder udo
      tacit runs verify readmissions-1-1f2e3d4c
    """
    from tacit.deployment.access.remote_run import save_record
    from tacit.deployment.access.server_access import ServerAccess

    with ServerAccess(folder) as access:
        place = save_record(access, run, out)
    tables.line(f"{place}: the record and the plan; check them with `tacit runs verify {place}`")


def stop(run: RunAtServer, folder: FolderOption) -> None:
    """Stop a run of yours, wherever its process is. Nothing is lost; it can be resumed.

    The run's process ends with its next message. Ctrl-C does the same where
    the process runs.

    \b
    Examples:
      tacit deploy stop readmissions-1-1f2e3d4c --folder ana
    """
    from tacit.deployment.access.remote_run import stop_run
    from tacit.deployment.access.server_access import ServerAccess

    with ServerAccess(folder) as access:
        stop_run(access, run)
    tables.line(f"run {run} is stopped; `tacit deploy run --resume` continues it")
