"""The page set of `tacit ui`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette

from tacit.ui.application import PageLink, PageSet
from tacit.ui.records.catalogue import RunCatalogue
from tacit.ui.runs.action_routes import list_action_routes
from tacit.ui.runs.message_routes import list_message_routes
from tacit.ui.runs.run_routes import list_run_routes
from tacit.ui.runs.search_routes import list_search_routes
from tacit.ui.runs.workspace import Workspace


def build_runs_pages(runs: Path, plans: Path | None = None) -> PageSet:
    """Build the pages over a runs folder; `plans` is a folder with plans that they may start."""
    space = Workspace(
        runs=runs.resolve(), catalogue=RunCatalogue(runs), plans=plans.resolve() if plans else None
    )

    @asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        yield
        space.jobs.stop_all()

    return PageSet(
        title="Tacit",
        navigation=(
            PageLink(path="/", words="Runs"),
            PageLink(path="/searches", words="Sweeps"),
            PageLink(path="/plans", words="Start"),
        ),
        routes=[
            *list_run_routes(space),
            *list_search_routes(space),
            *list_message_routes(space),
            *list_action_routes(space),
        ],
        lifespan=lifespan,
    )
