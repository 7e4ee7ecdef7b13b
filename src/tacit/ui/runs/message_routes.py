"""Routes about the messages of a run's plan: what leaves, and what an attacker reads in it."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.errors import RunError
from tacit.report.audits import build_grids, select_latest
from tacit.runs.run_folder import PLAN
from tacit.ui.application import stream_changes
from tacit.ui.events import Change
from tacit.ui.jobs.children import JobKind
from tacit.ui.jobs.commands import attack_plan, disclose_plan, show_command
from tacit.ui.rendering import render_page, render_part
from tacit.ui.runs.message_views import view_attack, view_message
from tacit.ui.runs.workspace import Workspace, follow


def list_message_routes(space: Workspace) -> list[Route]:
    """The routes."""
    catalogue = space.catalogue

    def show_audit(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        audits = select_latest(catalogue.index(name).audits.values())
        return render_page(
            request,
            "audit.html",
            **_attack(space, name),
            audits=[(audit, build_grids(audit)) for audit in audits],
        )

    def show_message(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        return render_page(request, "leaves.html", **_message(space, name))

    def stream_audit(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])

        def read() -> Change:
            part = render_part("audit_result.html", **_attack(space, name))
            return {"parts": {"part-attack": part}}

        return stream_changes(request, follow(lambda: _state(space, "audit", name), read))

    def stream_message(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])

        def read() -> Change:
            part = render_part("message.html", **_message(space, name))
            return {"parts": {"part-message": part}}

        return stream_changes(request, follow(lambda: _state(space, "disclose", name), read))

    async def attack(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        await run_in_threadpool(_start_attack, space, name)
        return RedirectResponse(request.url.path, status_code=303)

    async def disclose(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        await run_in_threadpool(_start_preview, space, name)
        return RedirectResponse(request.url.path, status_code=303)

    return [
        Route("/runs/{name}/audit", show_audit, methods=["GET"]),
        Route("/runs/{name}/audit", attack, methods=["POST"]),
        Route("/runs/{name}/audit/events", stream_audit),
        Route("/runs/{name}/leaves", show_message, methods=["GET"]),
        Route("/runs/{name}/leaves", disclose, methods=["POST"]),
        Route("/runs/{name}/leaves/events", stream_message),
    ]


def _start_attack(space: Workspace, name: str) -> None:
    _require_plan(space, name)
    space.jobs.start("audit", name, attack_plan(space.catalogue.root / name / PLAN))


def _start_preview(space: Workspace, name: str) -> None:
    _require_plan(space, name)
    space.jobs.start("disclose", name, disclose_plan(space.catalogue.root / name / PLAN))


def _require_plan(space: Workspace, name: str) -> None:
    """Raise RunError unless the run has a plan that is a file of its folder."""
    if not space.catalogue.read_plan_text(name):
        raise RunError(f"{name}: its plan is missing")


def _attack(space: Workspace, name: str) -> dict[str, Any]:
    job = space.jobs.find_latest("audit", name)
    found = job.read_result() if job else None
    return {
        "name": name,
        "job": job,
        "attack": view_attack(found) if found and job and job.code == 0 else None,
        "command": show_command(attack_plan(space.catalogue.root / name / PLAN)),
    }


def _message(space: Workspace, name: str) -> dict[str, Any]:
    job = space.jobs.find_latest("disclose", name)
    found = job.read_result() if job else None
    return {
        "name": name,
        "job": job,
        "message": view_message(found) if found and job and job.code == 0 else None,
        "command": show_command(disclose_plan(space.catalogue.root / name / PLAN)),
    }


def _state(space: Workspace, kind: JobKind, name: str) -> tuple[int, str]:
    job = space.jobs.find_latest(kind, name)
    return (job.number, job.state) if job else (0, "")
