"""The log-in page: a one-time link or a password becomes a session; and the end of a session."""

from __future__ import annotations

import math

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.ui.access.gate import LOGIN, PageAccess, find_session
from tacit.ui.access.peers import find_peer_user
from tacit.ui.access.sessions import SESSION_SECONDS
from tacit.ui.forms import read_form
from tacit.ui.rendering import render_page

_WRONG_LINK = (
    "This link was used before, is wrong, or belongs to another user of this machine. The terminal shows"
    " the current one; the page can also have a password (--password-file)."
)
_TOO_MANY = "Too many failed log-ins. Wait a minute, then try again."


def list_login_routes(access: PageAccess) -> list[Route]:
    """Routes of logging in and out."""

    async def log_in(request: Request) -> Response:
        if request.method == "POST":
            form = await read_form(request)
            return _open(request, access, form.get("token", ""), form.get("password", ""))
        token = request.query_params.get("token", "")
        if token:
            return _open(request, access, token, "")
        if find_session(access, request.scope):
            return RedirectResponse("/", status_code=303)
        return _show(request, access, "", 200)

    async def log_out(request: Request) -> Response:
        cookie = find_session(access, request.scope)
        if cookie:
            access.sessions.close(cookie)
        response = RedirectResponse(LOGIN, status_code=303)
        response.delete_cookie(access.cookie, path="/")
        return response

    return [
        Route(LOGIN, log_in, methods=["GET", "POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ]


def _open(request: Request, access: PageAccess, token: str, password: str) -> Response:
    """Open a session. Nobody guesses a token, so only passwords are limited: what others try does
    not keep out the person who has the link.
    """
    user = find_peer_user(request.scope)
    if token:
        cookie = access.sessions.open_with_token(token, user)
        return _admit(access, cookie) if cookie else _show(request, access, _WRONG_LINK, 403)
    address = request.client.host if request.client else ""
    wait = access.limit.seconds_to_wait(address)
    if wait > 0:
        response = _show(request, access, _TOO_MANY, 429)
        response.headers["retry-after"] = str(math.ceil(wait))
        return response
    cookie = access.sessions.open_with_password(password, user) if password else None
    if cookie is None:
        access.limit.count_failure(address)
        return _show(request, access, "The password is wrong.", 403)
    return _admit(access, cookie)


def _admit(access: PageAccess, cookie: str) -> Response:
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        access.cookie,
        cookie,
        max_age=int(SESSION_SECONDS),
        path="/",
        secure=access.address.certificate is not None,
        httponly=True,
        samesite="strict",
    )
    return response


def _show(request: Request, access: PageAccess, problem: str, status: int) -> Response:
    return render_page(
        request,
        "login.html",
        status=status,
        problem=problem,
        has_password=access.sessions.has_password,
    )
