"""Templates that escape all values, with a content security policy that allows only the page's own
scripts.
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
    """Render a page as HTML, with scripts only if it has charts."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": False
    }  # a chart shows its first choice
    script = environment.get_template("script.html").render() if charts else ""
    return environment.get_template(template).render(
        charts=charts,
        library=pack_library() if charts else ("", 0),
        script=Markup(script),  # part of the package, never of a run
        rules=_rules([script, read_library()] if charts else []),
        **values,
    )


def _rules(scripts: list[str]) -> str:
    """Content security policy: load nothing, and run only these scripts."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    # Charts set inline styles, which the policy can only allow as a whole.
    return (
        f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; style-src"
        " 'unsafe-inline'; img-src data: blob:"
    )
