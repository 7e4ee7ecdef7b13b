"""Erase a client of a site: its rows are used no more, its private parts are deleted, its charges
stay.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tacit.deployment.site.client_parts import delete_parts
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.stored_runs import list_open_runs
from tacit.deployment.upkeep.find_client import FoundClient, find_client
from tacit.plan import Plan
from tacit.privacy.policy import Policy, SiteLedger
from tacit.privacy.site_ledger.erasures import ClientAccount


@dataclass(frozen=True, kw_only=True)
class ErasurePlan:
    """What is known about a client before it is erased.

    `told` are runs that received statistics of the site's rows, `open_runs` those under way.
    """

    owner: Owner
    client: FoundClient
    account: ClientAccount
    told: tuple[str, ...]
    open_runs: tuple[str, ...]


def prepare_erasure(folder: Path, given: str) -> ErasurePlan:
    """Find a client by its id and what was charged to it; change nothing."""
    owner, client = find_client(folder, given)
    with closing(_open_ledger(owner)) as book:
        told = dict.fromkeys(str(entry["run"]) for entry in book.list_entries("told"))
        account = book.account(client.pseudonym)
    runs = tuple(list_open_runs(owner))
    return ErasurePlan(
        owner=owner, client=client, account=account, told=tuple(told), open_runs=runs
    )


def erase_client(plan: ErasurePlan) -> int:
    """Record the erasure in the ledger, then delete the client's parts in all runs; return the
    number of runs that had any.

    A kill in between leaves parts behind; a second call, and a site that responds, delete them.
    """
    with closing(_open_ledger(plan.owner)) as book:
        book.erase(plan.client.pseudonym)
    folders = sorted((plan.owner.folder / "runs").glob("*"))
    return sum(delete_parts(folder, {plan.client.pseudonym}) for folder in folders)


def _open_ledger(owner: Owner) -> SiteLedger:
    return owner.open_ledger(owner.policy() or Policy(), Plan())  # nothing is charged here
