"""Health, history, and how to stop."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.deployment.doctor import diagnose_site_quickly
from tacit.deployment.site.site_folder import read_site_settings
from tacit.deployment.upkeep.leaving import leave_server
from tacit.ui.rendering import render_page
from tacit.ui.site.commands import show_site_command
from tacit.ui.site.history import list_history
from tacit.ui.site.space import SiteSpace


def list_health_routes(space: SiteSpace) -> list[Route]:
    """The routes."""

    def show_health(request: Request) -> Response:
        quick = [("site", one) for one in diagnose_site_quickly(space.folder)]
        done = space.diagnosed
        return render_page(
            request,
            "site/health.html",
            findings=done.value if done else quick,
            done=done,
            server=read_site_settings(space.folder).server,
            site=space.overview(),
            command=show_site_command(space.folder, "doctor"),
        )

    async def diagnose(request: Request) -> Response:
        await run_in_threadpool(space.diagnose)
        return RedirectResponse("/health", status_code=303)

    def show_history(request: Request) -> Response:
        events = list_history(space.overview())
        return render_page(request, "site/history.html", events=events)

    def show_stop(request: Request) -> Response:
        return render_page(request, "site/stop.html", **_list_stops(space))

    async def leave(request: Request) -> Response:
        await run_in_threadpool(leave_server, space.folder)
        return RedirectResponse("/stop", status_code=303)

    return [
        Route("/health", show_health),
        Route("/health/check", diagnose, methods=["POST"]),
        Route("/history", show_history),
        Route("/stop", show_stop),
        Route("/leave", leave, methods=["POST"]),
    ]


def _list_stops(space: SiteSpace) -> dict[str, Any]:
    found = space.overview()
    states = {one.request.run: one for one in found.requests}
    return {
        "site": found,
        "server": read_site_settings(space.folder).server,
        "leave_command": show_site_command(space.folder, "leave"),
        "join_command": show_site_command(space.folder, "join"),
        "runs": [
            (
                one,
                states.get(one.run),
                show_site_command(space.folder, "refuse", after=(one.run,)),
                show_site_command(space.folder, "forget", after=(one.run,)),
            )
            for one in found.open_runs
        ],
    }
