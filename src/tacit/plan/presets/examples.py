"""Plans that come with Tacit, one file each in `tacit/examples`."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from tacit.errors import PlanError, did_you_mean

_SUFFIX = ".toml"


def list_examples() -> dict[str, str]:
    """Name of each example plan, with the first sentence of its comment."""
    found = {name: path.read_text(encoding="utf-8") for name, path in _find_examples().items()}
    return {name: _read_first_sentence(text) for name, text in sorted(found.items())}


def read_example(name: str, file: str) -> str:
    """Text of an example plan, with `file` where its comments name the plan's file."""
    known = _find_examples()
    if name not in known:
        names = sorted(known)
        raise PlanError(
            f"--example: there is no example {name!r}; choose one of"
            f" {', '.join(names)}, or list.{did_you_mean(name, names)}"
        )
    text = known[name].read_text(encoding="utf-8")
    return text.replace(f"examples/{name}{_SUFFIX}", file)


def _find_examples() -> dict[str, Traversable]:
    folder = files("tacit") / "examples"
    return {
        path.name.removesuffix(_SUFFIX): path
        for path in folder.iterdir()
        if path.name.endswith(_SUFFIX)
    }


def _read_first_sentence(text: str) -> str:
    """First sentence of the comment at the top of a plan."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    sentence, full_stop, _ = " ".join(lines).partition(". ")
    return sentence + full_stop.strip()
