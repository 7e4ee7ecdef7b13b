"""A running server with people and sites, as tests of access from other machines need them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from tacit.deployment.access.access_folder import create_access
from tacit.deployment.access.access_log import ACCESS_LOG
from tacit.deployment.access.roles import Role
from tacit.deployment.access.server_access import ServerAccess
from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.enrolment import open_invitation
from tacit.deployment.provisioning.signed_files import AccessRequest, encode_file, read_file
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.transport.certificates import format_node_key
from tacit.deployment.transport.server.endpoint import ServerEndpoint
from tacit.deployment.transport.server.registry import register
from tacit.deployment.transport.site.node import Node
from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink
from tests.deployment.local_post import owner
from tests.deployment.transport.sites import LARGEST, running, server_folder


@dataclass
class Server:
    """A server's folder and where it listens; `base` is a place for other folders."""

    folder: Path
    place: ServerEndpoint
    base: Path

    def invite(self, name: str, role: Role) -> Path:
        """Invite a person; return the folder of their new access, whose request waits in it."""
        made = admission.invite(self.folder, name, self.place.address, 14, role)
        path = self.base / f"{name}.invite"
        path.write_bytes(encode_file(made))
        folder = self.base / name
        create_access(folder, open_invitation(path, for_person=True))
        return folder

    def admit(self, name: str, role: Role) -> Path:
        """Return the folder of a person, admitted at the first call."""
        folder = self.base / name
        if not folder.exists():
            request = read_file(self.invite(name, role) / f"{name}.request", AccessRequest)
            admission.admit_person(self.folder, request)
        return folder

    def access(self, name: str, role: Role) -> ServerAccess:
        """Return the calls of an admitted person."""
        return ServerAccess(self.admit(name, role))

    def read_log(self) -> str:
        return (self.folder / ACCESS_LOG).read_text()

    @contextlib.contextmanager
    def joined(self, files: list[Path], folder: Path) -> Iterator[list[OwnerSite]]:
        """Let sites a, b, … with rows in these files join; they answer in threads."""
        with contextlib.ExitStack() as stack:
            sites = []
            for name, rows in zip("abc", files, strict=False):
                one = owner(name, rows, folder / name)
                line = format_node_key(one.key.public_key()).encode()
                key = one.signs_with.public_key().public_bytes_raw().hex()
                register(self.folder, name, line, signing_key=key)
                private = one.key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
                (folder / name / "node.key").write_bytes(private)
                (folder / name / "node.key").chmod(0o600)
                sites.append(OwnerSite(one))
                node = Node(
                    address=self.place.address,
                    root_certificate=self.folder / "ca.crt",
                    key=None,
                    folder=folder / name,
                    max_bytes=LARGEST,
                )
                stack.enter_context(running(node, sites[-1].handle))
            yield sites


@contextlib.contextmanager
def running_server(base: Path) -> Iterator[Server]:
    folder = server_folder(base / "server")
    with start_superlink(SuperLinkSettings(folder, "127.0.0.1", 0, tls=True)) as place:
        yield Server(folder, place, base)
