"""How pages are made: templates that escape everything, and a policy under which only their own
scripts run.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tacit.report.pages.plot_library import pack_library, read_library


def render_template(template: str, charts: dict[str, Any], **values: Any) -> str:
    """Return a page as HTML text, with the scripts that draw its charts if it has any."""
    rooms = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rooms.policies["json.dumps_kwargs"] = {
        "sort_keys": False
    }  # the first choice of a chart is the one shown
    script = rooms.get_template("script.html").render() if charts else ""
    return rooms.get_template(template).render(
        charts=charts,
        library=pack_library() if charts else ("", 0),
        script=Markup(script),  # ours, never from a run
        rules=_rules([script, read_library()] if charts else []),
        **values,
    )


def _rules(scripts: list[str]) -> str:
    """Return the content security policy: nothing is loaded, and only these very scripts run."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    # Charts set styles on their elements, which the policy can only allow wholesale.
    return (
        f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; style-src"
        " 'unsafe-inline'; img-src data: blob:"
    )
