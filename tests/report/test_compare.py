"""Settings in which runs differ."""

from __future__ import annotations

from tacit.report import find_differences


def test_only_settings_that_differ_are_kept_with_the_value_of_each_run() -> None:
    plans = {
        "a": {"seed": 0, "codec": {"name": "rr", "epsilon": 1.0}},
        "b": {"seed": 0, "codec": {"name": "plain"}},
    }
    assert find_differences(plans) == {
        "codec.name": {"a": "rr", "b": "plain"},
        "codec.epsilon": {"a": 1.0, "b": None},
    }


def test_the_same_plan_has_no_differences() -> None:
    assert find_differences({"a": {"seed": 0}, "b": {"seed": 0}}) == {}
