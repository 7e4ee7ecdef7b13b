"""Pages and parts of pages from templates that escape every value."""

from __future__ import annotations

import functools
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

import tacit.report.pages
from tacit.report import phrasing
from tacit.ui.json_text import encode_json

_OWN = Path(__file__).parent / "pages"
_SHARED = Path(tacit.report.pages.__file__).parent


@functools.cache
def load_templates() -> Environment:
    """The templates of these pages, and those of the report that they share."""
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(_OWN), FileSystemLoader(_SHARED)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    environment.policies["json.dumps_function"] = encode_json
    environment.filters["size"] = phrasing.format_size
    environment.filters["duration"] = phrasing.format_duration
    environment.filters["moment"] = _format_moment
    environment.filters["utc"] = format_utc
    return environment


def format_utc(time: str | None) -> str:
    """A time of a log or ledger, to the minute; a day stays a day."""
    if not time:
        return "unknown"
    return f"{time[:16].replace('T', ' ')} UTC" if "T" in time else time


def _format_moment(seconds: float) -> str:
    """A time in the time zone of this machine."""
    return f"{datetime.fromtimestamp(seconds).astimezone():%d %b %H:%M}"


def render_part(template: str, **values: Any) -> str:
    """Render a part of a page as HTML."""
    return load_templates().get_template(template).render(**values)


def render_page(
    request: Request, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Render a whole page, with title and navigation of the application."""
    pages = request.app.state.pages
    text = render_part(
        template,
        application=pages.title,
        navigation=pages.navigation,
        path=request.url.path,
        **values,
    )
    return HTMLResponse(text, status_code=status)
