"""[server]: how the server picks clients, weighs them, and moves the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Positive, Share

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Server:
    """How the server picks clients, weighs them, and moves the model."""

    rounds: Count = 20
    """How many rounds."""
    cohort: Literal["all", "count", "poisson"] = "all"
    """Who takes part in a round: everybody, a fixed number, or each with equal probability."""
    cohort_size: Count | None = None
    """How many (`count`), or how many on average (`poisson`)."""
    weights: Literal["equal", "rows", "capped"] = "equal"
    """How much a client counts: all the same, by its rows, or by its rows up to a cap. The server sees it."""
    weight_cap: Count | None = None
    """`capped`: the cap, in rows."""
    sum_at: Literal["server", "site"] = "server"
    """Where answers are added up: at the server, or first at each site, over its own clients. A simulation computes the same."""
    optimizer: Literal["sgd", "momentum", "adam", "yogi"] = "sgd"
    """What the server does with the mean update; `sgd` with `lr = 1.0` is plain averaging."""
    lr: Positive = 1.0
    """The server's learning rate."""
    momentum: Share = 0.9
    """Decay of its first moment (`momentum`, `adam`, `yogi`)."""
    evaluate_every: Count = 1
    """Measure on the test rows every so many rounds, and after the last."""
    test_rows: Count | None = None
    """Where clients have models of their own: measure each on at most so many common test rows."""
    test_clients: Count | None = None
    """Where clients have models of their own: measure so many of them after the last round."""
    patience: Count | None = None
    """Stop after so many measurements without a lower loss."""


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    server, found = plan.server, []
    if server.cohort != "all" and server.cohort_size is None:
        found.append(f"server.cohort_size: needs a number of clients, since server.cohort = {server.cohort!r}; got nothing")
    if server.cohort == "all" and server.cohort_size is not None:
        found.append("server.cohort_size: has no meaning with server.cohort = 'all'; use 'count' or 'poisson', or remove it")
    if server.cohort_size and server.cohort_size > plan.data.clients and plan.data.partition != "client":
        found.append(f"server.cohort_size: needs at most data.clients = {plan.data.clients}; got {server.cohort_size}")
    if server.weights == "capped" and server.weight_cap is None:
        found.append("server.weight_cap: needs a number of rows, since server.weights = 'capped'; got nothing")
    if server.weights != "capped" and server.weight_cap is not None:
        found.append(f"server.weight_cap: has no meaning with server.weights = {server.weights!r}; use 'capped' or remove it")
    if server.sum_at == "site" and plan.regime != "federated":
        found.append(f"server.sum_at: has no meaning with regime = {plan.regime!r}, in which nobody sends anything; remove it")
    if server.evaluate_every > server.rounds:
        found.append(f"server.evaluate_every: needs at most server.rounds = {server.rounds}; got {server.evaluate_every}")
    if not plan.personal:
        for key in ("test_rows", "test_clients"):
            if getattr(server, key) is not None:
                found.append(f"server.{key}: has no meaning where all clients have one model; use data.limit, or remove it")
    return found
