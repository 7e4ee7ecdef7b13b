"""The way from this machine to a server: the proxy in between, the server, and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacit.deployment.doctor.finding import Finding, check_clock
from tacit.deployment.doctor.reach import probe_server
from tacit.deployment.transport.proxy import find_proxy
from tacit.errors import PeerError


def check_server(address: str, authority: Path | None, proxy: str | None) -> Iterator[Finding]:
    """Check that a server responds, through the proxy of the setting or the environment if there is
    one.
    """
    try:
        between = find_proxy(address, proxy)
    except PeerError as error:
        yield Finding(
            subject="proxy", state="problem", detail=str(error), remedy="correct the setting"
        )
        return
    why, offset = probe_server(address, authority, between)
    if between is not None:
        yield Finding(
            subject="proxy",
            state="problem" if why else "ok",
            detail=f"{between.shown} is in the way to the server (from {between.source})",
            remedy=_explain_proxy(why, address),
        )
    remedy = "check that the server is running and that this machine can reach it" if why else ""
    detail = (
        f"cannot be reached: {why}"
        if why
        else f"responds{' with a certificate of the authority' if authority else ' without TLS'}"
    )
    yield Finding(subject="server", state="problem" if why else "ok", detail=detail, remedy=remedy)
    yield check_clock(offset)


def _explain_proxy(why: str, address: str) -> str:
    """What to do about a proxy, given why the server cannot be reached through it."""
    if not why:
        return ""
    if "407" in why:
        return 'write a user and password into its URL: proxy = "http://USER:PASSWORD@HOST:PORT"'
    if "certificate" in why:
        return (
            f"it seems to open TLS connections; ask its operator to pass {address} through unopened"
        )
    return (
        f'ask its operator to allow CONNECT to {address}; if it is not needed, set proxy = "none"'
        " or NO_PROXY"
    )
