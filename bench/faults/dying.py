"""`python -m bench.faults.dying FOLDER ARGUMENTS…`: a command of Tacit that dies where it is told
to, as by kill -9.

FOLDER/die holds the name of a point; the process kills itself when it comes to it next. Whatever
reaches the server is written to FOLDER/arrived.jsonl, before anything else happens to it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench  # noqa: F401  (what is run is the checkout)
from tacit.errors import WireError
from tacit.protocol.messages.signed_message import read

DIE, ARRIVED = "die", "arrived.jsonl"
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
    from tacit.deployment.transport.site.node import Node
    from tacit.privacy.policy import SiteLedger

    _mortal(folder, OwnerSite, "_respond_to_offer", "opened")
    _mortal(folder, Participation, "begin", "begun")
    _mortal(folder, SiteLedger, "reserve", "reserved")
    _mortal(folder, SiteLedger, "store", "stored")
    _mortal(folder, Node, "_push_response", "sent")


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

    FlowerChannel.collect = collected  # type: ignore[method-assign]
    _mortal(folder, Messenger, "request", "asked")
    _mortal(folder, FlowerChannel, "send", "mailed")
    _mortal(folder, FlowerChannel, "collect", "collected")
    _mortal(folder, checkpoint, "write", "checkpoint")


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
