"""The folder of a site: settings, keys, policy and ledger."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from annotated_types import Len
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tacit.column_statistics.number_format import DecimalMark
from tacit.data.read import TextFormat
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.rows_register import RowsRegister
from tacit.deployment.site_ledger.ledger_guard import LedgerGuard
from tacit.deployment.site_ledger.witness import Witness, site_id, state_folder
from tacit.deployment.transport.certificates import make_node_key, make_private_folder, read_private
from tacit.deployment.transport.server.endpoint import NODE_LOCK
from tacit.errors import PeerError, PlanError, RunError
from tacit.files import replace_file
from tacit.plan.kinds import STRICT
from tacit.plan.load import find_near
from tacit.privacy.policy import Limits, Policy, PrivacyUnit, load_policy

SETTINGS, KEY, SIGNS, SECRET, POLICY, LEDGER = (
    "site.toml",
    "node.key",
    "signing.key",
    "secret",
    "policy.toml",
    "ledger.sqlite",
)
JOINED = "joined.pid"
"""Id of the process that has joined."""
_HEX = r"^[0-9a-f]{64}$"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SiteSettings:
    """`site.toml`. Paths are relative to its folder.

    `client` is the column that identifies the person of a row; budgets are kept per value of it,
    whatever a plan says. `one_client = true` declares instead that all rows belong to one client.
    `quasi_identifiers` are columns that could identify a person. `encoding`, `header` and `decimal`
    say how a text file is read, as in a plan's `[data]`. `proxy` is the URL of the HTTPS proxy to the
    server, or "none"; without it HTTPS_PROXY and NO_PROXY decide.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    data: str
    server: str
    authority: str | None = None
    proxy: Annotated[str, Len(1, 500)] | None = None
    client: Annotated[str, Len(1, 200)] | None = None
    one_client: bool = False
    quasi_identifiers: tuple[Annotated[str, Len(1, 200)], ...] = ()
    encoding: str | None = None
    header: bool | None = None
    decimal: DecimalMark | None = None
    agreed: str | None = None
    helpers: tuple[str, ...] | None = None
    state: str | None = None
    peers: dict[str, Annotated[str, StringConstraints(pattern=_HEX)]] | None = None

    @property
    def unit(self) -> PrivacyUnit:
        """The privacy unit: who the clients of this site are."""
        return PrivacyUnit(
            client=self.client, one_client=self.one_client, quasi_identifiers=self.quasi_identifiers
        )


def create_site(folder: Path, settings: SiteSettings) -> bytes:
    """Create a site's folder with new keys; return its public key for the server as one OpenSSH
    line.
    """
    if (folder / SETTINGS).exists():
        raise RunError(f"{folder} already holds a site ({SETTINGS}); choose another folder")
    make_private_folder(folder)
    public = make_node_key(folder / KEY)
    signs = Ed25519PrivateKey.generate()
    replace_file(folder / SIGNS, signs.private_bytes_raw())
    replace_file(folder / SECRET, os.urandom(32))
    replace_file(folder / SETTINGS, _format_settings(settings).encode())
    return public


def exchange_peer_keys(folders: Sequence[Path]) -> None:
    """Write the signing keys of all given sites into the settings of each, as their owners would."""
    settings = {folder: read_site_settings(folder) for folder in folders}
    keys = {
        settings[folder].name: load_signing_key(folder).public_key().public_bytes_raw().hex()
        for folder in folders
    }
    for folder, own in settings.items():
        peers = {name: key for name, key in keys.items() if name != own.name}
        replace_file(folder / SETTINGS, _format_settings(replace(own, peers=peers)).encode())


def read_site_settings(folder: Path) -> SiteSettings:
    """Read site.toml; the error names every problem."""
    path = folder / SETTINGS
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
        return TypeAdapter(SiteSettings).validate_json(json.dumps(tree))
    except OSError as error:
        raise RunError(
            f"{path} cannot be read ({error.strerror}); create a site with `tacit site init`"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} is not valid TOML: {error}") from None
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
        )
        raise PlanError(f"{path}: {problems}") from None


def load_owner(folder: Path, tell: Callable[[str], None] = lambda sentence: None) -> Owner:
    """Build the owner of the site in a folder."""
    settings = read_site_settings(folder)
    guard = LedgerGuard(folder / LEDGER, open_witness(folder, settings), tell)
    return Owner(
        name=settings.name,
        source=find_source(folder, settings),
        folder=folder,
        key=load_node_key(folder),
        signs_with=load_signing_key(folder),
        secret=read_private(folder / SECRET),
        policy=lambda: read_policy(folder),
        open_ledger=lambda policy, plan: guard.open(policy.limits, plan.delta),
        unit=settings.unit,
        encoding=settings.encoding,
        header=settings.header,
        decimal=settings.decimal,
        agreed=str(folder / settings.agreed) if settings.agreed else None,
        server=settings.server,
        authority=_hash_authority(folder, settings),
        peers=lambda: read_peers(folder),
        helpers=lambda: read_site_settings(folder).helpers,
        tell=tell,
    )


def _hash_authority(folder: Path, settings: SiteSettings) -> str:
    """SHA-256 of the certificate of the server's authority; empty without TLS, or if it cannot be
    read, since then nothing can be joined.
    """
    try:
        certificate = (folder / settings.authority).read_bytes() if settings.authority else b""
    except OSError:
        return ""
    return hashlib.sha256(certificate).hexdigest() if certificate else ""


def read_peers(folder: Path) -> dict[str, bytes]:
    """Public signing keys by site name: those the owner knows, and the site's own."""
    settings = read_site_settings(folder)
    others = {name: bytes.fromhex(key) for name, key in (settings.peers or {}).items()}
    return {**others, settings.name: load_signing_key(folder).public_key().public_bytes_raw()}


def find_source(folder: Path, settings: SiteSettings) -> str:
    """The source of the site's rows: files, relative to the site's folder, or a named data set."""
    return find_near(folder, settings.data)


def read_policy(folder: Path) -> Policy | None:
    """The site's current policy; None if there is none, which allows nothing."""
    return load_policy(folder / POLICY) if (folder / POLICY).exists() else None


def open_witness(folder: Path, settings: SiteSettings) -> Witness:
    """The witness of the site's ledger, outside the site's folder."""
    return Witness(
        find_state_folder(folder, settings)
        / "sites"
        / f"{site_id(load_node_key(folder).public_key())}.json"
    )


def check_ready(folder: Path, tell: Callable[[str], None] = lambda sentence: None) -> None:
    """Raise LedgerError or PolicyError, with the remedy, unless the site may join.

    Its ledger must be intact and the newest copy, and no other site of this machine may keep the
    ledger of the same rows.
    """
    settings = read_site_settings(folder)
    guard = LedgerGuard(folder / LEDGER, open_witness(folder, settings))
    if (folder / LEDGER).exists():
        guard.open(Limits(), delta=1e-5).close()  # unused: nothing is charged here
    guard.witness.refuse_missing(folder / LEDGER)
    register = RowsRegister(find_state_folder(folder, settings))
    try:
        read_as = TextFormat(encoding=settings.encoding, header=settings.header, guess=False)
        register.claim(
            site_id(load_node_key(folder).public_key()),
            folder,
            find_source(folder, settings),
            read_as,
        )
    except OSError as error:
        tell(
            f"{register.folder} cannot be written ({error.strerror}), so a second site with the"
            " same rows would go unnoticed; set `state` in site.toml to a folder outside the site's"
            " folder"
        )


def find_state_folder(folder: Path, settings: SiteSettings) -> Path:
    """The folder of what the machine remembers about this site outside the site's folder."""
    return state_folder(folder / settings.state if settings.state else None)


def find_joined_process(folder: Path) -> int | None:
    """Id of the process that acts for the site; None if there is none, also after a kill."""
    try:
        with (folder / NODE_LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return int((folder / JOINED).read_text()) if (folder / JOINED).exists() else None
    except OSError:
        return None


def load_node_key(folder: Path) -> EllipticCurvePrivateKey:
    """The key with which a site joins and signs responses."""
    key = serialization.load_pem_private_key(read_private(folder / KEY), password=None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise PeerError(
            f"{folder / KEY} is not an elliptic-curve key; create a new site with `tacit site init`"
        )
    return key


def load_signing_key(folder: Path) -> Ed25519PrivateKey:
    """The key with which a site confirms the terms of runs and signs keys for helpers."""
    return Ed25519PrivateKey.from_private_bytes(read_private(folder / SIGNS))


_NOTES = {
    "name": "",
    "data": "",
    "server": "",
    "authority": "",
    "proxy": "  # an HTTPS proxy between this site and its server",
    "client": (
        "  # the column that names the person a row is about: every budget is kept per value of it"
    ),
    "one_client": "  # all rows of this site belong to one client",
    "quasi_identifiers": (
        "  # columns that together could identify a person, for plans that disclose rows"
    ),
    "encoding": "",
    "header": "",
    "decimal": "",
    "agreed": "",
    "helpers": "",
    "state": "",
}
"""Settings that are written to site.toml, each with its comment."""


def _format_settings(settings: SiteSettings) -> str:
    given = {
        name: getattr(settings, name)
        for name in _NOTES
        if getattr(settings, name) != getattr(SiteSettings, name, None)
    }
    lines = [f"{name} = {json.dumps(value)}{_NOTES[name]}" for name, value in given.items()]
    lines += [
        "",
        (
            "# Signing keys of other sites, for plans with secure aggregation. `tacit site confirm` adds"
            " one by the fingerprint"
        ),
        "# that its owner reads out. Never trust a key because the server sent it.",
    ]
    lines.append("[peers]")
    lines += [
        f"{json.dumps(site)} = {json.dumps(key)}" for site, key in (settings.peers or {}).items()
    ]
    return "\n".join(lines) + "\n"
