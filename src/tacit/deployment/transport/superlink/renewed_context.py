"""The TLS context of a server, loaded again when its certificate was renewed on disk, or when other
people are admitted.
"""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
from typing import Protocol

import uvicorn

from tacit.errors import TacitError


class CallersCertificates(Protocol):
    """The certificates of people who may call the server, and a value that changes with them."""

    @property
    def version(self) -> tuple[int, int] | None:
        """A value that changes with the certificates."""

    def read_certificates(self) -> str:
        """All certificates (PEM)."""


class RenewedContext:
    """The context for new connections; connections that are open keep theirs.

    Certificate and key are two files, so a reader may find one of them new and the other old. Then
    the present context stays, and the next connection tries again.

    A client need not show a certificate, and sites do not. One that is shown must be one of the
    callers' own, and its holder must have the key.
    """

    def __init__(self, config: uvicorn.Config, callers: CallersCertificates | None = None) -> None:
        assert config.ssl is not None
        self._config, self._callers = config, callers
        self._read_at = self._find_version()
        self._context = self._load()

    def get(self) -> ssl.SSLContext:
        """The context of the certificate on disk, or the last one that could be loaded."""
        version = self._find_version()
        if version != self._read_at:
            with contextlib.suppress(OSError, TacitError):  # of TLS too
                self._context = self._load()
                self._read_at = version
                logging.getLogger("flwr").info("the server uses its certificates as renewed")
        return self._context

    def _find_version(self) -> tuple[object, ...] | None:
        try:
            found = os.stat(str(self._config.ssl_certfile))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, self._callers.version if self._callers else None

    def _load(self) -> ssl.SSLContext:
        fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        fresh.load_cert_chain(str(self._config.ssl_certfile), str(self._config.ssl_keyfile))
        admitted = self._callers.read_certificates() if self._callers else ""
        if admitted:
            fresh.verify_mode = ssl.CERT_OPTIONAL
            fresh.load_verify_locations(cadata=admitted)
        return fresh
