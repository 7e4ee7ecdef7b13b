"""A run's folder: made whole or not at all."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from tacit import plan as plans
from tacit.engine.checkpoint import replace_file, sync_folder
from tacit.errors import RunError
from tacit.local import Learner
from tacit.plan import Plan
from tacit.rows import Vector

PLAN, RECORD, MODEL, MODEL_FACTS = "plan.toml", "record.jsonl", "model.safetensors", "model.json"
PRIVATE = "private"
"""What stays with the simulated clients; in deployment each client has its own and this folder does not exist."""


def create(plan: Plan, root: Path) -> Path:
    """Return a new folder `<root>/<name>-<n>` that already holds its plan; n counts up from 1."""
    root.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    replace_file(fresh / PLAN, plans.to_toml(plan).encode())
    fresh.chmod(0o755)
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in plan.name)
    for number in itertools.count(1):
        folder = root / f"{stem}-{number}"
        if folder.exists():
            continue
        try:
            fresh.rename(folder)
        except OSError:
            continue  # another run took this number in the meantime
        sync_folder(root)
        return folder
    raise AssertionError


def clean(root: Path) -> None:
    """Remove folders that a crash left before they became runs."""
    for left in root.glob(".new-*"):
        shutil.rmtree(left, ignore_errors=True)


def remove(folder: Path) -> None:
    """Remove a run that never began."""
    shutil.rmtree(folder, ignore_errors=True)


def plan_of(folder: Path) -> Plan:
    """Return the resolved plan a run was started with."""
    if not (folder / PLAN).exists():
        raise RunError(f"{folder}: holds no run (no {PLAN}); `tacit runs` lists the runs there are")
    return plans.load(folder / PLAN)


def write_model(folder: Path, learner: Learner, model: Vector, facts: dict[str, Any]) -> None:
    """Store the final model as safetensors, with a JSON file saying how to rebuild it."""
    replace_file(folder / MODEL, save(learner.tensors(model)))
    replace_file(folder / MODEL_FACTS, json.dumps(facts, indent=2).encode() + b"\n")
