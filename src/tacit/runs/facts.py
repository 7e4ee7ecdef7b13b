"""Facts that a run stores in its record and with its model."""

from __future__ import annotations

import platform
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any

from tacit import features, training
from tacit import plan as plans
from tacit.plan import Columns, Plan
from tacit.privacy import ledger
from tacit.privacy.claim import Claim, Open
from tacit.runs import record
from tacit.runs.fingerprint import Fingerprints
from tacit.runs.record import RUN


def build_started(
    plan: Plan, learner: training.Learner, fingerprints: Fingerprints, key: str
) -> record.Started:
    """Build the record's first entry; `key` is the public key that signs the record."""
    return record.Started(
        plan=plans.dump(plan),
        versions=_versions(learner.parallel),
        version=record.VERSION,
        plan_fingerprint=fingerprints.plan,
        data_fingerprint=fingerprints.data,
        key=key,
    )


def build_feature_release(sentence: str, clients: int) -> record.Released:
    """Build the ledger entry for statistics of training rows that were read to build features."""
    claim = Claim(
        mechanism=sentence,
        event=Open(),
        unit="run",
        relation="replace all rows of one client",
        view="server",
        trust=("the server",),
        rests_on="nobody",
        source="none: read from the training rows to make features",
    )
    return ledger.build_release(claim, RUN, 0, "features", clients, 1)


def collect_model_facts(
    plan: Plan, inputs: int, columns: Columns, fitted: features.Fitted, habits: dict[str, Any]
) -> dict[str, Any]:
    """Collect what is needed to rebuild and use the stored model."""
    described = plans.dump(plan)
    return {
        "model": described["model"],
        "features": described["features"],
        "inputs": inputs,
        "classes": list(fitted.classes),
        "columns": asdict(columns),
        "fitted": fitted.to_dict(),
        "habits": habits,
        **({"schema": described["schema"]} if plan.schema else {}),
    }


_version = cache(version)


def _versions(parallel: str) -> dict[str, str]:
    """Versions of Python and of the packages that a run uses."""
    packages = ["numpy", "numba", "polars", *(["torch"] if parallel == "processes" else [])]
    return {
        "python": platform.python_version(),
        "tacit": _version("tacit"),
        **{name: _version(name) for name in packages},
    }
