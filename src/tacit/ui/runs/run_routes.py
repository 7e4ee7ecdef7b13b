"""Routes that show runs: the list, one run live, and its report."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.report.figures import summarise
from tacit.report.pages.page import render
from tacit.ui.application import stream_changes
from tacit.ui.events import Change
from tacit.ui.rendering import render_page, render_part
from tacit.ui.runs.live_page import follow_run, list_run_facts, render_parts
from tacit.ui.runs.workspace import Workspace, follow


def list_run_routes(space: Workspace) -> list[Route]:
    """The routes."""
    catalogue = space.catalogue

    def show_runs(request: Request) -> Response:
        return render_page(request, "runs.html", rows=catalogue.rows(), folder=str(space.runs))

    def stream_runs(request: Request) -> Response:
        def read() -> Change:
            return {"parts": {"part-runs": render_part("runs_table.html", rows=catalogue.rows())}}

        return stream_changes(request, follow(lambda: tuple(catalogue.rows()), read), pause=0.5)

    def show_run(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        parts, charts = render_parts(catalogue, name)
        return render_page(
            request,
            "run.html",
            name=name,
            parts=parts,
            charts=charts,
            facts=list_run_facts(catalogue, name),
            plan=catalogue.read_plan_text(name),
        )

    def stream_run(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        return stream_changes(request, follow_run(catalogue, name))

    def save_report(request: Request) -> Response:
        name = catalogue.find(request.path_params["name"])
        found = summarise(
            catalogue.read_entries(name), name=name, running=catalogue.is_running(name)
        )
        return Response(
            render(found, catalogue.read_plan_text(name)),
            media_type="text/html; charset=utf-8",
            headers={"content-disposition": f'attachment; filename="{_file_name(name)}.html"'},
        )

    return [
        Route("/", show_runs),
        Route("/events", stream_runs),
        Route("/runs/{name}", show_run),
        Route("/runs/{name}/events", stream_run),
        Route("/runs/{name}/report", save_report),
    ]


def _file_name(name: str) -> str:
    """A name for a file: ASCII letters, digits, dashes."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
