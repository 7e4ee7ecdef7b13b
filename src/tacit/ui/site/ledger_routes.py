"""The ledger: what clients were charged against the limits, as pictures and tables, and its verification."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.ui.rendering import render_page
from tacit.ui.site.commands import show_site_command
from tacit.ui.site.ledger_charts import (
    chart_distribution,
    chart_runs,
    divide_spending,
    list_limits,
)
from tacit.ui.site.space import SiteSpace


def list_ledger_routes(space: SiteSpace) -> list[Route]:
    """The routes."""

    def show(request: Request) -> Response:
        return render_page(request, "site/ledger.html", **_list_values(space))

    async def verify(request: Request) -> Response:
        await run_in_threadpool(space.verify_ledger)
        return RedirectResponse("/ledger", status_code=303)

    return [Route("/ledger", show), Route("/ledger/verify", verify, methods=["POST"])]


def _list_values(space: SiteSpace) -> dict[str, Any]:
    found = space.overview()
    runs = list(found.runs.values())
    charts = {
        "distribution": {"clients": chart_distribution(found.budget)},
        "runs": {"runs": chart_runs(runs, found.policy)},
    }
    return {
        "charts": {
            name: {choice: figure for choice, figure in one.items() if figure["data"]}
            for name, one in charts.items()
        },
        "site": found,
        "charged": [one for one in reversed(runs) if one.clients or one.rows],
        "bins": divide_spending(found.budget),
        "limits": list_limits(found.policy, found.budget, runs),
        "verified": space.verified,
        "command": show_site_command(space.folder, "ledger", "verify"),
    }
