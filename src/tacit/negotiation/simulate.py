"""All parties of a negotiation as processes on one machine, for trials: the caller knows every
range.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tacit.errors import WireError
from tacit.negotiation.party import DEADLINE_SECONDS, require_mpyc
from tacit.negotiation.result import Negotiated, from_text
from tacit.negotiation.terms import NegotiationTerms, to_steps

_GRACE_SECONDS = 15.0
"""Time that a process may need beyond its own deadline, to start and to end."""


def simulate(
    terms: NegotiationTerms,
    ranges: Sequence[tuple[float, float]],
    *,
    seconds: float = DEADLINE_SECONDS,
) -> list[Negotiated]:
    """Negotiate between one process per party, each given only its own range; return every party's
    result.

    No process is left when this returns or raises.
    """
    for one in ranges:
        to_steps(*one)
    require_mpyc()
    with contextlib.ExitStack() as open_here:
        listeners = [open_here.enter_context(_listening()) for _ in ranges]
        addresses = [listener.getsockname() for listener in listeners]
        until = time.monotonic() + seconds + _GRACE_SECONDS
        parties = [open_here.enter_context(_process(listener)) for listener in listeners]
        for number, (process, listener) in enumerate(zip(parties, listeners, strict=True)):
            job = {
                "party": number,
                "addresses": addresses,
                "listener": listener.fileno(),
                "range": ranges[number],
            }
            _hand_over(process, json.dumps({**job, "terms": asdict(terms), "seconds": seconds}))
            listener.close()  # now its party's alone, so that the port closes with it
        return [_outcome(number, process, until) for number, process in enumerate(parties)]


def _listening() -> socket.socket:
    """A listening socket, so that nobody else can take the port before the party does."""
    return socket.create_server(("127.0.0.1", 0))


@contextlib.contextmanager
def _process(listener: socket.socket) -> Iterator[subprocess.Popen[str]]:
    # -P: nothing in the folder one happens to stand in is imported.
    command = [sys.executable, "-P", "-m", "tacit.negotiation"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[listener.fileno()],
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _hand_over(process: subprocess.Popen[str], job: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(
        BrokenPipeError
    ):  # a process that is gone already shows in its outcome
        process.stdin.write(job)
        process.stdin.close()
    process.stdin = None


def _outcome(number: int, process: subprocess.Popen[str], until: float) -> Negotiated:
    try:
        said, _ = process.communicate(timeout=max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise WireError(
            f"negotiate(party={number}): its process did not end in time and was killed; start again"
        ) from None
    try:
        outcome = json.loads(said)
    except ValueError:
        raise WireError(
            f"negotiate(party={number}): its process ended with code {process.returncode} and"
            " without a result; start again"
        ) from None
    if "error" in outcome:
        raise WireError(outcome["error"])
    return from_text(outcome["agreed"], f"the result of party {number}")
