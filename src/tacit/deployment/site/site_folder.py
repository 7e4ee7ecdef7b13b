"""The folder of a site: who it is, where its rows are, which server it joins, and its keys, policy
and ledger.
"""

from __future__ import annotations

import fcntl
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
from tacit.deployment.site.rows_register import RowsRegister
from tacit.deployment.site_ledger.ledger_guard import LedgerGuard
from tacit.deployment.site_ledger.witness import Witness, site_id, state_folder
from tacit.deployment.transport.certificates import make_node_key, make_private_folder, read_private
from tacit.deployment.transport.server.endpoint import NODE_LOCK
from tacit.errors import PeerError, PlanError, RunError
from tacit.files import replace_file
from tacit.plan.kinds import STRICT
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
"""The number of the process that has joined."""
_HEX = r"^[0-9a-f]{64}$"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SiteSettings:
    """`site.toml`. Paths are relative to the folder it lies in.

    `client` is the column that names the person a row is about; budgets are kept per value of it,
    whatever a plan says. Instead, `one_client = true` says that all rows belong to one client.
    `quasi_identifiers` are the columns that could point at a person. `encoding`, `header` and
    `decimal` say how a text file is read, as in a plan's `[data]`.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    data: str
    server: str
    authority: str | None = None
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
        """Return who the clients of this site are."""
        return PrivacyUnit(
            client=self.client, one_client=self.one_client, quasi_identifiers=self.quasi_identifiers
        )


def create_site(folder: Path, settings: SiteSettings) -> bytes:
    """Make a site's folder with keys of its own; return its public key for the server, as
    one line.
    """
    if (folder / SETTINGS).exists():
        raise RunError(f"{folder}: holds a site already ({SETTINGS}); choose another folder")
    make_private_folder(folder)
    public = make_node_key(folder / KEY)
    signs = Ed25519PrivateKey.generate()
    replace_file(folder / SIGNS, signs.private_bytes_raw())
    replace_file(folder / SECRET, os.urandom(32))
    replace_file(folder / SETTINGS, _written(settings).encode())
    return public


def introduce(folders: Sequence[Path]) -> None:
    """Write the signing keys of some sites into the settings of each, as their owners would."""
    settings = {folder: site_settings(folder) for folder in folders}
    keys = {
        settings[folder].name: signing_key(folder).public_key().public_bytes_raw().hex()
        for folder in folders
    }
    for folder, own in settings.items():
        peers = {name: key for name, key in keys.items() if name != own.name}
        replace_file(folder / SETTINGS, _written(replace(own, peers=peers)).encode())


def site_settings(folder: Path) -> SiteSettings:
    """Return what a site's folder says; raise PlanError that names every problem."""
    path = folder / SETTINGS
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
        return TypeAdapter(SiteSettings).validate_json(json.dumps(tree))
    except OSError as error:
        raise RunError(
            f"{path}: cannot be read ({error.strerror}); `tacit site init` makes a site's folder"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: is not valid TOML: {error}") from None
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        raise PlanError(f"{path}: {told}") from None


def owner_of(folder: Path, tell: Callable[[str], None] = lambda sentence: None) -> Owner:
    """Return the owner whose site lies in a folder."""
    settings = site_settings(folder)
    guard = LedgerGuard(folder / LEDGER, witness_of(folder, settings), tell)
    return Owner(
        name=settings.name,
        source=source_of(folder, settings),
        folder=folder,
        key=node_key(folder),
        signs_with=signing_key(folder),
        secret=read_private(folder / SECRET),
        policy=lambda: policy_of(folder),
        book=lambda policy, plan: guard.open(policy.limits, plan.delta),
        unit=settings.unit,
        encoding=settings.encoding,
        header=settings.header,
        decimal=settings.decimal,
        agreed=str(folder / settings.agreed) if settings.agreed else None,
        peers=lambda: peers_of(folder),
        helpers=lambda: site_settings(folder).helpers,
        tell=tell,
    )


def peers_of(folder: Path) -> dict[str, bytes]:
    """Return the public signing keys of the sites that a site's owner knows, by name, with the
    site's own.
    """
    settings = site_settings(folder)
    others = {name: bytes.fromhex(key) for name, key in (settings.peers or {}).items()}
    return {**others, settings.name: signing_key(folder).public_key().public_bytes_raw()}


def source_of(folder: Path, settings: SiteSettings) -> str:
    """Return where a site's rows are: a file, seen from the site's folder, or the name of a data
    set.
    """
    path = folder / settings.data
    return str(path) if path.exists() else settings.data


def policy_of(folder: Path) -> Policy | None:
    """Return a site's policy as it is now; None if there is none, which allows nothing."""
    return load_policy(folder / POLICY) if (folder / POLICY).exists() else None


def witness_of(folder: Path, settings: SiteSettings) -> Witness:
    """The witness of a site's ledger, outside the site's folder."""
    return Witness(
        _state(folder, settings) / "sites" / f"{site_id(node_key(folder).public_key())}.json"
    )


def check_ready(folder: Path, tell: Callable[[str], None] = lambda sentence: None) -> None:
    """Raise LedgerError or PolicyError, with the remedy, unless the site may join.

    Its ledger must be whole and the newest, and no other site of this machine may keep the ledger
    of the same rows.
    """
    settings = site_settings(folder)
    guard = LedgerGuard(folder / LEDGER, witness_of(folder, settings))
    if (folder / LEDGER).exists():
        guard.open(Limits(), delta=1e-5).close()  # nothing is charged here, so neither matters
    guard.witness.refuse_missing(folder / LEDGER)
    register = RowsRegister(_state(folder, settings))
    try:
        read_as = TextFormat(encoding=settings.encoding, header=settings.header, guess=False)
        register.claim(
            site_id(node_key(folder).public_key()), folder, source_of(folder, settings), read_as
        )
    except OSError as error:
        tell(
            f"{register.folder}: cannot be written ({error.strerror}), so a second site over the"
            " same rows would go unnoticed; name a folder outside the site's folder as `state` in"
            " site.toml"
        )


def _state(folder: Path, settings: SiteSettings) -> Path:
    return state_folder(folder / settings.state if settings.state else None)


def joined_process(folder: Path) -> int | None:
    """Return the number of the process that acts for a site now; None if there is none, also after
    one was killed.
    """
    try:
        with (folder / NODE_LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return int((folder / JOINED).read_text()) if (folder / JOINED).exists() else None
    except OSError:
        return None


def node_key(folder: Path) -> EllipticCurvePrivateKey:
    """Return the key a site joins with and signs replies with."""
    key = serialization.load_pem_private_key(read_private(folder / KEY), password=None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise PeerError(
            f"{folder / KEY}: needs a key on a curve, got another; make a new site with `tacit site"
            " init`"
        )
    return key


def signing_key(folder: Path) -> Ed25519PrivateKey:
    """Return the key with which a site confirms the terms of runs, and signs what helpers get."""
    return Ed25519PrivateKey.from_private_bytes(read_private(folder / SIGNS))


_NOTES = {
    "name": "",
    "data": "",
    "server": "",
    "authority": "",
    "client": (
        "  # the column that names the person a row is about: every budget is kept per value of it"
    ),
    "one_client": "  # all rows of this site belong to one client",
    "quasi_identifiers": (
        "  # columns that together could point at a person, for plans that hand over rows"
    ),
    "encoding": "",
    "header": "",
    "decimal": "",
    "agreed": "",
    "helpers": "",
    "state": "",
}
"""What is written of a site's settings, and a comment on it."""


def _written(settings: SiteSettings) -> str:
    given = {
        name: getattr(settings, name)
        for name in _NOTES
        if getattr(settings, name) != getattr(SiteSettings, name, None)
    }
    lines = [f"{name} = {json.dumps(value)}{_NOTES[name]}" for name, value in given.items()]
    lines += [
        "",
        (
            "# Signing keys of other sites, for plans with a [secure_sum]. Take them from their"
            " owners (`tacit site status`), never"
        ),
        "# from the server.",
    ]
    lines.append("[peers]")
    lines += [
        f"{json.dumps(site)} = {json.dumps(key)}" for site, key in (settings.peers or {}).items()
    ]
    return "\n".join(lines) + "\n"
