"""The application factory that all pages share: those over runs, of a site and of a server.

An application is a `PageSet`: its title, its navigation and its routes. The factory adds log-in,
static files, error pages, the gate and server-sent events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tacit.errors import TacitError
from tacit.ui.access.gate import Gate, PageAccess, find_session
from tacit.ui.access.login import list_login_routes
from tacit.ui.events import Change, EventStreams
from tacit.ui.rendering import render_page
from tacit.ui.static_files import serve_static


@dataclass(frozen=True, kw_only=True)
class PageLink:
    """An entry of the navigation."""

    path: str
    words: str


@dataclass(frozen=True, kw_only=True)
class PageSet:
    """The pages of one application. A POST route changes something; a GET route never does.

    `lifespan` runs while the application is served; it may start and stop what the pages use.
    """

    title: str
    navigation: tuple[PageLink, ...]
    routes: Sequence[BaseRoute]
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]] | None = None


def build_application(pages: PageSet, access: PageAccess) -> Starlette:
    """Build the ASGI application of some pages behind the gate."""
    application = Starlette(
        routes=[
            *list_login_routes(access),
            Route("/static/{name}", serve_static),
            *pages.routes,
        ],
        middleware=[Middleware(Gate, access=access)],
        exception_handlers={
            HTTPException: _show_http_error,
            TacitError: _show_tacit_error,
            Exception: _show_internal_error,
        },
        lifespan=pages.lifespan,
    )
    application.state.pages = pages
    application.state.access = access
    application.state.streams = EventStreams()
    return application


def stream_changes(
    request: Request, read: Callable[[], Change | None], pause: float = 0.25
) -> Response:
    """Stream to the page whatever `read` returns; see `EventStreams.open`."""
    state = request.app.state
    access: PageAccess = state.access
    session = find_session(access, request.scope) or ""
    streams: EventStreams = state.streams
    return streams.open(
        request, session, read, pause, is_open=lambda: access.sessions.is_open(session)
    )


def _show_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else ""
    return _show(request, status, detail)


def _show_tacit_error(request: Request, error: Exception) -> Response:
    return _show(request, getattr(error, "status", 400), str(error))


def _show_internal_error(request: Request, error: Exception) -> Response:
    # The message of an unforeseen error may quote a cell of data, so it is not shown.
    return _show(request, 500, f"internal error: {type(error).__name__}")


def _show(request: Request, status: int, sentence: Any) -> Response:
    return render_page(request, "error.html", status=status, sentence=str(sentence), code=status)
