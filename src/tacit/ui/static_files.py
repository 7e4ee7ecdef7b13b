"""Style, scripts and the chart library, served from the packages that contain them."""

from __future__ import annotations

import functools
import gzip
import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

import tacit.report.pages
from tacit.report.pages.plot_library import read_library

_OWN = Path(__file__).parent / "static"
_SHARED = Path(tacit.report.pages.__file__).parent
_CSS, _SCRIPT = "text/css; charset=utf-8", "text/javascript; charset=utf-8"
KINDS = {"tacit.css": _CSS, "draw.js": _SCRIPT, "live.js": _SCRIPT, "plotly.js": _SCRIPT}
"""The files and their media types; no other name is served."""
_DAY = 86_400


def _read_text(name: str) -> str:
    match name:
        case "tacit.css":
            shared = (_SHARED / "style.html").read_text(encoding="utf-8")
            return shared + (_OWN / "tacit.css").read_text(encoding="utf-8")
        case "draw.js":
            shared = (_SHARED / "draw.html").read_text(encoding="utf-8")
            return (_OWN / "strict.js").read_text(encoding="utf-8") + shared
        case "plotly.js":
            return read_library()
        case _:
            return (_OWN / name).read_text(encoding="utf-8")


@functools.cache
def _load(name: str) -> tuple[bytes, bytes, str]:
    """Content of a file, plain and compressed, and its entity tag."""
    content = _read_text(name).encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return content, gzip.compress(content, compresslevel=5, mtime=0), tag


def serve_static(request: Request) -> Response:
    """Serve one of the known files."""
    name = str(request.path_params["name"])
    if name not in KINDS:
        return PlainTextResponse("There is no such file.\n", status_code=404)
    content, packed, tag = _load(name)
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers = packed, {**headers, "content-encoding": "gzip"}
    return Response(content, media_type=KINDS[name], headers=headers)
