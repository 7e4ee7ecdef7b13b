"""What a run was made of, in two hashes: a stopped run goes on only with the plan and the rows it
began with.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from tacit import plan as plans
from tacit.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Fingerprints:
    """SHA-256 of a run's plan, of its prepared rows, and of what both make the run compute, in
    hexadecimal digits.
    """

    plan: str = ""
    data: str = ""
    identity: str = ""


def compute_fingerprints(plan: Plan, rows: str) -> Fingerprints:
    """Fingerprints of a run from its plan and the hash of its prepared rows.

    The identity leaves out the names of the run and of its file: the same rows under another name
    give the same model.
    """
    settings = {
        key: value for key, value in _settings(plan).items() if key not in ("name", "data.source")
    }
    return Fingerprints(plan=fingerprint_plan(plan), data=rows, identity=_hash([settings, rows]))


def fingerprint_plan(plan: Plan) -> str:
    """Return a hash of what decides what a plan's run computes: all but [engine], the baselines and
    `selected_by`.
    """
    return _hash(_settings(plan))


_SAID_ONLY = ("engine", "baselines", "selected_by")
"""Tables and keys that change nothing a run computes."""


def _settings(plan: Plan) -> dict[str, Any]:
    """Return the settings that are not as by default, by key: a key that is added later changes no
    older fingerprint.
    """
    default, written = _flat(plans.list_defaults(plan)), _flat(plans.dump(plan))
    if plan.data.partition != "client":
        written.pop("privacy.clients", None)  # the same as data.clients
    return {
        key: value
        for key, value in written.items()
        if key.partition(".")[0] not in _SAID_ONLY and (key not in default or default[key] != value)
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
