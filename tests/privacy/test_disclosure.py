"""Rows that were handed over: what the ledger says of them, word for word, and that it gives them no number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.privacy.claim import Approximate, Claim, Disclosed, Open, Repeated
from tacit.privacy.ledger.disclosure import build_releases, describe_rule
from tacit.runs.record import DisclosedRows

FACTS = DisclosedRows(
    rule="k_anonymity", k=1000, l=None, release="columns", counts="local", epsilon=None, delta=None, key=["age", "ward"],
    columns=["age", "ward", "outcome"], rows=1500, of_rows=2000, rows_per_client=[1, 0, 1499], bytes_per_client=[], classes=1,
    smallest_class=1000, unique_share=0.0, single_label_share=0.0, labels_disclosed={}, labels_kept={},
)  # fmt: skip


def test_rules_in_words() -> None:
    assert describe_rule(FACTS) == "at least 1,000 rows agree on age, ward"
    whole = replace(FACTS, release="whole_row", rule="label_k")
    assert (
        describe_rule(whole)
        == "at least 1,000 rows agree on every column but the label and on the label itself"
    )
    assert describe_rule(replace(FACTS, rule="distinct_l", l=2.0)).endswith(
        "with at least 2 different labels"
    )
    assert describe_rule(replace(FACTS, rule="entropy_l", l=2.5)).endswith(
        "with label entropy at least ln(2.5)"
    )
    assert describe_rule(replace(FACTS, rule="distinct_l")).endswith(
        "with at least 0 different labels"
    )


def test_the_rows_themselves() -> None:
    (found,) = build_releases(FACTS)
    assert (found.arm, found.round_no, found.exchange, found.clients, found.busiest) == (
        "run",
        0,
        "disclose rows",
        2,
        1,
    )
    assert Claim.from_json(found.claim) == Claim(
        mechanism=(
            "1,500 of 2,000 rows in full (age, ward, outcome); at least 1,000 rows agree on"
            " age, ward"
        ),
        event=Repeated(Disclosed(), 1500),
        unit="row",
        relation="replace one row",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        rests_on="nobody",
        source=(
            "none: k-anonymity and l-diversity are rules about a table, not differential privacy"
        ),
    )
    assert build_releases(replace(FACTS, rows=0)) == []


@pytest.mark.parametrize(
    ("counts", "whose"), [("global", "all clients"), ("with_test", "all clients and the test rows")]
)
def test_counting_together_tells_everybody(counts: str, whose: str) -> None:
    (found,) = build_releases(replace(FACTS, rows=0, counts=counts))
    assert (found.arm, found.round_no, found.exchange, found.clients, found.busiest) == (
        "run",
        0,
        "count rows",
        3,
        1,
    )
    assert Claim.from_json(found.claim) == Claim(
        mechanism=f"how many rows of {whose} agree on each combination of age, ward",
        event=Open(),
        unit="run",
        relation="replace one row",
        view="peers",
        trust=("the secure aggregation that adds up the counts",),
        rests_on="helpers",
        source="none: exact counts reach every client",
    )


def test_counting_with_noise_has_a_loss_of_its_own() -> None:
    rows, counting = build_releases(replace(FACTS, counts="stable", epsilon=0.5, delta=1e-6))
    assert (rows.exchange, counting.exchange, counting.clients) == (
        "disclose rows",
        "count rows",
        3,
    )
    assert Claim.from_json(counting.claim) == Claim(
        mechanism="which classes of rows are disclosed, decided on noisy counts of age, ward",
        event=Approximate(0.5, 1e-6),
        unit="decision",
        relation="add or remove one row",
        view="everyone",
        trust=("the party that adds up the counts and adds noise to them",),
        rests_on="server",
        source=(
            "stability histogram: count + Laplace(1/epsilon) >= k + ln(1/(2 delta))/epsilon; rows"
            " are not covered"
        ),
    )
    for lacking in ({"epsilon": None, "delta": 1e-6}, {"epsilon": 0.5, "delta": None}):
        with pytest.raises(AssertionError):
            build_releases(replace(FACTS, counts="stable", **lacking))
