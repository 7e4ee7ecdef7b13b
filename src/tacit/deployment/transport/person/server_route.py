"""The way from a person's machine to a server: address, certificates, proxy, and calls."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tacit.deployment.transport.address import join_address, split_address
from tacit.deployment.transport.certificates import CLIENT_CERTIFICATE, CLIENT_KEY, read_private
from tacit.deployment.transport.http_client import (
    ClientCertificate,
    explain_error,
    is_transient,
    open_http_client,
)
from tacit.deployment.transport.proxy import describe_route, find_proxy
from tacit.errors import PeerError

_RETRY_SECONDS = 20.0
_PAUSE = 0.5
_CUTS_OF_A_REFUSAL = 3
"""Connections in a row that end early, after which the certificate is suspected."""


class ServerRoute:
    """Calls to one server with a person's certificate.

    `folder` holds the certificate, its key, and the certificate of the server's authority. The
    server is trusted by that authority only.
    """

    def __init__(self, folder: Path, address: str, authority: Path, proxy: str | None) -> None:
        read_private(folder / CLIENT_KEY)
        self.folder, self.authority = folder, authority
        self.proxy = find_proxy(address, proxy)
        self.address = address
        self.shown = describe_route(address, self.proxy)
        self.own = ClientCertificate(folder / CLIENT_CERTIFICATE, folder / CLIENT_KEY)
        host, port = split_address(address)
        self._url = f"https://{join_address(host, port)}/v1/tacit/"
        self._client = open_http_client(host, authority, own=self.own, proxy=self.proxy)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def call(self, name: str, body: bytes, explain: Callable[[bytes], Exception | None]) -> bytes:
        """Make a call and return the body of its response; retry while the server is unreachable.

        `explain` turns the body of a refusal into an error, or into None if it is not the server's.
        """
        deadline, cut = time.monotonic() + _RETRY_SECONDS, 0
        while True:
            try:
                response = self._client.post(self._url + name, content=body)
                response.raise_for_status()
                return bytes(response.content)
            except httpx.HTTPStatusError as error:
                refusal = explain(error.response.content)
                if refusal is not None:
                    raise refusal from None
                if error.response.status_code == httpx.codes.NOT_FOUND:
                    raise PeerError(
                        f"server {self.shown} does not know the call {name}; ask its operator to"
                        " update Tacit"
                    ) from None
                if not is_transient(error) or time.monotonic() > deadline:
                    raise explain_error(error, self.shown) from None
            except httpx.HTTPError as error:
                cut = (
                    cut + 1
                    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
                    else 0
                )
                if cut == _CUTS_OF_A_REFUSAL and self._responds_to_strangers():
                    raise PeerError(
                        f"server {self.shown} does not accept your certificate: it has ended, was"
                        " replaced, or belongs to another server; ask the server's operator to revoke"
                        " you and invite you again"
                    ) from None
                if not is_transient(error) or time.monotonic() > deadline:
                    raise explain_error(error, self.shown) from None
            time.sleep(_PAUSE)

    def _responds_to_strangers(self) -> bool:
        """Whether the server responds without a certificate: a server that refuses one ends the
        connection without a word.
        """
        host, port = split_address(self.address)
        with (
            contextlib.suppress(httpx.HTTPError, PeerError),
            open_http_client(host, self.authority, proxy=self.proxy) as client,
        ):
            return client.get(f"https://{join_address(host, port)}/health").is_success
        return False
