"""HTTP clients of a SuperLink: Flower's own, but they neither end the process nor wait forever."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
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

from tacit.deployment.transport.address import join_address, require_loopback, split_address
from tacit.deployment.transport.flower_messages import CHUNK_BYTES
from tacit.deployment.transport.proxy import Proxy
from tacit.errors import PeerError

MAX_RESPONSE_BYTES = CHUNK_BYTES + 65_536
"""Largest response of a SuperLink: one chunk of a message and its head."""
SECRET_HEADER = "tacit-server-secret"
"""HTTP header in which the server's own commands send the secret of its folder."""

_SECONDS = 20.0
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_NOT_ADMITTED = (
    "TLSV1_ALERT_UNKNOWN_CA",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "TLSV1_ALERT_DECRYPT_ERROR",
)
_Client = TypeVar("_Client", bound=ProtobufClient)


@dataclass(frozen=True)
class ClientCertificate:
    """Files of the certificate and key by which a person's machine identifies itself to a server."""

    certificate: Path
    key: Path


class Headers:
    """An interceptor that adds fixed headers to each request."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers

    def intercept(self, context: ProtobufRequestContext, call_next: ProtobufCall) -> httpx.Response:
        """Add the headers and send the request."""
        context.request.headers.update(self._headers)
        return call_next(context)


def version_headers(component: str) -> Headers:
    """Flower's version headers. Flower's own interceptor would end the process on a version
    mismatch.
    """
    return Headers(dict(RuntimeVersionMetadata.from_local_component(component).as_metadata()))


def connect(
    kind: type[_Client],
    address: str,
    root_certificate: Path | None,
    interceptors: Sequence[ProtobufClientInterceptor],
    *,
    own: ClientCertificate | None = None,
    proxy: Proxy | None = None,
) -> _Client:
    """Build a client of the SuperLink at `address`, with TLS if a root certificate is given.

    The connection trusts that certificate only, follows no redirect and refuses long responses. It
    ignores proxies of the environment and uses `proxy`.
    """
    host, port = split_address(address)
    client = kind(
        f"{'http' if root_certificate is None else 'https'}://{join_address(host, port)}",
        interceptors=interceptors,
        verify=False,
    )
    client.close()
    client._client = open_http_client(host, root_certificate, own=own, proxy=proxy)
    return client


def open_http_client(
    host: str,
    root_certificate: Path | None,
    *,
    own: ClientCertificate | None = None,
    proxy: Proxy | None = None,
) -> httpx.Client:
    """An HTTP client with the limits of `connect`."""
    if root_certificate is None:
        require_loopback(host, "connection")
    return httpx.Client(
        verify=False if root_certificate is None else _build_tls_context(root_certificate, own),
        proxy=None if proxy is None else httpx.Proxy(proxy.url),
        timeout=_SECONDS,
        follow_redirects=False,
        trust_env=False,
        event_hooks={"response": [_refuse_long_response]},
    )


def _build_tls_context(
    root_certificate: Path, own: ClientCertificate | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cafile=root_certificate)
    except (OSError, ssl.SSLError) as error:
        raise PeerError(
            f"root certificate {root_certificate}: cannot be read ({error}); ask the server's"
            " operator for ca.crt"
        ) from None
    if own is not None:
        try:
            context.load_cert_chain(own.certificate, own.key)
        except (OSError, ssl.SSLError) as error:
            raise PeerError(
                f"{own.certificate} and {own.key.name} are not a certificate and its key ({error});"
                " restore both, or ask the server's operator for a new invitation"
            ) from None
    return context


def _refuse_long_response(response: httpx.Response) -> None:
    """Refuse a response by its head, before its body is read: unknown or excessive length, or
    compressed.
    """
    length = response.headers.get("content-length", "")
    if (
        not length.isdecimal()
        or int(length) > MAX_RESPONSE_BYTES
        or "content-encoding" in response.headers
    ):
        response.close()
        raise PeerError(
            f"the server's response must state a length of at most {MAX_RESPONSE_BYTES} bytes, got"
            f" {length or 'none'}; nothing was read"
        )


def is_transient(error: httpx.HTTPError) -> bool:
    """Whether a retry may help: the server is unreachable or busy."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (502, 503, 504)
    if _proxy_problem(error) or _tls_problem(error):
        return False
    return isinstance(error, httpx.TransportError)


def explain_error(error: httpx.HTTPError, address: str) -> PeerError:
    """Convert a failed call into an error for a person."""
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        flower_error = FlowerError.from_json(error.response.text)
        return PeerError(
            f"server {address} refused the request:"
            f" {flower_error.message if flower_error else error.response.text[:200].strip()} (status {status})"
        )
    problem = _proxy_problem(error) or _tls_problem(error)
    if problem is not None:
        return PeerError(problem.replace("ADDRESS", address))
    return PeerError(
        f"server {address} cannot be reached ({type(error).__name__}); check the address, and that"
        " the server is running"
    )


def _proxy_problem(error: BaseException) -> str | None:
    """Why a proxy refuses the tunnel for good; None if it may do so later, or was not the cause."""
    if not isinstance(error, httpx.ProxyError):
        return None
    status = str(error)[:3]
    if status == "407":
        return (
            "server ADDRESS cannot be reached: the proxy requires a user and password (status 407);"
            ' write them into its URL, as in proxy = "http://USER:PASSWORD@HOST:PORT"'
        )
    if status in ("400", "401", "403", "404", "405"):
        return (
            f"server ADDRESS cannot be reached: the proxy refuses the connection (status {status});"
            " ask its operator to allow CONNECT to this host and port"
        )
    return None


def _tls_problem(error: BaseException) -> str | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "server ADDRESS: its certificate is not from the authority in ca.crt"
                f" ({cause.verify_message}); nothing was sent; ask the server's operator for the"
                " current ca.crt, or, if a proxy in between opens TLS connections, its operator to"
                " pass this one through"
            )
        if isinstance(cause, ssl.SSLError) and cause.reason in _NOT_ADMITTED:
            return (
                "server ADDRESS does not accept your certificate: it has ended, or belongs to another"
                " server; ask the server's operator to revoke you and invite you again"
            )
        if isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS:
            return (
                "server ADDRESS does not use TLS; check the port, and that the server was started"
                " with certificates"
            )
        cause = cause.__cause__ or cause.__context__
    return None
