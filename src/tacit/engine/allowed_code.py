"""Code that a folder names runs only if the user allows it: a run's folder or an export may come from anybody."""

from __future__ import annotations

from pathlib import Path

from tacit import local
from tacit.errors import RunError
from tacit.plan import Model, OwnModule


def require_permission(source: Path, model: Model, *, allow_code: bool, module: object | None = None) -> None:
    """Raise RunError if using a model would run code that a file names and nobody allowed; nothing has run then.

    A plan that the user hands over is hers, and naming a class in it is permission. A plan or a model that lies in a folder of
    runs is not. `module` is the network itself, handed over in Python: then nothing is imported.
    """
    if allow_code or module is not None or not isinstance(model, OwnModule):
        return
    file = local.find_code(model.name)
    code = f"the code in {file} (SHA-256 {local.hash_code(model.name)})" if file else "its code, which is not installed here"
    raise RunError(
        f"{source}: names the Python class {model.name!r}; using it would run {code}. Nothing was run. If you trust the folder and "
        "that code, allow it with --allow-code, in Python with allow_code=True, or hand the module itself over, as module=…"
    )
