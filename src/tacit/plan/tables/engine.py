"""[engine]: settings that change the speed of a run, never its result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

LOCAL = "local:"
"""Begins the address of a cluster that is started on this machine."""
_ADDRESS = re.compile(r"local:[1-9][0-9]{0,2}|auto|[A-Za-z0-9_.-]+:[0-9]{1,5}")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Engine:
    """Settings that change the speed of a run, never its result."""

    workers: Annotated[int, Ge(1), Le(256)] = 2
    """Number of parallel workers. Any number gives the same result."""
    cluster: str | None = None
    """The Ray cluster whose cores compute the clients' responses instead of `workers`. `local:N`
    starts N processes on this machine; `HOST:PORT`, or `auto` on one of its nodes, attaches to a
    running cluster. Any cluster gives the same result.
    """

    @property
    def attaches(self) -> bool:
        """Whether a run attaches to a cluster that others started."""
        return self.cluster is not None and not self.cluster.startswith(LOCAL)


def problems(plan: Plan) -> list[str]:
    """Settings of the engine that make no sense."""
    cluster = plan.engine.cluster
    if cluster is not None and not _ADDRESS.fullmatch(cluster):
        return [
            f"engine.cluster must be 'local:N' with N processes, 'auto' or 'HOST:PORT', got {cluster!r}"
        ]
    return []
