"""Values of the pages about runs: the first page with its five answers, and one run in words."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from tacit.deployment.site.approval.approvals import JudgedRequest
from tacit.deployment.site.approval.known_runs import find_known_run
from tacit.deployment.site.approval.wording import SECTIONS, RequestView, describe_request
from tacit.deployment.upkeep.run_status import RunStatus
from tacit.errors import TacitError
from tacit.privacy.policy import Policy
from tacit.privacy.site_ledger.decisions import RunDecision
from tacit.privacy.site_ledger.spending import format_micro
from tacit.report.phrasing import NONE, format_size
from tacit.ui.rendering import format_utc
from tacit.ui.site.commands import show_site_command
from tacit.ui.site.overview import SiteOverview
from tacit.ui.site.space import SiteSpace

_MOST_RUNS = 100


class NoSuchRequest(TacitError):  # noqa: N818 - the page says that there is none
    """The site knows no run of this name."""

    status = 404


@dataclass(frozen=True, kw_only=True)
class QuestionCard:
    """The answer to one of the five questions, with the page that says more."""

    question: str
    figure: str
    note: str
    link: str


def list_first_page(space: SiteSpace, *, patient: bool = False) -> dict[str, Any]:
    """Values of the first page."""
    found = space.overview(patient=patient)
    return {
        "site": found,
        "answers": list_answers(found),
        "waiting": [_describe(space, found, judged) for judged in found.waiting],
        "runs": list_runs(found),
        "asks": found.policy is not None and found.policy.approve == "ask",
        "join_command": show_site_command(space.folder, "join"),
    }


def list_runs(found: SiteOverview) -> list[tuple[RunStatus, str]]:
    """The runs of the list, open ones first, with their states in words."""
    asked = {one.request.run: one for one in found.requests}
    runs = [*found.open_runs, *found.other_runs][:_MOST_RUNS]
    return [(one, describe_state(found, one.run, asked.get(one.run))) for one in runs]


def list_answers(found: SiteOverview) -> list[QuestionCard]:
    """The five questions of a data officer, each answered in one card."""
    waiting, budget = len(found.waiting), found.budget
    runs = list(found.runs.values())
    rows = sum(one.rows for one in runs)
    opened = len(found.open_runs)
    return [
        QuestionCard(
            question="Who asked?",
            figure=f"{waiting} wait{'s' if waiting == 1 else ''}" if waiting else "nobody waits",
            note=f"{opened} run{' is' if opened == 1 else 's are'} open here",
            link="#waiting" if waiting else "#runs",
        ),
        QuestionCard(
            question="What left?",
            figure=format_size(sum(one.bytes for one in runs)),
            note=f"in {sum(one.responses for one in runs):,} responses; {rows:,} rows",
            link="#runs",
        ),
        QuestionCard(
            question="What was spent?",
            figure=format_micro(budget.largest),
            note="epsilon in all runs, most charged client",
            link="/ledger",
        ),
        QuestionCard(
            question="What is left?",
            figure=NONE if budget.limit is None else _shorten(budget.left),
            note="nothing may be charged: no limit is set"
            if budget.limit is None
            else f"epsilon, of {_shorten(budget.limit)} per client in all runs",
            link="/ledger",
        ),
        QuestionCard(
            question="How do I stop it?",
            figure="online" if found.process is not None else "offline",
            note="stop one run, or all of them",
            link="/stop",
        ),
    ]


def _shorten(micro: int) -> str:
    """An epsilon in millionths; one that is beyond use is short."""
    return format_micro(micro) if micro < 10**12 else f"{micro / 1e6:.3g}"


def _describe(space: SiteSpace, found: SiteOverview, judged: JudgedRequest) -> dict[str, Any]:
    """A request in words for the list; the error if it cannot be described."""
    view, problem = _try_view(space, found, judged)
    return {"asked": judged.request, "view": view, "problem": problem}


def _try_view(
    space: SiteSpace, found: SiteOverview, judged: JudgedRequest
) -> tuple[RequestView | None, str]:
    try:
        policy = found.policy or Policy()
        return describe_request(space.owner(), policy, judged, found.budget), ""
    except TacitError as error:
        return None, str(error)


def describe_run(space: SiteSpace, run: str) -> dict[str, Any]:
    """Values of the page of one run; raise NoSuchRequest for an unknown one."""
    with space.lock:
        found = space.overview()
        status = found.runs.get(run)
        problem, judged = "", None
        try:
            judged = find_known_run(space.owner(), found.policy or Policy(), run)
        except TacitError as error:
            problem = str(error)
        if judged is None and status is None:
            raise NoSuchRequest("No run of this name has asked here.")
        view = None
        if judged is not None:
            view, problem = _try_view(space, found, judged)
    is_asked = any(one.request.run == run for one in found.requests)
    return {
        "run": run,
        "state": describe_state(found, run, judged if is_asked else None),
        "asked": judged.request if judged is not None and is_asked else None,
        "decision": judged.decision if judged is not None else None,
        "decided": hash_decision(judged.decision if judged is not None else None),
        "is_open": status is not None and status.state == "open",
        "is_waiting": is_asked and judged is not None and judged.state == "waiting",
        "is_approved": is_asked and judged is not None and judged.state == "approved",
        "view": view,
        "sections": [
            (heading.capitalize(), getattr(view, name))
            for name, heading in SECTIONS
            if view is not None and getattr(view, name)
        ],
        "problem": problem,
        "commands": _list_commands(space, run),
        **list_progress(status),
        "notices": (),
    }


def hash_decision(decision: RunDecision | None) -> str:
    """What a form carries to say which decision its page showed; empty if there was none."""
    if decision is None:
        return ""
    return hashlib.sha256(repr(sorted(asdict(decision).items())).encode()).hexdigest()


def require_run(space: SiteSpace, run: str) -> None:
    """Raise NoSuchRequest unless the site knows a run of this name."""
    found = space.overview(patient=True)
    if run not in found.runs and run not in {one.request.run for one in found.requests}:
        raise NoSuchRequest("No run of this name has asked here.")


def _list_commands(space: SiteSpace, run: str) -> dict[str, str]:
    return {
        "approve": show_site_command(space.folder, "approve", after=(run,)),
        "refuse": show_site_command(space.folder, "refuse", after=(run,)),
        "end": show_site_command(space.folder, "forget", after=(run,)),
    }


def describe_state(found: SiteOverview, run: str, judged: JudgedRequest | None) -> str:
    """The state of a run in a few words."""
    status = found.runs.get(run)
    if judged is not None and judged.state == "waiting":
        return "waits for you"
    if judged is not None and judged.state == "refused":
        return "refused by you"
    if status is not None and status.state != "not opened":
        return status.state
    if judged is not None:
        return "approved, not begun"
    return "refused by the policy" if status is not None and status.refusals else "not opened"


def list_progress(status: RunStatus | None) -> dict[str, Any]:
    """What a run did here so far."""
    if status is None:
        return {"facts": [], "refusals": [], "sent": None}
    last = max((one.round_no for one in status.exchanges), default=0)
    contacts = [
        ("First contact", format_utc(status.first_contact)),
        ("Last contact", format_utc(status.last_contact)),
    ]
    facts = [
        ("Responses sent", f"{status.responses:,}, {format_size(status.bytes)}"),
        ("Rows released", f"{status.rows:,}"),
        ("Last round", f"{last:,}" if last else "none yet"),
        ("Clients charged", f"{status.clients:,}"),
        ("Epsilon charged, most charged client", _describe_loss(status)),
        *contacts,
    ]
    return {
        "facts": facts if status.exchanges or status.state != "not opened" else contacts,
        "refusals": list(reversed(status.refusals)),
        "sent": count_statistics(status.statistics),
    }


def _describe_loss(status: RunStatus) -> str:
    delta = f" (delta {status.delta:.2g})" if status.delta else ""
    more = ", and messages without epsilon" if status.no_epsilon else ""
    return f"{status.epsilon:g}{delta}{more}"


def count_statistics(statistics: dict[str, Any] | None) -> list[tuple[str, str]] | None:
    """The numbers of facts about the rows that a run received in the clear, never the facts."""
    if statistics is None:
        return None
    seen = statistics.get("seen", {})
    found = [
        ("clients", statistics.get("clients", 0)),
        ("training rows", statistics.get("rows", 0)),
        ("held-out rows", statistics.get("test_rows", 0)),
        ("class names", len(seen.get("classes") or ())),
        ("names of categories", sum(map(len, (seen.get("categories") or {}).values()))),
        ("ranges of columns", len(seen.get("ranges") or ())),
    ]
    return [(what, f"{count:,}") for what, count in found]


def list_notices(space: SiteSpace, run: str, shown: str) -> dict[str, Any]:
    """What changed since the page of a run was shown with a request's hash, and its progress.

    The request on the page itself is never replaced: nobody approves what was exchanged under the
    cursor.
    """
    found = space.overview(patient=True)
    judged = next((one for one in found.requests if one.request.run == run), None)
    notices = []
    if judged is not None and judged.request.fingerprint != shown:
        notices.append(
            "This request changed after you opened the page. Load the page again before you decide."
        )
    return {"run": run, "notices": tuple(notices), **list_progress(found.runs.get(run))}
