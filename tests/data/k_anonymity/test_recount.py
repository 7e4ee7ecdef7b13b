"""Every rule against a recount by hand on random tables; a rule that is off by one is caught."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tacit.data.k_anonymity import decide_release, release
from tacit.plan import RowSharing
from tacit.randomness import Draws
from tests.data.k_anonymity.tables import recount, tables

DRAWS = Draws.seeded(0)
ROUNDER = st.sampled_from(
    [{}, {"age": "ranges 10"}, {"age": "top 21"}, {"race": "suppress"}, {"race": "prefix 0"}]
)


@settings(max_examples=1000, deadline=None)
@given(
    tables(),
    st.integers(1, 8),
    st.integers(1, 3),
    st.sampled_from(["columns", "whole_row"]),
    st.sampled_from(["local", "global"]),
)
def test_distinct_l_by_recount(made, k, l, kind, counts) -> None:  # noqa: E741
    wanted = RowSharing(rule="distinct_l", k=k, l=l, release=kind, counts=counts)
    assert recount(decide_release(*made, wanted, DRAWS), wanted) == []


@settings(max_examples=1000, deadline=None)
@given(
    tables(),
    st.integers(1, 6),
    ROUNDER,
    st.sampled_from(["k_anonymity", "label_k"]),
    st.sampled_from(["local", "global"]),
)
def test_whole_row_by_recount(made, k, rules, rule, counts) -> None:
    wanted = RowSharing(rule=rule, k=k, release="whole_row", counts=counts, generalise=rules)
    assert recount(decide_release(*made, wanted, DRAWS), wanted) == []


@settings(max_examples=300, deadline=None)
@given(
    tables(),
    st.integers(1, 8),
    st.floats(1, 3),
    st.sampled_from(["k_anonymity", "label_k", "entropy_l"]),
)
def test_the_other_rules_by_recount(made, k, l, rule) -> None:  # noqa: E741
    wanted = RowSharing(rule=rule, k=k, l=l if rule == "entropy_l" else None)
    assert recount(decide_release(*made, wanted, DRAWS), wanted) == []


@pytest.mark.parametrize("rule", ["k_anonymity", "label_k", "distinct_l"])
@pytest.mark.parametrize("step", [-1, 1])
def test_a_rule_that_is_off_by_one_is_caught(monkeypatch, rule, step) -> None:
    honest = release.find_allowed_classes

    def twin(classes, labels, kinds, wanted, owner):
        return honest(classes, labels, kinds, replace(wanted, k=wanted.k + step), owner)

    monkeypatch.setattr(release, "find_allowed_classes", twin)
    wanted = RowSharing(rule=rule, k=3, l=2 if rule == "distinct_l" else None)
    try:
        find(
            tables(),
            lambda made: recount(decide_release(*made, wanted, DRAWS), wanted) != [],
            settings=settings(max_examples=1000),
        )
    except NoSuchExample:
        pytest.fail("a rule that counts to the wrong k passed the recount")


@given(tables(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_what_leaves_and_what_stays_are_all_rows(made, k) -> None:
    table, clients = made
    found = decide_release(table, clients, RowSharing(k=k), DRAWS)
    kept = found.kept()
    gone = [found.released_by(client).height for client in range(len(clients))]
    assert (kept.sizes() + np.array(gone) == clients.sizes()).all()
    assert found.released().height == sum(gone) == int(found.disclosed.sum())
    assert not found.disclosed[np.isin(clients.order, kept.order)].any()
