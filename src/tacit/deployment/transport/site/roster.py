"""Fetches the public keys of a server's sites, as one of them."""

from __future__ import annotations

from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from tacit.deployment.transport.address import join_address, split_address
from tacit.deployment.transport.http_client import explain_error, open_http_client
from tacit.deployment.transport.proxy import describe_route, find_proxy
from tacit.errors import PeerError


class _SignedRequest:
    """What Flower's interceptor needs of a request: its headers."""

    def __init__(self, request: httpx.Request) -> None:
        self.request = request


def fetch_roster(
    address: str,
    root_certificate: Path | None,
    key: ec.EllipticCurvePrivateKey,
    proxy: str | None = None,
) -> bytes:
    """Names and public keys of the sites that the server admits, as the server wrote them."""
    host, port = split_address(address)
    scheme, route = "http" if root_certificate is None else "https", find_proxy(address, proxy)
    shown = describe_route(address, route)
    with open_http_client(host, root_certificate, proxy=route) as client:
        request = client.build_request(
            "POST", f"{scheme}://{join_address(host, port)}/v1/fleet/tacit-roster"
        )
        signer = NodeAuthHttpInterceptor(key, key.public_key())
        try:
            response: httpx.Response = signer.intercept(
                _SignedRequest(request),  # type: ignore[arg-type]
                lambda context: client.send(context.request),
            )
            response.raise_for_status()
        except httpx.HTTPStatusError as error:
            if error.response.status_code == httpx.codes.UNAUTHORIZED:
                raise PeerError(
                    f"server {address} does not admit this site, or the clocks differ by more than 5"
                    " seconds; send the site's .request file to the server's operator"
                ) from None
            raise explain_error(error, shown) from None
        except httpx.HTTPError as error:
            raise explain_error(error, shown) from None
    return bytes(response.content)
