"""The TLS context of a server, loaded again when its certificate was renewed on disk."""

from __future__ import annotations

import contextlib
import logging
import os
import ssl

import uvicorn


class RenewedContext:
    """The context for new connections; connections that are open keep theirs.

    Certificate and key are two files, so a reader may find one of them new and the other old. Then
    the present context stays, and the next connection tries again.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        assert config.ssl is not None
        self._config, self._context = config, config.ssl
        self._read_at = self._find_version()

    def get(self) -> ssl.SSLContext:
        """The context of the certificate on disk, or the last one that could be loaded."""
        version = self._find_version()
        if version != self._read_at:
            with contextlib.suppress(OSError):  # of TLS too
                self._context = self._load()
                self._read_at = version
                logging.getLogger("flwr").info("the server uses its renewed certificate")
        return self._context

    def _find_version(self) -> tuple[int, int] | None:
        try:
            found = os.stat(str(self._config.ssl_certfile))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _load(self) -> ssl.SSLContext:
        fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        fresh.load_cert_chain(str(self._config.ssl_certfile), str(self._config.ssl_keyfile))
        return fresh
