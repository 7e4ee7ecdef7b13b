"""A server that wants no row: it tries out rules for coarser values, and reads values of single people off the refusals."""

from __future__ import annotations

import pytest

from tests.deployment.test_released_rows import POLICY, Site, job, write_rows

OWNERS_RULE = POLICY.replace(
    'generalise = {age = ["ranges 10", "ranges 15", "ranges 4"]}',
    'generalise = {age = ["ranges 10"]}',
)


def ask(site: Site, ages: str) -> tuple[int | None, str]:
    plan = job(
        {"generalise": {"age": ages, "zip": "suppress", "sex": "suppress"}},
        quasi=["age", "sex", "zip"],
    )
    return site.taken(plan), site.server.rule


@pytest.mark.parametrize("somebody", [True, False])
def test_whether_somebody_is_40_is_not_told_by_a_refusal(tmp_path, somebody) -> None:
    """Before, ages in tens left once. Of every other width after that, the refusal said whether anybody is between two ends."""

    def cell(number: int) -> dict[str, str]:
        age = 30 + number % 30
        return {"age": str(age if age != 40 or (somebody and number == 10) else 42)}

    site = Site(tmp_path, OWNERS_RULE)
    write_rows(site.rows, cell)
    assert ask(site, "ranges 10") == (240, "")
    answers = [ask(site, f"ranges {width}") for width in (41, 43, 39)]
    assert answers == [(None, "share.generalise")] * 3
    assert (
        "share.generalise: the policy releases the column 'age' as 'ranges 10', and the plan would"
        " release it as 'ranges 41'" in "".join(site.told)
    )


@pytest.mark.parametrize("lowest", [55, 155])
def test_the_lowest_value_is_not_found_by_trying_thresholds(tmp_path, lowest) -> None:
    """Before, `top T` was refused if anybody lay below T, which nothing was charged for: a search found the lowest value of all."""
    listed = OWNERS_RULE.replace('"zip", "outcome"]', '"zip", "outcome", "note"]').replace(
        'numeric = ["age"]', 'numeric = ["age", "note"]'
    )
    site = Site(tmp_path, listed)
    write_rows(site.rows, lambda number: {"note": str(lowest if number == 77 else 500)})
    site.rows = site.rows.rename(tmp_path / "read by nobody.csv")
    for threshold in (100, 200, 50):
        rules = {"age": "ranges 10", "sex": "suppress", "note": f"top {threshold}"}
        assert site.taken(job({"generalise": rules}, numeric=["age", "note"], text=[])) is None
        assert site.server.rule == "share.generalise"


def test_a_column_may_stay_behind_whatever_its_rule(tmp_path) -> None:
    site = Site(tmp_path, OWNERS_RULE)
    plan = job({"generalise": {"age": "suppress"}}, quasi=["sex", "zip"])
    assert site.taken(plan) == 240


def test_a_column_with_a_rule_does_not_leave_as_it_is(tmp_path) -> None:
    site = Site(tmp_path, OWNERS_RULE)
    assert site.taken(job({"generalise": {}})) is None
    assert (
        "the policy releases the column 'age' as 'ranges 10', and the plan would release it without generalisation"
        in site.told[-1]
    )
