"""A site whose owner approves each run, and a server that asks it. Used by tests of approvals."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.deployment.site.approval.approvals import decide, find_request, list_requests
from tacit.deployment.site.owner_site import OwnerSite
from tacit.plan import Plan
from tacit.privacy.policy import Policy, PrivacyUnit, parse_policy
from tacit.privacy.site_ledger.decisions import Verdict
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner
from tests.deployment.test_erasure import job, write_patients

DP = {"name": "gaussian", "epsilon": 0.5, "delta": 1e-6, "clip": 1.0}
ASK = 'approve = "ask"\n' + GENEROUS.replace('counts = "exact"', 'counts = "noisy"')


class WaitingSite:
    """A site that asks its owner, what it logged, and a server that offers it runs."""

    def __init__(self, folder: Path, plan: Plan | None = None, policy: str = ASK) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.told, self.text, self.plan = list[str](), policy, plan or job(codec=DP)
        self.rows = write_patients(folder / "rows.csv")
        known = owner(
            "a", self.rows, folder / "a", tell=self.told.append, server="tacit.example:8443",
            authority="ab" * 32, unit=PrivacyUnit(client="patient", quasi_identifiers=("age", "town")),
        )  # fmt: skip
        self.owner = replace(known, policy=self.read_policy)
        self.server = self.other_run("job-1")

    def read_policy(self) -> Policy:
        return parse_policy(self.text)

    def other_run(self, name: str, plan: Plan | None = None) -> HostileServer:
        return HostileServer(OwnerSite(self.owner), plan or self.plan, name)

    def restart(self, **changes: Any) -> None:
        """Start the site anew, perhaps with other settings."""
        self.owner = replace(self.owner, **changes)
        self.server.site = OwnerSite(self.owner)

    def decide(self, verdict: Verdict = "approved", target: str = "job-1", **more: Any) -> None:
        decide(self.owner, find_request(self.owner, target).request, verdict, by="test", **more)

    def states(self) -> dict[str, str]:
        return {one.request.run: one.state for one in list_requests(self.owner)}

    def verify(self) -> list[str]:
        """Verify the ledger; the kinds of its entries."""
        with closing(self.owner.open_ledger(self.read_policy(), Plan())) as book:
            book.verify()
            return [entry.kind for entry in book.entries()]
