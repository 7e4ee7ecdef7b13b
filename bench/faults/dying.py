"""`python -m bench.faults.dying FOLDER ARGUMENTS…`: a command of Tacit that dies where it is told
to, as by kill -9.

FOLDER/die holds the name of a point; the process kills itself when it comes to it next. A run waits
before each request that FOLDER/hold names, and writes it to FOLDER/held. FOLDER/clock is how many
seconds a site's clock is ahead. Whatever reaches the server is written to FOLDER/arrived.jsonl,
before anything else happens to it.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench  # noqa: F401  (what is run is the checkout)
from tacit.errors import WireError
from tacit.protocol.messages.signed_message import read

DIE, ARRIVED = "die", "arrived.jsonl"
HOLD, HELD, CLOCK = "hold", "held", "clock"
FIRST_SITE_POINTS = ("before opened", "after opened", "before begun", "after begun")
"""Where a site comes before round one only."""
SITE_POINTS = (
    "before reserved",
    "after reserved",
    "before stored",
    "after stored",
    "before sent",
    "after sent",
)
DEPLOY_POINTS = (
    "before asked",
    "after asked",
    "after mailed",
    "after collected",
    "before checkpoint",
    "after checkpoint",
)


def main() -> None:
    """Run a command with its points in place."""
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    if words[0] == "site":
        _site(folder)
    else:
        _deploy(folder)
    from tacit.cli import execute

    sys.exit(execute(words))


def _site(folder: Path) -> None:
    from tacit.deployment.site.owner_site import OwnerSite
    from tacit.deployment.site.participation import Participation
    from tacit.deployment.transport.site.server_connection import ServerConnection
    from tacit.privacy.policy import SiteLedger

    _mortal(folder, OwnerSite, "_respond_to_offer", "opened")
    _mortal(folder, Participation, "begin", "begun")
    _mortal(folder, SiteLedger, "reserve", "reserved")
    _mortal(folder, SiteLedger, "store", "stored")
    _mortal(folder, ServerConnection, "send_reply", "sent")
    if (folder / CLOCK).exists():
        _set_clock_ahead(float((folder / CLOCK).read_text()))


def _deploy(folder: Path) -> None:
    from tacit.deployment.server.messenger import Messenger
    from tacit.deployment.transport.server.channel import FlowerChannel
    from tacit.runs import checkpoint

    collect = FlowerChannel.collect

    def collected(transport: FlowerChannel) -> list[tuple[str, bytes | None]]:
        found = collect(transport)
        for _, data in found:
            _write_down(folder / ARRIVED, data)
        return found

    request = Messenger.request

    def held(messenger: Messenger, kind: Any, round_no: int, *given: Any, **named: Any) -> Any:
        _hold(folder, f"{kind} {round_no}")
        return request(messenger, kind, round_no, *given, **named)

    Messenger.request = held  # type: ignore[method-assign,assignment]
    FlowerChannel.collect = collected  # type: ignore[method-assign,assignment]
    _mortal(folder, Messenger, "request", "asked")
    _mortal(folder, FlowerChannel, "send", "mailed")
    _mortal(folder, FlowerChannel, "collect", "collected")
    _mortal(folder, checkpoint, "write", "checkpoint")


def _hold(folder: Path, point: str) -> None:
    """Wait as long as FOLDER/hold names a point."""
    while point in _read_lines(folder / HOLD):
        (folder / HELD).write_text(point)
        time.sleep(0.05)


def _read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _set_clock_ahead(seconds: float) -> None:
    """Let a site sign its requests with another time."""
    signer: Any = importlib.import_module("flwr.supernode.node_auth_http_interceptor")
    now = signer.now
    signer.now = lambda: now() + datetime.timedelta(seconds=seconds)


def _write_down(path: Path, data: bytes | None) -> None:
    try:
        message = read(data or b"")
    except WireError:
        return
    one = message.subject
    facts = {
        "site": one.site,
        "run": one.run,
        "kind": one.kind,
        "round_no": one.round_no,
        "exchange": one.exchange,
        "status": one.status,
        "answer": message.digest.hex(),
    }
    with path.open("a") as file:
        file.write(json.dumps(facts) + "\n")


def _mortal(folder: Path, owner: Any, name: str, point: str) -> None:
    """Let the process die before or after a function, if it is told to."""
    whole: Callable[..., Any] = getattr(owner, name)

    def wrapped(*given: Any, **named: Any) -> Any:
        _die(folder, f"before {point}")
        found = whole(*given, **named)
        _die(folder, f"after {point}")
        return found

    setattr(owner, name, wrapped)


def _die(folder: Path, point: str) -> None:
    told = folder / DIE
    if told.exists() and told.read_text() == point:
        told.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
