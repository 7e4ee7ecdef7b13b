"""Metrics of a site. Counts of its rows and clients are not among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from tacit.privacy.site_ledger.spending import MILLION
from tacit.ui.metrics.exposition import Metric, measure
from tacit.ui.site.overview import SiteOverview

_RUN_STATES = {"open": "open", "ended": "ended", "not opened": "not_opened"}


def measure_site(found: SiteOverview) -> Iterator[Metric]:
    """The metrics of a site."""
    runs = list(found.runs.values())
    states = Counter(_RUN_STATES[one.state] for one in runs)
    requests = Counter(one.state for one in found.requests)
    yield measure("tacit_site_joined", "Whether a process acts for the site.", found.process is not None)  # fmt: skip
    yield measure("tacit_site_problems", "Parts of the site that cannot be read.", len(found.problems))  # fmt: skip
    yield Metric(
        name="tacit_site_runs",
        meaning="Runs that the site knows, by state.",
        label="state",
        values={word: states[word] for word in _RUN_STATES.values()},
    )
    yield Metric(
        name="tacit_site_requests",
        meaning="Runs that asked the owner for approval, by state.",
        label="state",
        values={word: requests[word] for word in ("waiting", "approved", "refused")},
    )
    yield measure(
        "tacit_site_refusals",
        "Requests that the site refused, as far as it remembers them.",
        found.refused,
    )
    yield from _measure_ledger(found)
    contacts = [one.last_contact for one in runs if one.last_contact]
    if contacts:
        last = datetime.fromisoformat(max(contacts)).timestamp()
        yield measure(
            "tacit_site_last_contact_timestamp_seconds", "Time of the last request.", last
        )


def _measure_ledger(found: SiteOverview) -> Iterator[Metric]:
    runs, contents = found.runs.values(), found.contents
    for name, meaning, value in (
        ("responses", "Responses that left the site.", sum(one.responses for one in runs)),
        (
            "response_bytes",
            "Bytes of responses that left the site.",
            sum(one.bytes for one in runs),
        ),
        ("exchanges_charged", "Exchanges that were charged.", contents.get("exchanges", 0)),
        ("rows_released", "Rows that were released in full.", contents.get("rows_disclosed", 0)),
        ("ledger_entries", "Entries of the ledger.", contents.get("entries", 0)),
    ):
        yield measure(f"tacit_site_{name}", meaning, value, kind="counter")
    yield measure(
        "tacit_site_epsilon_spent",
        "Epsilon per client in all runs, charged to the most charged client.",
        found.budget.largest / MILLION,
    )
    if found.budget.limit is not None:
        yield measure(
            "tacit_site_epsilon_limit",
            "Largest epsilon per client in all runs that the policy allows.",
            found.budget.limit / MILLION,
        )
