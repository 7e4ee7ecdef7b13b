"""The policy as a form next to the file. A change is shown as lines that differ, with its effects,
before it is saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.deployment.site.approval.approvals import JudgedRequest
from tacit.deployment.site.approval.known_runs import find_known_run
from tacit.deployment.site.site_folder import POLICY
from tacit.errors import PlanError, TacitError
from tacit.privacy.policy import Policy, parse_policy
from tacit.ui.forms import read_form
from tacit.ui.rendering import render_page
from tacit.ui.site.commands import show_site_command
from tacit.ui.site.overview import SiteOverview
from tacit.ui.site.policy_changes import (
    PolicyChange,
    hash_policy,
    read_policy_text,
    review_change,
    save_policy,
    suggest_policy_text,
)
from tacit.ui.site.policy_form import apply_form, list_policy_fields, split_form
from tacit.ui.site.space import SiteSpace


def list_policy_routes(space: SiteSpace) -> list[Route]:
    """The routes."""

    def show(request: Request) -> Response:
        saved = "saved" in request.query_params
        return render_page(request, "site/policy.html", saved=saved, **_list_values(space))

    async def review(request: Request) -> Response:
        form = await read_form(request)
        change = await run_in_threadpool(_review, space, form)
        return render_page(
            request, "site/policy_change.html", change=change, file=str(space.folder / POLICY)
        )

    async def save(request: Request) -> Response:
        form = await read_form(request)
        text = _clean_text(form.get("text", ""))
        await run_in_threadpool(_save, space, text, form.get("shown", ""))
        return RedirectResponse("/policy?saved", status_code=303)

    return [
        Route("/policy", show),
        Route("/policy/review", review, methods=["POST"]),
        Route("/policy/save", save, methods=["POST"]),
    ]


def _list_values(space: SiteSpace) -> dict[str, Any]:
    values: dict[str, Any] = {
        "file": str(space.folder / POLICY),
        "problem": "",
        "first": (),
        "tables": (),
        "command": show_site_command(space.folder, "policy", "check", after=("PLAN",)),
    }
    text = read_policy_text(space.folder)
    values |= {"text": text or suggest_policy_text(space.folder), "shown": hash_policy(text)}
    values["is_new"] = not text
    try:
        policy = parse_policy(values["text"], POLICY)
    except PlanError as error:
        return {**values, "problem": str(error)}
    first, tables = split_form(list_policy_fields(policy))
    return {**values, "first": first, "tables": tables}


def _review(space: SiteSpace, form: Mapping[str, str]) -> PolicyChange:
    """The change that a form asks for: its fields, or the text of the file."""
    before = read_policy_text(space.folder)
    if form.get("shown", "") != hash_policy(before):
        raise PlanError(
            f"{space.folder / POLICY} changed after it was shown. Load the page again, and repeat"
            " the change."
        )
    if "text" in form:
        after = _clean_text(form["text"])
    else:
        text = before or suggest_policy_text(space.folder)
        after = apply_form(text, parse_policy(text, POLICY), form)
    with space.lock:
        found = space.overview()
        return review_change(space.owner(), before, after, _list_known(space, found))


def _list_known(space: SiteSpace, found: SiteOverview) -> list[JudgedRequest]:
    """Runs that wait or are open, as far as their plans can be read."""
    known = [*found.waiting]
    names = {one.request.run for one in known}
    for status in found.open_runs:
        if status.run in names:
            continue
        try:
            judged = find_known_run(space.owner(), found.policy or Policy(), status.run)
        except TacitError:
            continue
        known += [judged] if judged is not None else []
    return known


def _save(space: SiteSpace, text: str, shown: str) -> None:
    with space.lock:
        save_policy(space.folder, text, shown)


def _clean_text(text: str) -> str:
    """A text as files have it: browsers end lines with CR LF."""
    return text.replace("\r\n", "\n").rstrip("\n") + "\n"
