"""Claims about disclosed rows. They are listed with their counts; they have no epsilon, which would
suggest protection.
"""

from __future__ import annotations

from tacit.privacy.claim import Approximate, Claim, Disclosed, Open, Repeated
from tacit.privacy.ledger.account import build_release
from tacit.runs.record import RUN, DisclosedRows, Released

_RULES = {
    "k_anonymity": "at least {k} rows agree on {key}",
    "label_k": "at least {k} rows agree on {key} and on the label itself",
    "distinct_l": "at least {k} rows agree on {key}, with at least {l} different labels",
    "entropy_l": "at least {k} rows agree on {key}, with label entropy at least ln({l})",
}
_OWN_RULE = "at least {{k}} rows agree on {{key}}, and the user-defined rule {rule} allows it"


def build_releases(facts: DisclosedRows) -> list[Released]:
    """Build the ledger's entries for disclosed rows: the rows themselves, and what counting them
    revealed.
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
    """Claim about joint counting; None where each client counts alone."""
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
            trust=("the party that adds up the counts and adds noise to them",),
            rests_on="server",
            source=(
                "stability histogram: count + Laplace(1/epsilon) >= k + ln(1/(2 delta))/epsilon;"
                " rows are not covered"
            ),
        )
    with_test = " and the test rows" if facts.counts == "with_test" else ""
    return Claim(
        mechanism=(
            f"how many rows of all clients{with_test} agree on each combination of"
            f" {', '.join(facts.key)}"
        ),
        event=Open(),
        unit="run",
        relation="replace one row",
        view="peers",
        trust=("the secure aggregation that adds up the counts",),
        rests_on="helpers",
        source="none: exact counts reach every client",
    )


def describe_rule(facts: DisclosedRows) -> str:
    """Describe the rule that disclosed rows satisfy."""
    key = ", ".join(facts.key) if facts.release == "columns" else "every column but the label"
    rule = _RULES.get(facts.rule, _OWN_RULE.format(rule=facts.rule))
    said = rule.format(k=f"{facts.k:,}", l=f"{facts.l or 0:g}", key=key)
    return f"{said}; more where the column {facts.k_column} says so" if facts.k_column else said
