"""Server and sites may run different versions of Tacit: what an offer says about the server's, and
what a site refuses because of it.

A plan is sent without the settings that have their defaults. So a site that does not know a key
takes part unless the plan uses that key. A new key must therefore mean by default what older
versions do. Defaults that two versions both know must be the same: the offer also holds every
setting as the server reads the plan, and a site compares them with its own reading.

The server could leave out a setting on which two sites differ. Under secure aggregation, where sites
confirm one plan to each other, an offer must therefore hold every setting that the site knows.
"""

from __future__ import annotations

import dataclasses
import json
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from tacit import plan as plans
from tacit.deployment import bodies
from tacit.deployment.bodies import WIRE_FORMAT, Offer, TacitVersion
from tacit.errors import PlanError, VersionError, WireError
from tacit.plan import Plan


class _OfferHead(msgspec.Struct, frozen=True):
    """The part of an offer that every version can read."""

    tacit: TacitVersion = ""
    wire: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


def find_version() -> str:
    """The version of this Tacit."""
    return version("tacit")


def read_offer(body: bytes) -> Offer:
    """Decode an offer; raise VersionError if it is of a format that this version does not know."""
    head = bodies.unpack(body, _OfferHead)
    if head.wire != WIRE_FORMAT:
        raise _build_error(
            head.tacit, f"the server sends messages of format {head.wire}, not {WIRE_FORMAT}"
        )
    try:
        return bodies.unpack(body, Offer)
    except WireError as error:
        if head.tacit in ("", find_version()):
            raise
        raise _build_error(head.tacit, str(error)) from None


def parse_offered(offer: Offer, tree: dict[str, Any]) -> Plan:
    """Read the plan of an offer; raise VersionError if it uses keys of another version, or if the two
    versions have different defaults.
    """
    try:
        plan = plans.parse(tree)
    except PlanError as error:
        if offer.tacit in ("", find_version()):
            raise
        raise _build_error(offer.tacit, str(error)) from None
    lacking = _find_unstated(offer, plan) if plan.secure_aggregation is not None else []
    if lacking:
        raise _build_error(
            offer.tacit,
            f"the offer does not state {', '.join(lacking[:5])}, and sites that sum updates securely"
            " must read every setting alike; the server needs a version as new as this site's",
        )
    if differing := _find_differing(offer, plan):
        raise _build_error(
            offer.tacit,
            "the two versions have different defaults for"
            f" {', '.join(differing[:5])}; write these settings into the plan",
        )
    return plan


def write_settings(plan: Plan) -> str:
    """Every setting of a plan as JSON, with null where a setting or table is left out."""
    return json.dumps(_flatten(dataclasses.asdict(plan)), ensure_ascii=False)


def _find_differing(offer: Offer, plan: Plan) -> list[str]:
    """Keys that both versions know and read differently. An offer of a version that does not send
    its settings has none.
    """
    if not offer.settings:
        return []
    theirs, ours = _read_settings(offer), _list_own_settings(plan)
    return [
        *(key for key, value in ours.items() if key in theirs and theirs[key] != value),
        *_find_tables(theirs, ours),
        *_find_tables(ours, theirs),
    ]


def _find_unstated(offer: Offer, plan: Plan) -> list[str]:
    """Settings that this site knows and that an offer does not state."""
    theirs = _read_settings(offer) if offer.settings else {}
    return [key for key in _list_own_settings(plan) if key not in theirs]


def _read_settings(offer: Offer) -> dict[str, Any]:
    try:
        return msgspec.json.decode(offer.settings, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise WireError(f"offer refused: its settings are not valid JSON ({error})") from None


def _list_own_settings(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(write_settings(plan), type=dict[str, Any])
    return found


def _find_tables(present: dict[str, Any], absent: dict[str, Any]) -> list[str]:
    """Tables that one side has and the other leaves out."""
    tables = {key[:place] for key in present for place, sign in enumerate(key) if sign == "."}
    return sorted(tables & absent.keys())


def _flatten(table: dict[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= (
            _flatten(value, f"{path}{key}.") if isinstance(value, dict) else {path + key: value}
        )
    return found


def _build_error(theirs: str, why: str) -> VersionError:
    ours, needed = find_version(), theirs or "unknown"
    return VersionError(
        f"the server runs Tacit {needed} and this site runs Tacit {ours}, and they cannot work"
        f" together on this plan: {why}; update the older one, or ask for a plan that both know",
        f"Tacit {ours} here, Tacit {needed} needed",
    )
