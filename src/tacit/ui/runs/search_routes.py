"""Routes that compare runs, and that follow sweeps and searches for settings."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.ui.application import stream_changes
from tacit.ui.events import Change
from tacit.ui.records.catalogue import NoSuchRun
from tacit.ui.rendering import render_page, render_part
from tacit.ui.runs.comparison import MAX_RUNS, chart_comparison, compare_runs
from tacit.ui.runs.searches import PlanSearch, chart_search, describe_progress, find_searches
from tacit.ui.runs.workspace import Workspace, follow


def list_search_routes(space: Workspace) -> list[Route]:
    """The routes."""
    catalogue = space.catalogue

    def show_comparison(request: Request) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("run")))[:MAX_RUNS]
        return render_page(
            request,
            "comparison.html",
            **compare_runs(catalogue, names),
            query=request.url.query,
        )

    def stream_comparison(request: Request) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("run")))[:MAX_RUNS]
        known = [catalogue.find(name) for name in names]

        def read() -> Change:
            found = compare_runs(catalogue, known)
            part = render_part("comparison_table.html", **found)
            charts = chart_comparison(found["runs"])
            return {"parts": {"part-comparison": part}, "charts": charts}

        return stream_changes(
            request, follow(lambda: tuple(catalogue.version(name) for name in known), read)
        )

    def show_searches(request: Request) -> Response:
        return render_page(request, "searches.html", searches=_describe(list_searches(space)))

    def stream_searches(request: Request) -> Response:
        def read() -> Change:
            part = render_part("searches_list.html", searches=_describe(list_searches(space)))
            return {"parts": {"part-searches": part}}

        return stream_changes(request, follow(lambda: tuple(list_searches(space)), read), pause=0.5)

    def show_search(request: Request) -> Response:
        found = _find(space, request.path_params["key"])
        return render_page(
            request,
            "search.html",
            search=found,
            progress=describe_progress(found),
            charts=chart_search(found),
        )

    def stream_search(request: Request) -> Response:
        key = _find(space, request.path_params["key"]).key

        def read() -> Change:
            found = _find(space, key)
            values: dict[str, Any] = {"search": found, "progress": describe_progress(found)}
            return {
                "parts": {"part-search": render_part("search_table.html", **values)},
                "charts": chart_search(found),
            }

        return stream_changes(request, follow(lambda: _find(space, key), read), pause=0.4)

    return [
        Route("/compare", show_comparison),
        Route("/compare/events", stream_comparison),
        Route("/searches", show_searches),
        Route("/searches/events", stream_searches),
        Route("/searches/{key}", show_search),
        Route("/searches/{key}/events", stream_search),
    ]


def list_searches(space: Workspace) -> list[PlanSearch]:
    """All sweeps and searches in the folder."""
    return find_searches(space.catalogue.rows())


def _describe(searches: list[PlanSearch]) -> list[tuple[PlanSearch, str]]:
    return [(one, describe_progress(one)) for one in searches]


def _find(space: Workspace, key: str) -> PlanSearch:
    for one in list_searches(space):
        if one.key == key:
            return one
    raise NoSuchRun("There is no such sweep or search here.")
