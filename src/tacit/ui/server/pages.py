"""The page set of `tacit server ui`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.deployment.provisioning.fingerprint import format_fingerprint
from tacit.ui.application import PageLink, PageSet, stream_changes
from tacit.ui.events import Change
from tacit.ui.jobs.commands import show_command
from tacit.ui.metrics.exposition import build_metrics_route
from tacit.ui.metrics.server_metrics import measure_server
from tacit.ui.rendering import render_page, render_part
from tacit.ui.runs.live_page import follow_run, list_run_facts, render_parts
from tacit.ui.runs.workspace import follow
from tacit.ui.server.overview import ServerSpace

_PARTS = ("cards", "sites", "deployments")


def build_server_pages(folder: Path, runs: Path, *, metrics: bool = False) -> PageSet:
    """Build the pages over a server's folder, or a person's folder of access, and the runs folder of
    this machine; with `metrics` also those for Prometheus.
    """
    space = ServerSpace(folder.resolve(), runs)
    return PageSet(
        title="Tacit server",
        navigation=(PageLink(path="/", words="Sites and deployments"),),
        routes=[
            *_list_routes(space),
            *([build_metrics_route(lambda: measure_server(space.overview()))] if metrics else []),
        ],
    )


def _list_routes(space: ServerSpace) -> list[Route]:
    def show(request: Request) -> Response:
        return render_page(request, "server/server.html", **_list_values(space))

    def stream(request: Request) -> Response:
        def render() -> Change:
            values = _list_values(space)
            return {
                "parts": {
                    f"part-{part}": render_part(f"server/{part}.html", **values) for part in _PARTS
                }
            }

        return stream_changes(request, follow(lambda: repr(space.overview()), render), pause=0.7)

    def show_deployment(request: Request) -> Response:
        place = request.path_params["place"]
        catalogue, name = space.find(place, request.path_params["name"])
        parts, charts = render_parts(catalogue, name)
        return render_page(
            request,
            "server/deployment.html",
            name=name,
            place=place,
            parts=parts,
            charts=charts,
            facts=list_run_facts(catalogue, name),
        )

    def stream_deployment(request: Request) -> Response:
        catalogue, name = space.find(request.path_params["place"], request.path_params["name"])
        return stream_changes(request, follow_run(catalogue, name))

    return [
        Route("/", show),
        Route("/events", stream),
        Route("/deployments/{place}/{name}", show_deployment),
        Route("/deployments/{place}/{name}/events", stream_deployment),
    ]


def _list_values(space: ServerSpace) -> dict[str, Any]:
    found = space.overview()
    folder = str(space.folder)
    return {
        "server": found,
        "folder": folder,
        "format_fingerprint": format_fingerprint,
        "commands": {
            name: show_command(["tacit", "server", name, folder]) for name in ("sites", "runs")
        },
        "record_command": show_command(["tacit", "server", "record", "RUN", "--folder", folder]),
    }
