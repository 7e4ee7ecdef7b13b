"""The code of a class that a plan or a stored model names: found and hashed without running any of it.

Code is looked for where Python finds modules: installed packages, and the folders of PYTHONPATH. The working folder is not
added to them, so a file that happens to lie there is never run.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from tacit.errors import PlanError
from tacit.plan import Model, OwnModule


def find_code(name: str) -> Path | None:
    """Find the file of the module in `package.module:Class`; None if there is none.

    Guarantees: nothing is imported, not even the packages above the module.
    """
    module = name.partition(":")[0]
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
    else:
        top, *below = module.split(".")
        spec = find_spec(top)
        for part in below:
            folders = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(part, folders) if folders is not None else None
        file = spec.origin if spec else None
    return Path(file) if file and Path(file).is_file() else None


def hash_code(name: str) -> str:
    """Return the SHA-256 of the file that holds a class, the one `sha256sum` prints; empty if there is no file."""
    file = find_code(name)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else ""


def check_code(model: OwnModule) -> None:
    """Raise PlanError if the code of a class is not the code that a plan or a stored model was made with."""
    found = hash_code(model.name)
    if model.sha256 and found != model.sha256:
        where = find_code(model.name)
        raise PlanError(
            f"model.name = {model.name!r}: the code in {where or 'no file'} is not the one that was recorded: its SHA-256 is "
            f"{found[:16] or 'unknown'}…, model.sha256 is {model.sha256[:16]}…; put the recorded file back, or train again"
        )


def with_hash(model: Model) -> Model:
    """Return a model with the SHA-256 of its code, if it is a class of the user's and has none yet."""
    if not isinstance(model, OwnModule) or model.sha256:
        return model
    return replace(model, sha256=hash_code(model.name) or None)
