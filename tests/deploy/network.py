"""Machines to walk through a deployment on: one network namespace each, or plain processes where namespaces are not allowed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVER_ADDRESS = "10.77.0.1"
"""Address of the server in its namespace; sites reach it over a link of their own, and not each other."""


@dataclass(frozen=True)
class Machine:
    """One machine: its folder, and the words that run a command on it."""

    name: str
    folder: Path
    prefix: tuple[str, ...] = ()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def can_make_namespaces() -> bool:
    """Return whether this user may make network namespaces."""
    if shutil.which("ip") is None:
        return False
    try:
        ip("netns", "add", "tacit-probe")
        ip("netns", "del", "tacit-probe")
    except (subprocess.CalledProcessError, OSError):
        return False
    return True


@contextmanager
def make_machines(root: Path, sites: list[str]) -> Iterator[tuple[Machine, list[Machine], str]]:
    """Yield the server's machine, those of the sites, and the host that sites reach the server by."""
    folders = {name: root / name for name in ("server", *sites)}
    for folder in folders.values():
        folder.mkdir(parents=True)
    if not can_make_namespaces():
        machines = {name: Machine(name, folder) for name, folder in folders.items()}
        yield machines["server"], [machines[name] for name in sites], "127.0.0.1"
        return
    spaces = {name: f"tacit-{number}" for number, name in enumerate(folders)}
    try:
        _link(list(spaces.values()))
        machines = {
            name: Machine(name, folders[name], ("ip", "netns", "exec", space))
            for name, space in spaces.items()
        }
        yield machines["server"], [machines[name] for name in sites], SERVER_ADDRESS
    finally:
        for space in spaces.values():
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def _link(spaces: list[str]) -> None:
    """Make the namespaces, with a link between the first one and each of the others."""
    hub, *others = spaces
    for space in spaces:
        ip("netns", "add", space)
        ip("-n", space, "link", "set", "lo", "up")
    ip("-n", hub, "addr", "add", f"{SERVER_ADDRESS}/32", "dev", "lo")
    for number, space in enumerate(others, 1):
        here, there = f"tacit{number}s", f"tacit{number}c"
        ip("link", "add", here, "netns", hub, "type", "veth", "peer", "name", there, "netns", space)
        ip("-n", hub, "addr", "add", f"10.77.{number}.1/24", "dev", here)
        ip("-n", space, "addr", "add", f"10.77.{number}.2/24", "dev", there)
        ip("-n", hub, "link", "set", here, "up")
        ip("-n", space, "link", "set", there, "up")
        ip("-n", space, "route", "add", SERVER_ADDRESS, "via", f"10.77.{number}.1")
