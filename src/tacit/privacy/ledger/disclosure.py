"""Rows that were handed over: listed with their counts, never given a number that would sound like
protection.
"""

from __future__ import annotations

from tacit.privacy.claim import Approximate, Claim, Disclosed, Open, Repeated
from tacit.privacy.ledger.account import build_release
from tacit.runs.record import RUN, DisclosedRows, Released

_RULES = {
    "k_anonymity": "at least {k} rows look alike in {key}",
    "label_k": "at least {k} rows look alike in {key} and in the label itself",
    "distinct_l": "at least {k} rows look alike in {key}, with at least {l} different labels",
    "entropy_l": "at least {k} rows look alike in {key}, with labels as mixed as {l} equal ones",
}


def build_releases(facts: DisclosedRows) -> list[Released]:
    """Return the ledger's entries for rows that were disclosed: the rows themselves, and what
    counting them told others.
    """
    found = []
    if facts.rows:
        holders = sum(count > 0 for count in facts.rows_per_client)
        found.append(build_release(_claim_rows(facts), RUN, 0, "disclose rows", holders, 1))
    counting = _claim_counts(facts)
    return (
        [*found, build_release(counting, RUN, 0, "count rows", len(facts.rows_per_client), 1)]
        if counting
        else found
    )


def _claim_rows(facts: DisclosedRows) -> Claim:
    return Claim(
        mechanism=(
            f"{facts.rows:,} of {facts.of_rows:,} rows in full ({', '.join(facts.columns)});"
            f" {describe_rule(facts)}"
        ),
        event=Repeated(Disclosed(), facts.rows),
        unit="row",
        relation="replace one row",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        rests_on="nobody",
        source=(
            "none: k-anonymity and l-diversity are rules about a table, not differential privacy"
        ),
    )


def _claim_counts(facts: DisclosedRows) -> Claim | None:
    """Return what was told by counting together; clients that count alone tell nobody anything."""
    if facts.counts == "local":
        return None
    if facts.counts == "stable":
        assert facts.epsilon is not None
        assert facts.delta is not None
        return Claim(
            mechanism=(
                "which classes of rows are disclosed, decided on noisy counts of"
                f" {', '.join(facts.key)}"
            ),
            event=Approximate(facts.epsilon, facts.delta),
            unit="decision",
            relation="add or remove one row",
            view="everyone",
            trust=("whoever adds the counts up, and the noise to them",),
            rests_on="server",
            source=(
                "stability histogram: count + Laplace(1/epsilon) >= k + ln(1/(2 delta))/epsilon;"
                " rows are not covered"
            ),
        )
    with_test = " and the test rows" if facts.counts == "with_test" else ""
    return Claim(
        mechanism=(
            f"how many rows of all clients{with_test} look alike in each class of"
            f" {', '.join(facts.key)}"
        ),
        event=Open(),
        unit="run",
        relation="replace one row",
        view="peers",
        trust=("the secure sum that adds the counts up",),
        rests_on="helpers",
        source="none: exact counts reach every client",
    )


def describe_rule(facts: DisclosedRows) -> str:
    """Return the rule that disclosed rows keep to, in words."""
    key = ", ".join(facts.key) if facts.release == "columns" else "every column but the label"
    return _RULES[facts.rule].format(k=f"{facts.k:,}", l=f"{facts.l or 0:g}", key=key)
