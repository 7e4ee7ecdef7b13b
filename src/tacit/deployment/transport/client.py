"""How this room speaks to a SuperLink: Flower's own clients, without their habits of ending the
process or waiting for ever.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import httpx
from flwr.supercore.error import FlowerError
from flwr.supercore.protobuf.client import (
    ProtobufCall,
    ProtobufClient,
    ProtobufClientInterceptor,
    ProtobufRequestContext,
)
from flwr.supercore.runtime_version_compatibility import RuntimeVersionMetadata

from tacit.deployment.transport.address import joined, refuse_plain, split
from tacit.deployment.transport.letters import CHUNK
from tacit.errors import PeerError

LARGEST_ANSWER = CHUNK + 65_536
"""Bytes of one answer of a SuperLink: at most one chunk of a letter and its head."""
SECRET_HEADER = "tacit-server-secret"
"""Under which name the server's own commands show the secret of its folder."""

_SECONDS = 20.0
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_Client = TypeVar("_Client", bound=ProtobufClient)


class Headers:
    """An interceptor that adds fixed headers to each request."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers

    def intercept(self, context: ProtobufRequestContext, call_next: ProtobufCall) -> httpx.Response:
        """Add the headers and go on."""
        context.request.headers.update(self._headers)
        return call_next(context)


def version_headers(component: str) -> Headers:
    """Return Flower's version headers; its own interceptor would end the process when versions
    differ.
    """
    return Headers(dict(RuntimeVersionMetadata.from_local_component(component).as_metadata()))


def connected(
    kind: type[_Client],
    address: str,
    root_certificate: Path | None,
    interceptors: Sequence[ProtobufClientInterceptor],
) -> _Client:
    """Return a client of a SuperLink at `address`, with TLS if a root certificate is given.

    Its connection trusts that certificate alone, uses no proxy, follows no redirection and reads no
    answer that is too long.
    """
    host, port = split(address)
    if root_certificate is None:
        refuse_plain(host, "connection")
    client = kind(
        f"{'http' if root_certificate is None else 'https'}://{joined(host, port)}",
        interceptors=interceptors,
        verify=False,
    )
    client.close()
    client._client = httpx.Client(
        verify=False if root_certificate is None else _trusting(root_certificate),
        timeout=_SECONDS,
        follow_redirects=False,
        trust_env=False,
        event_hooks={"response": [_refuse_long]},
    )
    return client


def _trusting(root_certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cafile=root_certificate)
    except (OSError, ssl.SSLError) as error:
        raise PeerError(
            f"root certificate {root_certificate}: cannot be read ({error}); ask the server's"
            " operator for ca.crt"
        ) from None
    return context


def _refuse_long(answer: httpx.Response) -> None:
    """Refuse an answer by its head, before its body is read: unknown or excessive length, or
    packed.
    """
    length = answer.headers.get("content-length", "")
    if (
        not length.isdecimal()
        or int(length) > LARGEST_ANSWER
        or "content-encoding" in answer.headers
    ):
        answer.close()
        raise PeerError(
            f"the server's answer needs a length of at most {LARGEST_ANSWER} bytes, got"
            f" {length or 'none'}; nothing was read"
        )


def is_passing(error: httpx.HTTPError) -> bool:
    """Return whether it may help to try again: the other side is away, or busy."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (502, 503, 504)
    return isinstance(error, httpx.TransportError) and _tls_problem(error) is None


def explained(error: httpx.HTTPError, address: str) -> PeerError:
    """Return what a failed call means to a person."""
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        told = FlowerError.from_json(error.response.text)
        return PeerError(
            f"server {address} refuses:"
            f" {told.message if told else error.response.text[:200].strip()} (status {status})"
        )
    problem = _tls_problem(error)
    if problem is not None:
        return PeerError(problem.replace("ADDRESS", address))
    return PeerError(
        f"server {address} cannot be reached ({type(error).__name__}); check the address, and that"
        " the server runs"
    )


def _tls_problem(error: BaseException) -> str | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "server ADDRESS does not show a certificate of the authority we know"
                f" ({cause.verify_message}); nothing was sent; check ca.crt with the server's"
                " operator"
            )
        if isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS:
            return (
                "server ADDRESS does not speak TLS; check the port, and that the server was started"
                " with certificates"
            )
        cause = cause.__cause__ or cause.__context__
    return None
