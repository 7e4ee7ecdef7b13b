"""Routes that start, stop and resume runs. Each is a form that shows its command."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.ui.application import stream_changes
from tacit.ui.events import Change
from tacit.ui.forms import read_form
from tacit.ui.jobs.children import ChildJob
from tacit.ui.jobs.commands import resume_run, show_command, start_run
from tacit.ui.jobs.plan_files import find_plan_file, list_plan_files
from tacit.ui.jobs.workers import stop_worker
from tacit.ui.records.safe_files import read_text_inside
from tacit.ui.rendering import render_page, render_part
from tacit.ui.runs.workspace import Workspace, follow


def list_action_routes(space: Workspace) -> list[Route]:
    """The routes."""

    def show_plans(request: Request) -> Response:
        plans = [
            (
                name,
                show_command(start_run(space.plans / name, space.runs)),
                read_text_inside(space.plans, name),
            )
            for name in list_plan_files(space.plans)
            if space.plans is not None
        ]
        return render_page(
            request,
            "plans.html",
            plans=plans,
            folder=str(space.plans or ""),
            problem="",
            jobs=_list_jobs(space),
        )

    def stream_jobs(request: Request) -> Response:
        def version() -> tuple[tuple[int, str, str], ...]:
            return tuple((job.number, job.state, run) for job, run in _list_jobs(space))

        def read() -> Change:
            return {"parts": {"part-jobs": render_part("jobs.html", jobs=_list_jobs(space))}}

        return stream_changes(request, follow(version, read), pause=0.4)

    async def start(request: Request) -> Response:
        form = await read_form(request)
        await run_in_threadpool(_start, space, form.get("plan", ""))
        return RedirectResponse("/plans", status_code=303)

    async def stop(request: Request) -> Response:
        name = space.catalogue.find(request.path_params["name"])
        await run_in_threadpool(stop_worker, space.catalogue.root, name)
        return RedirectResponse(request.url.path.removesuffix("/stop"), status_code=303)

    async def resume(request: Request) -> Response:
        name = space.catalogue.find(request.path_params["name"])
        command = resume_run(space.catalogue.root / name)
        await run_in_threadpool(space.jobs.start, "resume", name, command)
        return RedirectResponse(request.url.path.removesuffix("/resume"), status_code=303)

    return [
        Route("/plans", show_plans),
        Route("/jobs/events", stream_jobs),
        Route("/plans/start", start, methods=["POST"]),
        Route("/runs/{name}/stop", stop, methods=["POST"]),
        Route("/runs/{name}/resume", resume, methods=["POST"]),
    ]


def _start(space: Workspace, name: str) -> None:
    path = find_plan_file(space.plans, name)
    space.jobs.start("run", name, start_run(path, space.runs))


def _list_jobs(space: Workspace) -> list[tuple[ChildJob, str]]:
    """Jobs with the run that each works on."""
    return [(job, space.find_run(job)) for job in space.jobs.list_jobs()]
