"""A run that a coordinator carries on from another machine than the server's.

The rounds are computed here: the run's folder, its keys and its model never leave this machine. The
server passes messages on, and keeps a copy of the record for auditors.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from tacit.deployment.access import messages as m
from tacit.deployment.access.record_copy import CopyingObserver, RecordCopy
from tacit.deployment.access.run_registry import RunName, hash_token
from tacit.deployment.access.server_access import ServerAccess, explain_refusal
from tacit.deployment.server import job
from tacit.deployment.server.job import Sites
from tacit.deployment.server.messenger import RequestSettings
from tacit.deployment.transport.certificates import make_private_folder, parse_node_key
from tacit.deployment.transport.flower_messages import MAX_MESSAGE_BYTES
from tacit.deployment.transport.person.remote_channel import RemoteChannel
from tacit.errors import PeerError, PlanError, RunError, TacitError
from tacit.files import replace_file
from tacit.protocol.observer import Observer
from tacit.runs.run_folder import PLAN, RECORD
from tacit.runs.verify import RECORD_COPY


def read_run_name(place: Path) -> str:
    """The name under which sites and the server know the run of a folder."""
    return str(json.loads((place / job.DEPLOYMENT).read_bytes())["run"])


def list_admitted(access: ServerAccess) -> dict[str, m.ListedSite]:
    """The sites that the server admits now, by name."""
    return {name: one for name, one in access.list_sites().items() if one.revoked is None}


def resume_remotely(
    access: ServerAccess,
    place: Path,
    settings: RequestSettings,
    observer: Observer,
    on_open: Callable[[], None] = lambda: None,
) -> Path:
    """Carry a run on, from its last checkpoint to its end, through a server on another machine.

    `on_open` is called when the server has accepted the run.
    """
    run, is_done = read_run_name(place), False
    copy = RecordCopy(access, run, place)
    state: Literal["interrupted", "finished"] = "interrupted"
    sites, token = _open_sites(access, place, run, copy, settings)
    on_open()
    try:
        found = job.resume(place, sites, CopyingObserver(observer, copy))
        is_done, state = True, "finished"
        copy.send_all()
        return found
    finally:
        sites.transport.close(is_done)
        with contextlib.suppress(TacitError):
            if not is_done:
                copy.send_signed()
            body = m.CloseRun(run=run, task=hash_token(token), state=state)
            access.call("close-run", body, m.Nothing)


def _open_sites(
    access: ServerAccess, place: Path, run: str, copy: RecordCopy, settings: RequestSettings
) -> tuple[Sites, str]:
    admitted, tokens = list_admitted(access), list[str]()
    if not admitted:
        raise PeerError(
            f"server {access.route.shown}: no site is admitted yet; its operator invites one with"
            " `tacit server invite NAME`"
        )

    def open_task() -> tuple[str, int]:
        plan = (place / PLAN).read_text(encoding="utf-8")
        opened = access.call("open-run", m.OpenRun(run=run, title=run, plan=plan), m.OpenedRun)
        tokens.append(opened.token)
        copy.compare(opened.record_bytes, opened.record_sha256)
        return opened.token, opened.flower_run

    channel = RemoteChannel(
        access.route,
        run,
        MAX_MESSAGE_BYTES,
        open_task=open_task,
        read_nodes=lambda: {name: int(one.node_id) for name, one in list_admitted(access).items()},
        explain=explain_refusal,
    )
    keys = {name: parse_node_key(one.public_key) for name, one in admitted.items()}
    return Sites(transport=channel, keys=keys, settings=settings), tokens[-1]


def stop_run(access: ServerAccess, run: str) -> None:
    """Stop a run of one's own, wherever its process is; it can be resumed."""
    access.call("stop-run", m.NamedRun(run=run), m.Nothing)


def save_record(access: ServerAccess, run: str, out: Path) -> Path:
    """Save the server's copy of a run's record, with its plan, as a folder that can be verified.

    An earlier copy must be the beginning of the new one, and no other folder is overwritten.
    """
    try:
        msgspec.convert(run, RunName)
    except msgspec.ValidationError:
        raise PlanError(
            f"{run!r} is not the name of a run; `tacit server runs` lists them"
        ) from None
    lines, plan = access.read_record(run)
    folder = out / run
    if folder.exists() and not (folder / RECORD_COPY).exists():
        raise RunError(f"{folder} is no copy of a record; choose another folder with --out")
    earlier = (folder / RECORD).read_bytes() if (folder / RECORD).exists() else b""
    if not lines.startswith(earlier):
        raise RunError(
            f"{folder}: the server's record of this run does not begin with the copy that you have, so"
            " one of them was changed or cut off; keep your copy, and save the new one elsewhere with"
            " --out"
        )
    make_private_folder(folder)
    replace_file(folder / RECORD_COPY, f"{access.settings.server}\n".encode())
    replace_file(folder / RECORD, lines)
    replace_file(folder / PLAN, plan.encode())
    return folder
