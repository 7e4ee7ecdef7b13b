"""Metrics of a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tacit.ui.metrics.exposition import Metric, measure
from tacit.ui.server.overview import CAUSES, ServerOverview

_STATES = ("online", "offline", "revoked", "unknown")


def measure_server(found: ServerOverview) -> Iterator[Metric]:
    """The metrics of a server."""
    yield measure(
        "tacit_server_problems", "Parts of the server that cannot be read.", len(found.problems)
    )
    yield Metric(
        name="tacit_server_sites",
        meaning="Sites, by state; unknown if the server does not respond.",
        label="state",
        values={state: found.count_sites(state) for state in _STATES},
    )
    yield Metric(
        name="tacit_server_deployments",
        meaning="Deployments, by state.",
        label="state",
        values={"live": found.live, "other": len(found.deployments) - found.live},
    )
    rounds = sum(one.round_no for one in found.deployments)
    yield measure("tacit_server_rounds", "Rounds that have finished.", rounds, kind="counter")
    yield measure(
        "tacit_server_received_bytes",
        "Bytes of accepted responses of clients.",
        sum(one.bytes_up for one in found.deployments),
        kind="counter",
    )
    yield measure(
        "tacit_server_refused_messages",
        "Messages of sites that the server did not accept.",
        sum(one.refused for one in found.deployments),
        kind="counter",
    )
    missing = Counter(found.missing)
    yield Metric(
        name="tacit_server_missing_replies",
        meaning="Replies of sites that did not come, by cause.",
        kind="counter",
        label="cause",
        values={cause.replace(" ", "_"): missing[cause] for cause in (*CAUSES, "other")},
    )
