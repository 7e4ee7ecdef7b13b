"""Plans to start from: every name survives TOML, and the settings can run."""

from __future__ import annotations

import tomllib

import pytest

from tacit import plan as plans
from tacit.plan.starter import EXAMPLE, clients_for, quoted, starter_text


def test_quoted_keeps_every_character() -> None:
    text = "".join(map(chr, range(1, 0x300))) + "💬"
    assert tomllib.loads(f"x = {quoted(text)}")["x"] == text


def test_each_row_is_a_client_up_to_some_thousands() -> None:
    assert [clients_for(rows) for rows in (10, 100, 1000, 10**6)] == [8, 80, 800, 5000]


def test_the_example_is_a_plan_that_can_run() -> None:
    assert plans.parse(tomllib.loads(EXAMPLE)).name == "newsgroups"


@pytest.mark.parametrize("name", ["a\nb.csv", "\x1b[31mred.csv", "\x7f.csv", "ü 💬.csv"])
def test_odd_file_names_leave_a_plan_that_can_be_read(name: str) -> None:
    text = starter_text({"x": "numeric", "y": "label", "n": "left out"}, name, 100, 0, "run", name)
    plan = plans.parse(tomllib.loads(text))
    assert plan.data.source == name
    assert plan.data.columns.numeric == ("x",)
    assert "\x1b" not in text
