"""[network]: a simulated network between clients and server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import OneBit, Skellam
from tacit.plan.kinds import STRICT, Positive, Share

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_NotNegative = Annotated[float, Ge(0)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Network:
    """A network in virtual time: which clients are reachable, how long their responses take, and
    which arrive too late. A simulation leaves the missing responses out and states how long each
    round would take. Runs between sites ignore the table: their network is real
    ([network.md](guides/network.md)).
    """

    available: Annotated[float, Gt(0), Le(1)] = 1.0
    """Probability that a client is reachable in a round, independently of its rows."""
    drop_out: Share = 0.0
    """Probability that a client receives a request and never responds."""
    latency: _NotNegative = 0.1
    """Seconds that a message takes in addition to its bytes, one way."""
    download: Positive = 20.0
    """Download rate of the median client, in megabits per second."""
    upload: Positive = 5.0
    """Upload rate of the median client, in megabits per second."""
    row_seconds: _NotNegative = 1e-3
    """Seconds that the median client trains on one row, once."""
    spread: Annotated[float, Ge(0), Le(3)] = 0.5
    """Differences between clients: standard deviation of the logarithm of rates and of training
    times. A client keeps its own.
    """
    jitter: Annotated[float, Ge(0), Le(3)] = 0.25
    """Differences between rounds of the same client: standard deviation of the logarithm of its
    times.
    """
    deadline: Positive | None = None
    """Seconds after which the server stops waiting for responses. Without it the server waits for
    every client that it reached.
    """
    server: Positive | None = None
    """Rate of the server's own connection, in megabits per second, shared by all clients. Without it
    the server is never the bottleneck.
    """


def problems(plan: Plan) -> list[str]:
    """List settings that contradict a simulated network, one sentence each."""
    network, found = plan.network, list[str]()
    assert network is not None
    if plan.regime != "federated":
        found.append(
            f"[network] cannot be used with regime = {plan.regime!r}, which sends no updates;"
            " remove the table"
        )
    if network.drop_out and network.deadline is None:
        found.append(
            "network.drop_out requires network.deadline: the server would wait forever for a client"
            " that never responds; set a deadline in seconds"
        )
    if plan.data.share is not None and (network.available < 1 or network.drop_out):
        found.append(
            "network.available and network.drop_out cannot be combined with data.share, whose rows"
            " every client sends once; remove them"
        )
    share = network.available * (1 - network.drop_out)
    if isinstance(plan.codec, OneBit | Skellam) and plan.codec.reporters > share:
        found.append(
            f"codec.reporters must be at most {share:g}, the share of clients that [network] lets"
            f" respond on average; got {plan.codec.reporters:g}, so most rounds would be lost"
        )
    return found
