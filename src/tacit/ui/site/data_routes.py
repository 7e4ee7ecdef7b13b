"""What this site holds, in counts: rows, clients and columns. Rows are read when a button asks for it."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.data.read import is_file_source
from tacit.report.phrasing import NONE
from tacit.ui.rendering import render_page
from tacit.ui.site.commands import show_site_command
from tacit.ui.site.run_views import count_statistics
from tacit.ui.site.space import SiteSpace


def list_data_routes(space: SiteSpace) -> list[Route]:
    """The routes."""

    def show(request: Request) -> Response:
        return render_page(request, "site/data.html", **_list_values(space))

    async def count(request: Request) -> Response:
        await run_in_threadpool(space.count_rows)
        return RedirectResponse("/data", status_code=303)

    return [Route("/data", show), Route("/data/count", count, methods=["POST"])]


def _list_values(space: SiteSpace) -> dict[str, Any]:
    owner, found = space.owner(), space.overview()
    erased = found.contents.get("clients_erased", 0)
    return {
        "source": owner.source,
        "is_file": is_file_source(owner.source),
        "unit": str(owner.unit),
        "quasi": owner.unit.quasi_identifiers,
        "counted": space.counted,
        "erased": erased,
        "policy": found.policy,
        "command": show_site_command(space.folder, "status", "--count"),
        "none": NONE,
        "sent": [
            (run, counts)
            for run, one in found.runs.items()
            if (counts := count_statistics(one.statistics)) is not None
        ],
        "released": [(run, one.rows) for run, one in found.runs.items() if one.rows],
    }
