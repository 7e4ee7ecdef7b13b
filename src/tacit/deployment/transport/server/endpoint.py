"""Where the SuperLink of a server's folder listens, and the names of its secrets."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.deployment.transport.address import join_address
from tacit.deployment.transport.certificates import AUTHORITY
from tacit.errors import PeerError
from tacit.files import replace_file

SECRET = "server.secret"
"""Secret that the server's own commands show to the SuperLink."""
SUPEREXEC_SECRET = "superexec.secret"
"""Secret that Flower requires of the process that acquires the task of a run."""
LINK = "link.json"
"""Host, port and process id of the folder's SuperLink."""

NODE_LOCK = "node.lock"
"""Lock file in a site's folder. The one process that acts for the site holds it, and the system
releases it when that process ends.
"""


@dataclass(frozen=True)
class ServerEndpoint:
    """Where a SuperLink listens."""

    host: str
    port: int
    tls: bool
    pid: int

    @property
    def address(self) -> str:
        """Address for programs on the same machine."""
        return join_address(
            {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host), self.port
        )


def read_endpoint(folder: Path) -> ServerEndpoint:
    """Endpoint of the SuperLink that was started last in `folder`."""
    try:
        return ServerEndpoint(**json.loads((folder / LINK).read_text()))
    except (OSError, ValueError, TypeError):
        raise PeerError(
            f"{folder}: no server was started in this folder; start it with `tacit server start`"
        ) from None


def write_endpoint(folder: Path, endpoint: ServerEndpoint) -> None:
    """Store where the SuperLink of `folder` listens."""
    replace_file(folder / LINK, json.dumps(asdict(endpoint)).encode())


def find_root_certificate(folder: Path) -> Path | None:
    """Path of the certificate that verifies the folder's server; None if it runs without TLS."""
    return folder / AUTHORITY if read_endpoint(folder).tls else None
