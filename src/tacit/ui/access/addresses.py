"""Where the pages listen, and the names by which browsers may reach them."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import DiskError, PlanError

FEWEST_LETTERS = 12
"""Shortest password that is accepted."""
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_HIGHEST_PORT = 65_535


@dataclass(frozen=True, kw_only=True)
class ListenAddress:
    """Address, port and TLS files of the pages, the names in a valid `Host` header, and the
    password.

    Guarantees: an address beyond loopback has TLS and a password.
    """

    host: str
    port: int
    names: tuple[str, ...]
    certificate: Path | None = None
    key: Path | None = None
    password: str = ""

    @property
    def scheme(self) -> str:
        """`https` if there is a certificate, else `http`."""
        return "https" if self.certificate else "http"

    @property
    def hosts(self) -> frozenset[str]:
        """Valid values of the `Host` header, in lower case."""
        standard = 443 if self.certificate else 80
        bare = self.names if self.port == standard else ()
        return frozenset(
            name.lower() for name in (*(f"{n}:{self.port}" for n in self.names), *bare)
        )

    @property
    def origin(self) -> str:
        """The origin that is shown to the user."""
        return f"{self.scheme}://{self.names[0]}:{self.port}"


def choose_address(
    host: str,
    port: int,
    *,
    names: Sequence[str] = (),
    certificate: Path | None = None,
    key: Path | None = None,
    password_file: Path | None = None,
) -> ListenAddress:
    """Check where the pages may listen; raise PlanError if the address is not safe.

    `port` 0 chooses a free port.
    """
    if not 0 <= port <= _HIGHEST_PORT:
        raise PlanError(f"--port must be between 0 and {_HIGHEST_PORT}, got {port}")
    if (certificate is None) != (key is None):
        raise PlanError("--tls-cert and --tls-key must be given together")
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise DiskError(
                f"{file}: no such file; --tls-cert and --tls-key name files in PEM format"
            )
    password = _read_password(password_file) if password_file else ""
    if not is_loopback(host):
        missing = [
            option
            for option, given in (
                ("--tls-cert and --tls-key", certificate),
                ("--password-file", password_file),
            )
            if not given
        ]
        if missing:
            raise PlanError(
                f"--host {host} can be reached from other machines, so {' and '.join(missing)}"
                f" must be given; without {'it' if len(missing) == 1 else 'them'}, listen on"
                " 127.0.0.1"
            )
        if not names:
            raise PlanError(
                f"--host {host} can be reached from other machines; give the host name that"
                " browsers use with --name HOST"
            )
    # The link names the address that listens: another user may listen on another loopback address.
    own = (*names, _write_host(host), *_LOOPBACK_NAMES) if is_loopback(host) else names
    known = tuple(dict.fromkeys(own))
    return ListenAddress(
        host=host,
        port=port or _find_free_port(host),
        names=known,
        certificate=certificate,
        key=key,
        password=password,
    )


def _write_host(host: str) -> str:
    """A host as a URL has it."""
    bare = host.strip("[]")
    return f"[{bare}]" if ":" in bare else bare


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than `localhost` is never one."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _read_password(path: Path) -> str:
    try:
        if path.stat().st_mode & 0o077:
            raise PlanError(f"{path}: others can read the password; chmod 600 {path}")
        password = path.read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise DiskError(f"{path}: the password cannot be read; check the file") from None
    if len(password) < FEWEST_LETTERS:
        raise PlanError(f"{path}: the password must have at least {FEWEST_LETTERS} letters")
    return password


def _find_free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host.strip("[]"), 0))
        return int(probe.getsockname()[1])
