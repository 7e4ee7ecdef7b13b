"""What lies in a server's folder for its own commands: where its SuperLink listens, and the secrets
that let them in.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.deployment.transport.address import joined
from tacit.deployment.transport.tls import AUTHORITY
from tacit.errors import PeerError
from tacit.files import replace_file

SECRET = "server.secret"
"""What the server's own commands show to be let in."""
SUPEREXEC_SECRET = "superexec.secret"
"""What Flower asks of whoever takes the task of a run."""
LINK = "link.json"
"""Where the SuperLink of the folder listens."""

NODE_LOCK = "node.lock"
"""In a site's folder: held by the one process that acts for the site, and free once that has ended,
whatever ended it.
"""


@dataclass(frozen=True)
class Place:
    """Where a SuperLink listens."""

    host: str
    port: int
    tls: bool
    pid: int

    @property
    def address(self) -> str:
        """Return the address for programs on the same machine."""
        return joined({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host), self.port)


def place(folder: Path) -> Place:
    """Return where the SuperLink of a folder listens, or listened last."""
    try:
        return Place(**json.loads((folder / LINK).read_text()))
    except (OSError, ValueError, TypeError):
        raise PeerError(
            f"{folder}: no server was started in this folder; start it with `tacit server`"
        ) from None


def tell_place(folder: Path, found: Place) -> None:
    """Leave word of where a SuperLink listens."""
    replace_file(folder / LINK, json.dumps(asdict(found)).encode())


def root_certificate(folder: Path) -> Path | None:
    """Return the certificate that the server of a folder is known by, or None where it speaks
    without TLS.
    """
    return folder / AUTHORITY if place(folder).tls else None
