"""Totals against closed forms; the count law on ours and on the accountant we borrow."""

import math

import pytest

from tacit import codec, ledger, plan
from tacit.claim import PureDP
from tacit.ledger import account


def claim(epsilon: float, dim: int):
    return codec.build(plan.Codec(name="rr", epsilon=epsilon, clip=1e-3)).claim(dim)


@pytest.mark.parametrize(("dim", "epsilon", "update", "run_at_delta"), [
    (5_001, 0.1, 500.1, 794), (5_001, 1.0, 5_001, 59_407), (506_451, 0.1, 50_645, 64_960), (506_451, 1.0, 506_451, 5.87e6),
])  # fmt: skip
def test_the_specified_totals_over_25_rounds(dim, epsilon, update, run_at_delta) -> None:
    totals = ledger.totals(claim(epsilon, dim), 25, 1e-5)
    assert totals["bit"] == pytest.approx(epsilon, rel=1e-6)
    assert totals["update"] == pytest.approx(update, rel=1e-4)
    assert totals["run"] == pytest.approx(25 * update, rel=1e-4)
    assert totals["run (delta=1e-05)"] <= run_at_delta * 1.001
    assert totals["run (delta=1e-05)"] >= run_at_delta * 0.97


@pytest.mark.parametrize("uses", [1, 10, 100, 5001])
def test_composition_is_never_below_what_it_must_cost_nor_above_pure(uses) -> None:
    value = account.composed(1.0, uses, 1e-5)
    assert value <= uses * 1.0
    assert value >= account._renyi_floor(1.0, uses, 1e-5)


def test_count_law_many_single_uses_cost_as_much_as_one_use_of_that_count() -> None:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    event = dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.e), 2)
    one_by_one, at_once = RdpAccountant(neighboring_relation=relation), RdpAccountant(neighboring_relation=relation)
    for _ in range(10):
        one_by_one.compose(event)
    at_once.compose(event, 10)
    assert one_by_one.get_epsilon(1e-5) == pytest.approx(at_once.get_epsilon(1e-5))


def test_an_accountant_that_forgets_the_count_is_not_believed(monkeypatch) -> None:
    monkeypatch.setattr(account, "_borrowed", lambda epsilon, uses, delta: epsilon)  # ten uses at the price of one
    assert account.composed(1.0, 1000, 1e-5) > 400


def test_open_updates_have_no_number() -> None:
    open_claim = codec.build(plan.Codec(name="plain")).claim(10)
    totals = ledger.totals(open_claim, 3, 1e-5)
    assert set(totals.values()) == {None}
    assert "no differential privacy" in ledger.statement(open_claim, totals, 3)


def test_every_epsilon_in_the_statement_has_its_unit() -> None:
    made = claim(1.0, 5001)
    text = ledger.statement(made, ledger.totals(made, 20, 1e-5), 20)
    for phrase in ("1 per bit", "5,001 per update", "per run", "delta=1e-05", "replace all rows of one client", "no meaningful"):
        assert phrase in text


def test_the_statement_never_rounds_a_bound_down() -> None:
    made = claim(10.0, 506_451)
    totals = ledger.totals(made, 15, 1e-5)
    said = ledger.statement(made, {**totals, "update": 5_064_508.34, "run": 2.17742}, 15)
    assert "5,064,509 per update" in said
    assert "2.178 per run" in said


def test_pure_loss_needs_a_finite_positive_value() -> None:
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            PureDP(bad)
