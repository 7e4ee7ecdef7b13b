"""The page set of `tacit ui`."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.runs.named_runs import list_run_folders
from tacit.ui.application import PageLink, PageSet
from tacit.ui.rendering import render_page


def build_runs_pages(runs: Path, plans: Path | None = None) -> PageSet:
    """Build the pages over a runs folder."""

    def show_runs(request: Request) -> Response:
        return render_page(
            request, "runs.html", runs=[folder.name for folder in list_run_folders(runs)]
        )

    return PageSet(
        title="Tacit",
        navigation=(PageLink(path="/", words="Runs"),),
        routes=[Route("/", show_runs)],
    )
