"""What a site's clients were charged in all runs, and what is left of the owner's limits."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from tacit.deployment.site.approval.approvals import open_ledger
from tacit.deployment.site.approval.bound_facts import RunCost
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_folder import LEDGER
from tacit.privacy.policy import Policy
from tacit.privacy.site_ledger.spending import format_micro, to_micro


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The charges of each client in all runs, in millionths of epsilon, largest first, and the limit
    for all runs (None: nothing may be charged).
    """

    charged: tuple[int, ...]
    limit: int | None

    @property
    def largest(self) -> int:
        """The charge of the client that was charged most."""
        return self.charged[0] if self.charged else 0

    @property
    def left(self) -> int:
        """What is left of the limit for the client that was charged most."""
        return max(0, (self.limit or 0) - self.largest)

    def describe_seen(self) -> dict[str, int]:
        """What a decision keeps of the budget as its owner saw it."""
        return {"micro_epsilon_left": self.left, "clients_charged": len(self.charged)}

    def count_without(self, cost: RunCost) -> int:
        """How many clients have less left than a run may cost, so that they drop out of it."""
        if cost.epsilon is None or self.limit is None:
            return 0
        return sum(one + to_micro(cost.epsilon) > self.limit for one in self.charged)

    def describe_left(self, cost: RunCost) -> list[str]:
        """What is left before and after a run, in sentences."""
        if self.limit is None:
            return ["Your policy has no limit for all runs, so nothing may be charged."]
        said = [
            f"Of {format_micro(self.limit)} per client in all runs, your most charged client has used"
            f" {format_micro(self.largest)}; {format_micro(self.left)} is left."
        ]
        if cost.epsilon is not None:
            after = self.left - to_micro(cost.epsilon)
            said.append(
                f"After this run at least {format_micro(after)} would be left."
                if after >= 0
                else "The most charged client has less left than this run may cost."
            )
        if without := self.count_without(cost):
            said.append(
                f"{without:,} of {len(self.charged):,} charged clients have too little left for the"
                " whole run; they drop out when it is used up."
            )
        return said


def read_budget(owner: Owner, policy: Policy) -> Budget:
    """Read the charges of a site's clients; without a ledger nothing was charged."""
    limit = policy.limits.max_epsilon_lifetime
    charged: list[int] = []
    if (owner.folder / LEDGER).exists():
        with closing(open_ledger(owner)) as book:
            charged = sorted((one.life.micro for one in book.totals()), reverse=True)
    return Budget(charged=tuple(charged), limit=None if limit is None else to_micro(limit))
