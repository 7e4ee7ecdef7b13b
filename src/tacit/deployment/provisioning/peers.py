"""The signing keys of other sites: the server's roster offers them, and an owner confirms each by its
fingerprint.

A key from the roster is never trusted because the server sent it. It enters [peers] of site.toml
only if its fingerprint is the one that the other site's owner reads out.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tacit.deployment.provisioning.fingerprint import fingerprint_site, format_fingerprint
from tacit.deployment.provisioning.signed_files import SiteKeys, SiteName
from tacit.deployment.site.site_folder import SETTINGS, load_node_key, read_site_settings
from tacit.deployment.transport.site.roster import fetch_roster
from tacit.errors import PeerError, PlanError, did_you_mean
from tacit.files import replace_file

PeerState = Literal["confirmed", "not confirmed", "changed"]
Roster = Annotated[dict[SiteName, SiteKeys], msgspec.Meta(max_length=10_000)]
_TABLE = re.compile(r"(?m)^[ \t]*\[peers\][ \t]*(?:#[^\n]*)?$")


class OfferedPeer(msgspec.Struct, frozen=True, kw_only=True):
    """Another site as the server's roster shows it, and what this site's owner knows about it."""

    name: str
    signing_key: str
    fingerprint: str
    state: PeerState


def list_peers(folder: Path) -> list[OfferedPeer]:
    """Ask the server for the other admitted sites."""
    settings = read_site_settings(folder)
    authority = folder / settings.authority if settings.authority else None
    body = fetch_roster(settings.server, authority, load_node_key(folder), settings.proxy)
    try:
        roster = msgspec.json.decode(body, type=Roster)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PeerError(
            f"server {settings.server} sent an unreadable roster ({error}); ask its operator to"
            " update Tacit"
        ) from None
    return [
        _describe_peer(name, keys, (settings.peers or {}).get(name))
        for name, keys in sorted(roster.items())
        if name != settings.name
    ]


def _describe_peer(name: str, keys: SiteKeys, confirmed: str | None) -> OfferedPeer:
    state: PeerState = (
        "not confirmed"
        if confirmed is None
        else "confirmed"
        if confirmed == keys.signing_key
        else "changed"
    )
    return OfferedPeer(
        name=name,
        signing_key=keys.signing_key,
        fingerprint=fingerprint_site(name, keys.node_key, keys.signing_key),
        state=state,
    )


def confirm_peer(folder: Path, name: str, fingerprint: str) -> None:
    """Accept the signing key of another site if its fingerprint is the one given, which its owner
    read out.
    """
    offered = {peer.name: peer for peer in list_peers(folder)}
    if name not in offered:
        raise PeerError(
            f"the server lists no other site with the name {name!r}."
            f"{did_you_mean(name, list(offered))}"
        )
    if offered[name].fingerprint != fingerprint:
        raise PeerError(
            f"site {name} is not confirmed: the server's copy of its keys has the fingerprint"
            f" {format_fingerprint(offered[name].fingerprint)}, and not the one you gave; compare"
            " both with its owner, and tell the server's operator if they differ"
        )
    write_peer(folder, name, offered[name].signing_key)


def write_peer(folder: Path, name: str, signing_key: str) -> None:
    """Write a key into [peers] of site.toml; everything else in the file stays as it is."""
    path, settings = folder / SETTINGS, read_site_settings(folder)
    wanted = replace(settings, peers={**(settings.peers or {}), name: signing_key})
    text = _insert_peer(path.read_text(encoding="utf-8"), name, signing_key)
    try:
        is_right = tomllib.loads(text).get("peers") == wanted.peers
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise PlanError(
            f"{path}: its table [peers] is written in a way that this command cannot change; add the"
            f' line "{name}" = "{signing_key}" to it by hand'
        )
    replace_file(path, text.encode())


def _insert_peer(text: str, name: str, signing_key: str) -> str:
    """The text with one line for the peer below [peers], in place of an earlier line."""
    line = f"{json.dumps(name)} = {json.dumps(signing_key)}"
    found = _TABLE.search(text)
    if found is None:
        return f"{text.rstrip()}\n\n[peers]\n{line}\n"
    head, body = text[: found.end()], text[found.end() :]
    quoted = rf"(?:{re.escape(json.dumps(name))}|'{re.escape(name)}'|{re.escape(name)})"
    earlier = re.compile(rf"(?m)^[ \t]*{quoted}[ \t]*=[^\n]*$")
    if earlier.search(body):
        return head + earlier.sub(lambda _: line, body, count=1)
    return f"{head}\n{line}{body}"
