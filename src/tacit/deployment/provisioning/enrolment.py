"""A site's side of provisioning: a new site from an invitation, its request for admission, and new
keys.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.deployment.provisioning.fingerprint import fingerprint_server, fingerprint_site
from tacit.deployment.provisioning.signed_files import (
    AdmissionRequest,
    Invitation,
    KeyProof,
    RequestContent,
    SiteKeys,
    encode_file,
    prove_keys,
    read_file,
)
from tacit.deployment.site.rows.rows_register import RowsRegister
from tacit.deployment.site.site_folder import (
    KEY,
    SIGNS,
    find_joined_process,
    find_state_folder,
    load_node_key,
    load_owner,
    load_signing_key,
    open_witness,
    read_site_settings,
)
from tacit.deployment.site.stored_runs import list_open_runs
from tacit.deployment.site_ledger.witness import site_id
from tacit.deployment.transport.address import is_loopback, split_address
from tacit.deployment.transport.certificates import (
    format_node_key,
    make_node_key,
    make_private_folder,
)
from tacit.errors import PeerError, RunError
from tacit.files import replace_file, sync_folder

REQUEST = ".request"
"""Suffix of a site's request for admission in its folder."""
_NEW_KEYS = "new-keys"
"""Folder in which new keys wait until they are complete."""


@dataclass(frozen=True)
class OpenedInvitation:
    """An invitation whose signature, address, authority and expiry are in order, and the
    fingerprint of its server.
    """

    invitation: Invitation
    fingerprint: str


def open_invitation(path: Path, *, for_person: bool = False) -> OpenedInvitation:
    """Read and check an invitation for a site, or for a person. Only the comparison of fingerprints
    shows whose it is.
    """
    invitation = read_file(path, Invitation)
    invitation.check_signature()
    content = invitation.content
    if (content.role is not None) != for_person:
        raise PeerError(
            f"{path}: the invitation is for a person, as {content.role}; use `tacit server connect`"
            if content.role
            else f"{path}: the invitation is for a site; use `tacit site init --invite`"
        )
    host, _ = split_address(content.server)
    if content.expires < time.time():
        raise PeerError(
            f"{path}: the invitation ended on"
            f" {datetime.fromtimestamp(content.expires, UTC):%Y-%m-%d}; ask the server's operator for"
            " a new one"
        )
    if content.authority is None and not is_loopback(host):
        raise PeerError(
            f"{path}: the invitation to {host} has no certificate, so anybody between could read and"
            " change what is sent; ask the server's operator for one with TLS"
        )
    der = _check_authority(path, content.authority) if content.authority else b""
    return OpenedInvitation(invitation, fingerprint_server(bytes.fromhex(content.server_key), der))


def _check_authority(path: Path, pem: str) -> bytes:
    """The certificate as DER; raise PeerError unless it is the only one, that of an authority and
    valid now. The fingerprint covers one certificate, so a second one would be trusted unseen.
    """
    try:
        (found,) = x509.load_pem_x509_certificates(pem.encode())
        is_authority = found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound):
        is_authority = False
    if not is_authority or not (
        found.not_valid_before_utc <= datetime.now(UTC) <= found.not_valid_after_utc
    ):
        raise PeerError(
            f"{path}: the invitation holds no valid certificate of an authority; ask the server's"
            " operator for a new one"
        )
    return found.public_bytes(Encoding.DER)


def read_public_keys(folder: Path) -> SiteKeys:
    """The public keys of a site."""
    return _build_keys(load_node_key(folder), load_signing_key(folder))


def read_fingerprint(folder: Path) -> str:
    """The fingerprint of a site, as its owner reads it to the server's operator and to other owners."""
    keys = read_public_keys(folder)
    return fingerprint_site(read_site_settings(folder).name, keys.node_key, keys.signing_key)


def write_request(folder: Path, token: str | None) -> Path:
    """Write the site's request for admission into its folder and return its path."""
    name, keys = read_site_settings(folder).name, read_public_keys(folder)
    content = RequestContent(site=name, keys=keys, token=token)
    proof = prove_keys(content, load_node_key(folder), load_signing_key(folder))
    return _store_request(folder / f"{name}{REQUEST}", content, proof)


def replace_keys(folder: Path) -> Path:
    """Give a site new keys; return the path of the request by which the server replaces the old
    ones.

    The new keys and the request are complete on disk before the first old key is replaced. A crash
    in between leaves them there, and the next call finishes with them.
    """
    settings = read_site_settings(folder)
    if find_joined_process(folder) is not None:
        raise RunError(
            f"{folder}: the site has joined with its present keys; stop it first with `tacit site"
            f" leave {folder}`"
        )
    ready, request = folder / _NEW_KEYS, f"{settings.name}{REQUEST}"
    if not ready.exists():
        if runs := list_open_runs(load_owner(folder)):
            raise RunError(
                f"{folder}: runs that began with the present keys are open here"
                f" ({', '.join(runs[:3])}); wait for their end, or end them with `tacit site forget`"
            )
        _prepare_keys(folder, settings.name, request)
    _move_state(folder, ready)
    for name in (KEY, f"{KEY}.pub", SIGNS, request):
        if (ready / name).exists():
            (ready / name).replace(folder / name)
    ready.rmdir()
    sync_folder(folder)
    return folder / request


def _prepare_keys(folder: Path, name: str, request: str) -> None:
    """Write new keys and the request for them; the folder has its final name once it is complete."""
    unfinished = folder / f".{_NEW_KEYS}"
    shutil.rmtree(unfinished, ignore_errors=True)
    make_private_folder(unfinished)
    make_node_key(unfinished / KEY)
    replace_file(unfinished / SIGNS, Ed25519PrivateKey.generate().private_bytes_raw())
    new = load_node_key(unfinished), load_signing_key(unfinished)
    old = load_node_key(folder), load_signing_key(folder)
    content = RequestContent(site=name, keys=_build_keys(*new), replaces=_build_keys(*old))
    _store_request(
        unfinished / request, content, prove_keys(content, *new), prove_keys(content, *old)
    )
    unfinished.rename(folder / _NEW_KEYS)
    sync_folder(folder)


def _move_state(folder: Path, ready: Path) -> None:
    """Take the ledger's witness and the register of rows along: both are filed under the key that
    the site joins with.
    """
    if not (ready / KEY).exists():
        return  # done before a crash
    settings = read_site_settings(folder)
    old, new = (site_id(load_node_key(where).public_key()) for where in (folder, ready))
    state, witness = find_state_folder(folder, settings), open_witness(folder, settings).file
    for path in (witness, RowsRegister(state).find_entry(old)):
        if path.exists():
            path.replace(path.with_name(f"{new}.json"))
            sync_folder(path.parent)


def _build_keys(node_key: EllipticCurvePrivateKey, signing_key: Ed25519PrivateKey) -> SiteKeys:
    return SiteKeys(
        node_key=format_node_key(node_key.public_key()),
        signing_key=signing_key.public_key().public_bytes_raw().hex(),
    )


def _store_request(
    path: Path, content: RequestContent, proof: KeyProof, old_proof: KeyProof | None = None
) -> Path:
    request = AdmissionRequest(content=content, proof=proof, old_proof=old_proof)
    replace_file(path, encode_file(request))
    return path
