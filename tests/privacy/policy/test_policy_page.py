"""The page about policies is true: its example is a policy, and it names every key with the value it has when left out."""

from __future__ import annotations

import re

import pytest

from tacit.plan.kinds import list_fields
from tacit.privacy.policy import Policy, parse_policy
from tacit.privacy.policy.policy import Allow, ColumnRoles, Limits, Measures, Plans, SharePolicy
from tacit.privacy.policy.starter import render_policy
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "guides" / "policy.md").read_text(encoding="utf-8")


def test_the_example_is_a_policy() -> None:
    (text,) = re.findall(r"^```\n(\[plans\].*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    policy = parse_policy(text)
    assert policy.limits.max_epsilon_per_run == 2.0
    assert policy.share is not None


TABLES = (Plans, Allow, ColumnRoles, Limits, Measures, SharePolicy)


@pytest.mark.parametrize("key", [key for table in TABLES for key in list_fields(table)])
def test_every_key_is_explained(key: str) -> None:
    assert re.search(rf"^\|.*`{key}`.*\|", PAGE, re.MULTILINE)


def test_the_policy_to_start_from_can_be_read_and_allows_no_row_to_leave() -> None:
    policy = parse_policy(render_policy("policy.toml"))
    assert policy.share is None
    assert policy.columns == ColumnRoles()
    assert Policy().limits.max_epsilon_lifetime is None
