"""Write deploy/site-requirements.txt: the packages that a site loads, and no others.

`tacit[site]` installs all that Flower declares, its server included, and Tacit's charts. A site
uses neither. `pip install --no-deps --requirement deploy/site-requirements.txt` leaves them out;
`make test-wheel` trains with a site that is installed so. `python -m release.site_requirements`
writes the file from the installed packages' own declarations.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "deploy" / "site-requirements.txt"
UNUSED = {
    "alembic": "the server's database",
    "plotly": "charts of reports",
    "sqlalchemy": "the server's database",
    "uv": "apps that a Flower server installs; a site never runs any",
    "uvicorn": "the server",
    "watchfiles": "the server's development mode",
    "websockets": "the server",
}
"""Packages that a site does not load, each with what it is for; what only they need goes too."""

HEAD = """\
# What a site loads: pip install --no-deps --requirement site-requirements.txt, then pip install --no-deps tacit
# Written by `python -m release.site_requirements`. Left out of tacit[site]: {unused}.
"""


def list_requirements() -> list[str]:
    """Pins of all that `tacit[site]` needs, without `UNUSED` and what only these need."""
    pins = _read_pins()
    found: dict[str, None] = {}
    waiting = [Requirement("tacit[site]")]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in UNUSED or name in found:
            continue
        if name != "tacit":
            found[name] = None
        waiting += _read_needs(wanted)
    return sorted(f"{name}=={pins[name]}" for name in found)


def _read_needs(wanted: Requirement) -> list[Requirement]:
    """What a package needs with the extras asked for, on this Python and system."""
    if canonicalize_name(wanted.name) == "tacit":
        return _read_project()
    try:
        lines = distribution(wanted.name).requires or []
    except PackageNotFoundError:
        return []
    extras = wanted.extras or {""}
    return [
        each
        for each in map(Requirement, lines)
        if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in extras)
    ]


def _read_project() -> list[Requirement]:
    """Tacit's own declaration, from the repository and not from an older installation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["site"]]
    return [Requirement(line) for line in lines]


def _read_pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if re.match(r"[\w.-]+==", line)]
    return {canonicalize_name(name): version for name, version in pairs}


def render() -> str:
    """Text of the file."""
    unused = ", ".join(f"{name} ({what})" for name, what in UNUSED.items())
    return HEAD.format(unused=unused) + "\n".join(list_requirements()) + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
