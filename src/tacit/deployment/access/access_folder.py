"""A person's folder of access to a server: settings, certificate and key, and the server's authority.

The key is made here and never leaves. `access.toml` may name a proxy.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tacit.deployment.access.roles import Role
from tacit.deployment.provisioning.enrolment import OpenedInvitation
from tacit.deployment.provisioning.fingerprint import fingerprint_person
from tacit.deployment.provisioning.signed_files import (
    AccessRequest,
    AccessRequestContent,
    encode_file,
    prove_certificate,
)
from tacit.deployment.transport.certificates import (
    AUTHORITY,
    CLIENT_CERTIFICATE,
    CLIENT_KEY,
    check_client_certificate,
    make_client_certificate,
    make_private_folder,
    read_private,
)
from tacit.errors import PeerError, PlanError, RunError
from tacit.files import replace_file

ACCESS = "access.toml"
REQUEST = ".request"
_UNUSED_TOKEN = "0" * 64
"""Stands in a renewal, which needs no invitation."""


class AccessSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`access.toml`: who the person is, in which role, where the server is and its fingerprint, and
    the proxy in between if it is not that of HTTPS_PROXY.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
    role: Role
    server: str
    fingerprint: str
    proxy: str | None = None


def is_access_folder(folder: Path) -> bool:
    """Whether a folder is that of a person, not of a server."""
    return (folder / ACCESS).exists()


def create_access(folder: Path, opened: OpenedInvitation) -> Path:
    """Create a person's folder from an invitation, with a new key; return the path of the request to
    send back.
    """
    content = opened.invitation.content
    assert content.role is not None
    if content.authority is None:
        raise PeerError("the invitation has no certificate of an authority; ask for a new one")
    if (folder / ACCESS).exists() or (folder / "site.toml").exists():
        raise RunError(f"{folder} already holds an access or a site; choose another folder")
    make_private_folder(folder)
    make_client_certificate(folder)
    replace_file(folder / AUTHORITY, content.authority.encode())
    facts = {
        "name": content.site,
        "role": content.role,
        "server": content.server,
        "fingerprint": opened.fingerprint,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in facts.items()]
    path = folder / f"{content.site}{REQUEST}"
    replace_file(path, _build_request(folder, content.site, content.token).encode())
    replace_file(folder / ACCESS, ("\n".join(lines) + "\n").encode())
    return path


def read_access(folder: Path) -> AccessSettings:
    """Read access.toml."""
    path = folder / ACCESS
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(tree, AccessSettings)
    except OSError as error:
        raise RunError(
            f"{path} cannot be read ({error.strerror}); create a folder with `tacit server connect`"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise PlanError(f"{path}: {error}") from None


def read_own_fingerprint(folder: Path) -> str:
    """The fingerprint that the person reads to the server's operator."""
    pem = (folder / CLIENT_CERTIFICATE).read_text()
    return fingerprint_person(read_access(folder).name, check_client_certificate(pem))


def build_renewal(folder: Path, name: str) -> str:
    """The request for a new certificate, whose files are in `folder`."""
    return _build_request(folder, name, _UNUSED_TOKEN)


def _build_request(folder: Path, name: str, token: str) -> str:
    content = AccessRequestContent(
        name=name, certificate=(folder / CLIENT_CERTIFICATE).read_text(), token=token
    )
    key = load_pem_private_key(read_private(folder / CLIENT_KEY), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return encode_file(
        AccessRequest(content=content, proof=prove_certificate(content, key))
    ).decode()
