"""What happened at a site: decisions and acts of its owner from the ledger, and what the site refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tacit.ui.site.overview import SiteOverview

_MOST_EVENTS = 500


@dataclass(frozen=True, kw_only=True)
class HistoryLine:
    """One line: when (a day or a time, UTC), of which kind, about which run, and what happened."""

    when: str
    kind: Literal["decision", "refusal", "ledger"]
    run: str
    what: str
    detail: str


def list_history(found: SiteOverview) -> list[HistoryLine]:
    """The latest events, newest first. A decision has a date only and stands after the times of its
    day.
    """
    lines = [*_list_acts(found), *_list_refusals(found)]
    return sorted(lines, key=lambda one: one.when, reverse=True)[:_MOST_EVENTS]


def _list_acts(found: SiteOverview) -> Iterator[HistoryLine]:
    for kind, body in found.events:
        match kind:
            case "approved" | "refused":
                reason = f": {body['reason']}" if body["reason"] else ""
                yield HistoryLine(
                    when=body["day"],
                    kind="decision",
                    run=str(body["run"]),
                    what=kind,
                    detail=f"by {body['by']}{reason}",
                )
            case _:
                what, detail = _describe_act(kind, body)
                yield HistoryLine(
                    when=str(body.get("day", "")), kind="ledger", run="", what=what, detail=detail
                )


def _describe_act(kind: str, body: dict[str, Any]) -> tuple[str, str]:
    match kind:
        case "erased":
            return "client erased", "its rows take part in no run any more"
        case "loss accepted":
            ended = ", ".join(map(str, body["runs_ended"])) or "none"
            return "loss of the ledger accepted", f"runs that ended: {ended}"
        case _:
            return "ledger restored from a backup", f"made {body['made']}"


def _list_refusals(found: SiteOverview) -> Iterator[HistoryLine]:
    for run, status in found.runs.items():
        for one in status.refusals:
            times = f", {one['times']:,} times" if one["times"] > 1 else ""
            yield HistoryLine(
                when=str(one["last"]),
                kind="refusal",
                run=run,
                what=f"request refused{times}",
                detail=f"{one['kind']}, round {one['round']:,}: {one['why'] or one['status']}",
            )
