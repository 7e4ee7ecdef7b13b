"""Hashes of a run's plan and rows: a stopped run resumes only with those it began with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from tacit import plan as plans
from tacit.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Fingerprints:
    """Hexadecimal SHA-256 of a run's plan, of its prepared rows, and of the computation that both
    define.
    """

    plan: str = ""
    data: str = ""
    identity: str = ""


def compute_fingerprints(plan: Plan, rows: str) -> Fingerprints:
    """Compute the fingerprints of a run from its plan and the hash of its prepared rows.

    The identity leaves out the names of the run and of its file: the same rows under another name
    give the same model.
    """
    settings = {
        key: value for key, value in _settings(plan).items() if key not in ("name", "data.source")
    }
    return Fingerprints(plan=fingerprint_plan(plan), data=rows, identity=_hash([settings, rows]))


def fingerprint_plan(plan: Plan) -> str:
    """Hash all settings that influence the result: everything except [engine], [track], the
    baselines and `selected_by`.
    """
    return _hash(_settings(plan))


_WITHOUT_INFLUENCE = ("engine", "track", "baselines", "selected_by")
"""Tables and keys that do not influence the result."""


def _settings(plan: Plan) -> dict[str, Any]:
    """Settings that differ from their defaults, by key, so that adding a plan key changes no older
    fingerprint.
    """
    default, written = _flat(plans.list_defaults(plan)), _flat(plans.dump(plan))
    if plan.data.partition != "client":
        written.pop("privacy.clients", None)  # the same as data.clients
    return {
        key: value
        for key, value in written.items()
        if key.partition(".")[0] not in _WITHOUT_INFLUENCE
        and (key not in default or default[key] != value)
    }


def _flat(table: dict[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= (
            _flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
        )
    return found


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
