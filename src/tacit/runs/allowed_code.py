"""Code that a folder names runs only if the user allows it: a run's folder or an export may come
from anybody.
"""

from __future__ import annotations

from pathlib import Path

from tacit import extensions
from tacit.errors import RunError
from tacit.plan import Plan, find_own_parts


def require_permission(
    source: Path, plan: Plan, *, allow_code: bool, module: object | None = None
) -> None:
    """Raise RunError, before anything runs, if a plan names code that the user has not allowed.

    A plan that the user passes in is permission for the code it names; a plan or a model in a run
    folder is not. `module` is the network itself, passed in Python; its class is then not
    imported.
    """
    named = find_own_parts(plan)
    if module is not None:
        named.pop("model.name", None)
    if allow_code or not named:
        return
    key, reference = next(iter(named.items()))
    file = extensions.find_code(reference)
    code = (
        f"the code in {file} (SHA-256 {extensions.hash_code(reference)})"
        if file
        else "its code, which is not installed here"
    )
    raise RunError(
        f"{source}: {key} names Python code, {reference.path!r}; using it would run {code}. Nothing"
        " was run. If you trust the folder and that code, allow it with --allow-code, in Python"
        " with allow_code=True, or pass the module itself, as module=…"
    )
