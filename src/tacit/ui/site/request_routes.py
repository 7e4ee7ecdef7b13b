"""Who asks: runs that wait for the owner and runs under way, one run in words, and the owner's decisions."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.deployment.site.approval.approvals import JudgedRequest, decide, find_request
from tacit.deployment.site.approval.budget import read_budget
from tacit.deployment.site.stored_runs import forget_run
from tacit.errors import PlanError, TacitError
from tacit.privacy.policy import Policy
from tacit.privacy.site_ledger.decisions import Verdict
from tacit.ui.application import stream_changes
from tacit.ui.events import Change
from tacit.ui.forms import read_form
from tacit.ui.rendering import render_page, render_part
from tacit.ui.site.overview import SiteOverview
from tacit.ui.site.run_views import (
    describe_run,
    hash_decision,
    list_first_page,
    list_notices,
    require_run,
)
from tacit.ui.site.space import SiteSpace


def list_request_routes(space: SiteSpace) -> list[Route]:
    """The routes."""

    def show_first(request: Request) -> Response:
        return render_page(request, "site/asks.html", **list_first_page(space))

    def stream_first(request: Request) -> Response:
        def render() -> dict[str, str]:
            values = list_first_page(space, patient=True)
            return {
                f"part-{name}": render_part(f"site/{name}.html", **values)
                for name in ("answers", "waiting", "runs")
            }

        return stream_changes(request, follow_parts(space, render), pause=0.4)

    def show_run(request: Request) -> Response:
        values = describe_run(space, request.path_params["run"])
        return render_page(request, "site/run.html", **values)

    def stream_run(request: Request) -> Response:
        run, shown = request.path_params["run"], request.query_params.get("shown", "")
        require_run(space, run)

        def render() -> dict[str, str]:
            values = list_notices(space, run, shown)
            return {
                "part-notice": render_part("site/notice.html", **values),
                "part-progress": render_part("site/progress.html", **values),
            }

        return stream_changes(request, follow_parts(space, render), pause=0.5)

    async def approve(request: Request) -> Response:
        return await _act(request, "approved")

    async def refuse(request: Request) -> Response:
        return await _act(request, "refused")

    async def _act(request: Request, verdict: Verdict) -> Response:
        form, run = await read_form(request), request.path_params["run"]
        shown, reason = form.get("request", ""), form.get("reason", "").strip()
        decided = form.get("decided", "")
        await run_in_threadpool(decide_as_shown, space, run, shown, verdict, reason, decided)
        return RedirectResponse(request.url.path.rpartition("/")[0], status_code=303)

    async def end(request: Request) -> Response:
        run = request.path_params["run"]
        await run_in_threadpool(_end_run, space, run)
        return RedirectResponse(request.url.path.rpartition("/")[0], status_code=303)

    return [
        Route("/", show_first),
        Route("/events", stream_first),
        Route("/runs/{run}", show_run),
        Route("/runs/{run}/events", stream_run),
        Route("/runs/{run}/approve", approve, methods=["POST"]),
        Route("/runs/{run}/refuse", refuse, methods=["POST"]),
        Route("/runs/{run}/end", end, methods=["POST"]),
    ]


def decide_as_shown(
    space: SiteSpace,
    run: str,
    shown: str,
    verdict: Verdict,
    reason: str = "",
    decided: str = "",
) -> None:
    """Record a decision about the request that the page showed, by its hash; raise PlanError if the
    request is another one now. Nothing is approved against a newer decision than `decided`, which the
    page showed; a refusal holds in any case.
    """
    with space.lock:
        owner = space.owner()
        judged = find_request(owner, run)
        if judged.request.run != run or judged.request.fingerprint != shown:
            raise PlanError(
                "The request changed after this page showed it, and nothing was decided. Go back,"
                " and read it again."
            )
        if verdict == "approved":
            _require_readable(space, judged)
            _require_same_decision(judged, decided)
        seen = read_budget(owner, owner.policy() or Policy()).describe_seen()
        decide(
            owner,
            judged.request,
            verdict,
            by=f"{getpass.getuser()}, page",
            reason=" ".join(reason.split()),
            seen=seen,
        )


def _require_readable(space: SiteSpace, judged: JudgedRequest) -> None:
    """Raise the error that says why a request cannot be described: what nobody can read, nobody
    approves.
    """
    problem = describe_run(space, judged.request.run)["problem"]
    if problem:
        raise PlanError(f"The request cannot be shown, so it cannot be approved: {problem}")


def _require_same_decision(judged: JudgedRequest, decided: str) -> None:
    if hash_decision(judged.decision) != decided:
        raise PlanError(
            "Somebody decided about this run after this page showed it, and nothing was approved. Go"
            " back, and load the page again."
        )


def _end_run(space: SiteSpace, run: str) -> None:
    with space.lock:
        forget_run(space.owner(), run)


def follow_parts(
    space: SiteSpace, render: Callable[[], dict[str, str]]
) -> Callable[[], Change | None]:
    """Read the parts of a page that differ from the last ones; an idle site renders nothing. A site that
    cannot be read keeps what the page shows.
    """
    shown: dict[str, Any] = {}
    seen: list[SiteOverview | None] = [None]

    def read() -> Change | None:
        try:
            found = space.overview(patient=True)
            if found is seen[0]:
                return None
            parts = render()
        except TacitError:
            return None
        seen[0] = found
        changed = {key: html for key, html in parts.items() if shown.get(key) != html}
        shown.update(parts)
        return {"parts": changed} if changed else None

    return read
