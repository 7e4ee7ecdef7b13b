"""A server's folder without a process, sites made from its invitations, and files changed by an attacker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.enrolment import open_invitation, write_request
from tacit.deployment.provisioning.signed_files import encode_file
from tacit.deployment.site.site_folder import SiteSettings, create_site
from tacit.deployment.transport.certificates import make_authority, make_server_certificate
from tacit.deployment.transport.server import registry
from tacit.deployment.transport.server.endpoint import ServerEndpoint, write_endpoint

ADDRESS = "tacit.example.org:8443"


def make_server(folder: Path, *, tls: bool = True) -> Path:
    make_authority(folder)
    make_server_certificate(folder, ["tacit.example.org"])
    write_endpoint(folder, ServerEndpoint("127.0.0.1", 8443, tls, 1))
    return folder


def replace_flower(patch: pytest.MonkeyPatch) -> list[str]:
    """Register keys without a process; return the list of node ids that Flower would refuse for good."""
    refused: list[str] = []
    numbers = iter(range(1, 1000))
    patch.setattr(registry, "_register_key", lambda folder, name, pem: next(numbers))
    patch.setattr(registry, "_unregister_node", lambda folder, node_id: refused.append(node_id))
    return refused


def invite_to(server: Path, name: str, days: int = 14) -> Path:
    path = server.parent / f"{name}.invite"
    path.write_bytes(encode_file(admission.invite(server, name, ADDRESS, days)))
    return path


def make_site(invitation: Path, folder: Path | None = None) -> tuple[Path, Path]:
    """The folder of a site and its request, as `tacit site init --invite` writes them."""
    content = open_invitation(invitation).invitation.content
    place = folder or invitation.parent / content.site
    settings = SiteSettings(
        name=content.site, data="rows.csv", server=content.server, state="state", one_client=True
    )
    create_site(place, settings)
    return place, write_request(place, content.token)


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> Path:
    tree = json.loads(path.read_bytes())
    edit(tree)
    path.write_text(json.dumps(tree))
    return path
