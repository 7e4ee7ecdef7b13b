"""tacit site: a data owner's machine. It joins a server, enforces its owner's policy, and keeps its
own ledger.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import LogJson, SiteFolder
from tacit.cli.site.models import write_card
from tacit.errors import RunError
from tacit.log_lines import LineLog, log_context, select_json

if TYPE_CHECKING:
    from tacit.deployment.site.owner import Owner
    from tacit.deployment.site.owner_site import OwnerSite


def join(
    folder: SiteFolder,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="Stop when standard input is closed.")
    ] = False,
    log_json: LogJson = False,
) -> None:
    """Join the server; respond to what the policy allows, until stopped.

    The log on standard error has time, level, run and round in every line. It
    has the full reason of a refusal; the server receives only the line of
    the policy.

    \b
    Examples:
      tacit site join hospital-a
      tacit site join hospital-a --log-json
    """
    from tacit.deployment.site.site_folder import (
        JOINED,
        KEY,
        check_ready,
        find_joined_process,
        load_owner,
        read_site_settings,
    )
    from tacit.deployment.transport.flower_messages import MAX_MESSAGE_BYTES
    from tacit.deployment.transport.site.node import Node
    from tacit.deployment.transport.superlink.process import end_with_parent

    settings, stop = read_site_settings(folder), threading.Event()
    select_json(log_json)
    report = LineLog(settings.name)
    check_ready(folder, report)
    handle = _handle_lazily(replace(load_owner(folder, report), on_model=write_card))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if with_parent:
        end_with_parent()
    node = Node(
        address=settings.server,
        root_certificate=folder / settings.authority if settings.authority else None,
        key=folder / KEY,
        folder=folder,
        max_bytes=MAX_MESSAGE_BYTES,
        proxy=settings.proxy,
    )
    if find_joined_process(folder) is not None:
        raise RunError(
            f"{folder}: another process has already joined for this site; stop it with"
            f" `tacit site leave {folder}`"
        )
    (folder / JOINED).write_text(str(os.getpid()))
    try:
        node.run(handle, stop, StateLog(report))
    finally:
        (folder / JOINED).unlink(missing_ok=True)


def _handle_lazily(owner: Owner) -> Callable[[bytes], bytes]:
    """The site's function for messages. What it needs is imported at the first message: a site that
    waits for a run takes half of the memory.
    """

    @functools.cache
    def open_site() -> OwnerSite:
        from tacit.deployment.site.owner_site import OwnerSite

        return OwnerSite(owner)

    return lambda data: open_site().handle(data)


class StateLog:
    """Logs the states of a connection. One with a reason after a colon is a warning; going to work
    and back is a detail, since the site logs each round once.
    """

    def __init__(self, report: LineLog) -> None:
        self._report = report
        self._is_online = False

    def __call__(self, state: str) -> None:
        """Log a state."""
        is_detail = state == "working" or (state == "online" and self._is_online)
        self._is_online = state in ("online", "working")
        level = "WARNING" if ":" in state else "DEBUG" if is_detail else "INFO"
        with log_context(level=level):
            self._report(state)


def leave(folder: SiteFolder) -> None:
    """Stop the process of `tacit site join`. Charges stay in the ledger.

    \b
    Examples:
      tacit site leave hospital-a
    """
    from tacit.deployment.upkeep.leaving import leave_server

    leave_server(folder)
    tables.line(f"{folder}: left")


def forget(
    folder: SiteFolder,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run that `tacit site status` lists as open.")
    ],
) -> None:
    """End a run at your site that the server has not ended.

    The site sends no more responses for the run and deletes its noise key.
    Charges stay in the ledger, and the run cannot be resumed.

    \b
    Examples:
      tacit site forget hospital-a newsgroups-3-1f2e3d4c
    """
    from tacit.deployment.site.site_folder import load_owner
    from tacit.deployment.site.stored_runs import forget_run

    forget_run(load_owner(folder), run)
    tables.line(f"run {run}: ended here; its key is deleted, its charges stay")
