"""A made-up site with a policy that asks, and a server that offers it runs. Used by tests of its pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from tacit.deployment.site.approval.approvals import decide, find_request, open_ledger
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.site_folder import SiteSettings, create_site, load_owner
from tacit.plan import Plan
from tacit.privacy.site_ledger.decisions import Verdict
from tests.deployment.hostile import HostileServer
from tests.deployment.test_erasure import job, write_patients

POLICY = """approve = "ask"                     # I decide about each run

[allow]
models = ["logistic", "mlp"]
codecs = ["gaussian", "plain"]      # plain is for rehearsals
disclosures = ["clients", "rows", "classes", "ranges", "formats", "categories"]
trust_server = true

[columns]
label = ["outcome"]
numeric = ["age"]
categorical = ["town"]
split = ["*"]

[limits]
max_epsilon_per_run = 4
max_epsilon_lifetime = 12
delta = 1e-5
max_test_share = 0.6
min_cohort = 1
"""
DP = {"name": "gaussian", "epsilon": 0.5, "delta": 1e-6, "clip": 1.0}


class MadeUpSite:
    """A site in a folder of its own."""

    def __init__(self, place: Path, *, policy: str = POLICY, name: str = "hospital-a") -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.folder = place / name
        rows = write_patients(place / f"{name}.csv")
        settings = SiteSettings(
            name=name,
            data=str(rows),
            server="tacit.example:8443",
            client="patient",
            quasi_identifiers=("age", "town"),
            state=str(place / "state"),
        )
        create_site(self.folder, settings)
        (self.folder / "policy.toml").write_text(policy)

    def owner(self) -> Owner:
        return load_owner(self.folder)

    def offer(self, run: str = "job-1", **changes: Any) -> HostileServer:
        """Let a server offer a run."""
        plan = job(**{"codec": DP, **changes})
        server = HostileServer(OwnerSite(self.owner()), plan, run)
        server.open()
        return server

    def decide(self, run: str, verdict: Verdict = "approved", reason: str = "") -> None:
        owner = self.owner()
        decide(owner, find_request(owner, run).request, verdict, by="test", reason=reason)

    def train(self, run: str, rounds: int, **changes: Any) -> HostileServer:
        """Let a run be approved, begin, and train some rounds."""
        server = self.offer(run, **changes)
        if server.status == "approval":
            self.decide(run)
        server.start()
        for number in range(1, rounds + 1):
            assert server.train(round_no=number) is not None, server.rule
        return server

    def states(self) -> dict[str, str]:
        """The last decision about each run, by the ledger."""
        with closing(open_ledger(self.owner())) as book:
            book.verify()
            found = {
                "approved": book.list_entries("approved"),
                "refused": book.list_entries("refused"),
            }
            numbered = sorted(
                (one["number"], one["run"], kind) for kind, all_ in found.items() for one in all_
            )
            return {run: kind for _, run, kind in numbered}


def fill(site: MadeUpSite) -> None:
    """A site in the middle of its life: runs that ended, one that is open, one refused, two waiting."""
    site.train("readmissions-1-5f2e11aa", 2).send("end", "end", b"")
    site.train("readmissions-2-90b3c77d", 3)
    site.offer("mortality-1-0c41d2ee", codec={**DP, "epsilon": 3.0})
    site.decide("mortality-1-0c41d2ee", "refused", "not what the ethics board approved")
    site.offer("mortality-1-0c41d2ee", codec={**DP, "epsilon": 3.0})
    site.offer("ages-1-77aa01bc", data={"source": "given", "test": 0.5, "columns": {
        "client": "patient", "numeric": ["income"], "label": "outcome"}})  # fmt: skip
    site.offer("length-of-stay-1-c0ffee12")
    site.offer("sepsis-4-b1a2c3d4", server={"rounds": 6}, codec={"name": "plain"})


__all__ = ["POLICY", "MadeUpSite", "Plan", "fill"]
