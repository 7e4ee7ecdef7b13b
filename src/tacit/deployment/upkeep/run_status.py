"""What each run asked of a site, what left the site, and what the site refused."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tacit.deployment.site.contacts import ContactBook
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_folder import LEDGER
from tacit.deployment.site.stored_runs import has_ended, list_open_runs
from tacit.plan import Plan
from tacit.privacy.policy import LedgerEntry, Policy, SiteLedger
from tacit.privacy.site_ledger.cohorts import count_clients

RunState = Literal["open", "ended", "not opened"]


@dataclass
class AskedExchange:
    """One exchange of a round: clients that were charged, clients left out by reason, and the size
    of the response; None if none was stored.
    """

    round_no: int
    exchange: str
    clients: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    bytes: int | None = None


@dataclass
class RunStatus:
    """One run at a site.

    `epsilon` is the largest privacy loss of a client in the run, `no_epsilon` says that messages
    without one were sent too. `statistics` were sent before round one; `rows` were disclosed.
    """

    run: str
    state: RunState = "not opened"
    exchanges: list[AskedExchange] = field(default_factory=list)
    responses: int = 0
    bytes: int = 0
    rows: int = 0
    clients: int = 0
    epsilon: float = 0.0
    delta: float = 0.0
    no_epsilon: bool = False
    statistics: dict[str, Any] | None = None
    first_contact: str | None = None
    last_contact: str | None = None
    requests: dict[str, int] = field(default_factory=dict)
    refusals: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """All facts as JSON values."""
        return asdict(self)


def summarise_runs(owner: Owner) -> dict[str, RunStatus]:
    """The status of every run that a site knows, by name."""
    found: dict[str, RunStatus] = {}
    for run, contacts in ContactBook(owner.folder).read().items():
        status = found[run] = RunStatus(run=run)
        status.first_contact, status.last_contact = contacts.get("first"), contacts.get("last")
        status.requests = dict(contacts.get("requests", {}))
        status.refusals = list(contacts.get("refusals", []))
    if (owner.folder / LEDGER).exists():
        with closing(owner.open_ledger(owner.policy() or Policy(), Plan())) as book:
            _add_ledger(found, book)
    opened = set(list_open_runs(owner))
    for run, status in found.items():
        if run in opened:
            status.state = "open"
        elif _exists(owner.folder, run) and has_ended(owner, run):
            status.state = "ended"
    return found


def _exists(folder: Path, run: str) -> bool:
    return (folder / "runs" / run).is_dir()


def _add_ledger(found: dict[str, RunStatus], book: SiteLedger) -> None:
    for entry in book.entries():
        if "run" in entry.body:
            run = str(entry.body["run"])
            _add_entry(found.setdefault(run, RunStatus(run=run)), entry)
    for client in book.totals():
        for run, cost in client.runs.items():
            status = found.setdefault(run, RunStatus(run=run))
            status.clients += cost.micro > 0 or cost.bare
            status.epsilon = max(status.epsilon, cost.micro / 1e6)
            status.delta = max(status.delta, cost.delta)
            status.no_epsilon |= cost.bare


def _add_entry(status: RunStatus, entry: LedgerEntry) -> None:
    body = entry.body
    if entry.kind == "told":
        status.statistics = body["told"]
    if entry.kind == "disclosed":
        status.rows += body["rows"]
    if entry.kind == "reserved":
        status.exchanges.append(
            AskedExchange(
                body["round_no"],
                body["exchange"],
                sum(count_clients(group) for group in body["paid"]),
                {group["why"]: count_clients(group) for group in body["refused"]},
            )
        )
    if entry.kind == "stored":
        status.responses += 1
        status.bytes += body["bytes"]
        key = body["round_no"], body["exchange"]
        asked = next(
            one for one in reversed(status.exchanges) if (one.round_no, one.exchange) == key
        )
        asked.bytes = body["bytes"]
