"""Where sites and people reach a server: the address in its invitations."""

from __future__ import annotations

from pathlib import Path

from tacit.deployment.transport.address import join_address, split_address
from tacit.deployment.transport.certificates import list_hosts, read_server_certificate
from tacit.deployment.transport.server.endpoint import read_endpoint


def find_address(folder: Path) -> str:
    """The first host of the server's certificate, and its port."""
    endpoint = read_endpoint(folder)
    hosts = list_hosts(read_server_certificate(folder)) if endpoint.tls else []
    address = join_address(hosts[0], endpoint.port) if hosts else endpoint.address
    split_address(address)
    return address
