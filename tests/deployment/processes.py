"""A server and sites in processes of their own, with pipes between them: nothing of one is in another's memory."""

from __future__ import annotations

import tomllib
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from tacit import plan as plans
from tacit.deployment.server.job import Sites, deploy
from tacit.deployment.server.messenger import RequestSettings
from tacit.deployment.site.owner_site import OwnerSite
from tacit.protocol.messages import signed_message
from tests.deployment.local_post import owner


class PipePost:
    """Carries letters through pipes, one at a time for each site."""

    def __init__(self, lines: dict[str, Connection]) -> None:
        self.lines, self.count, self.waiting = lines, 0, dict[str, str]()

    def online(self) -> dict[str, bool]:
        return dict.fromkeys(self.lines, True)

    def send(self, site: str, message: bytes) -> str:
        self.count += 1
        self.waiting[str(self.count)] = site
        self.lines[site].send_bytes(message)
        return str(self.count)

    def collect(self) -> list[tuple[str, bytes | None]]:
        done = [(mark, site) for mark, site in self.waiting.items() if self.lines[site].poll(0.01)]
        for mark, _ in done:
            del self.waiting[mark]
        return [(mark, self.lines[site].recv_bytes()) for mark, site in done]

    def close(self, done: bool) -> None:
        pass


def serve(
    lines: dict[str, Connection], parent: Connection, text: str, keys: dict[str, bytes], folder: str
) -> None:
    """Run a plan between sites, then wait until the parent has looked around."""
    known: dict[str, Any] = {site: load_ssh_public_key(key) for site, key in keys.items()}
    sites = Sites(
        transport=PipePost(lines),
        keys=known,
        settings=RequestSettings(min_sites=len(keys), deadline=120, poll_interval=0.0),
    )
    place = deploy(plans.parse(tomllib.loads(text)), sites, Path(folder))
    parent.send(str(place))
    parent.recv()


def join(line: Connection, name: str, rows: str, folder: str, agreed: str) -> None:
    """Answer letters as a site until the other side closes; what the site made of a run is kept in memory."""
    site, kept = OwnerSite(owner(name, Path(rows), Path(folder), agreed=agreed)), []
    while True:
        try:
            data = line.recv_bytes()
        except EOFError:
            return
        if signed_message.read(data).subject.kind == "end":
            kept += list(site._runs.values())
        line.send_bytes(site.handle(data))
