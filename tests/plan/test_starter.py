"""Plans to start from: every name survives TOML, and the settings can run."""

from __future__ import annotations

import tomllib

import pytest

from tacit import plan as plans
from tacit.plan.presets.one_bit import choose_one_bit_rule
from tacit.plan.presets.starter import EXAMPLE, choose_clients, quoted, starter_text


def test_quoted_keeps_every_character() -> None:
    text = "".join(map(chr, range(1, 0x300))) + "💬"
    assert tomllib.loads(f"x = {quoted(text)}")["x"] == text


def test_each_training_row_is_a_client_up_to_some_thousands() -> None:
    assert [choose_clients(rows) for rows in (8, 80, 800, 10**6)] == [8, 80, 800, 5000]


def test_the_example_is_a_plan_that_can_run() -> None:
    assert plans.parse(tomllib.loads(EXAMPLE)).name == "newsgroups"


@pytest.mark.parametrize("name", ["a\nb.csv", "\x1b[31mred.csv", "\x7f.csv", "ü 💬.csv"])
def test_odd_file_names_leave_a_plan_that_can_be_read(name: str) -> None:
    text = starter_text({"x": "numeric", "y": "label", "n": "left out"}, name, 100, 0, "run", name)
    plan = plans.parse(tomllib.loads(text))
    assert plan.data.source == name
    assert plan.data.columns.numeric == ("x",)
    assert "\x1b" not in text


@pytest.mark.parametrize("role", ["text", "numeric"])
def test_one_bit_plans_can_run_and_say_all_they_do(role: str) -> None:
    text = starter_text(
        {"x": role, "y": "label"}, "t.csv", 1000, 0, "run", "plan.toml", one_bit=100
    )
    plan = plans.parse(tomllib.loads(text))
    assert plan.privacy is None
    assert (plan.codec.name, getattr(plan.codec, "epsilon", None)) == ("rr", 1.0)
    assert (plan.data.clients, plan.server.optimizer) == (100, "momentum")
    assert (plan.features.row_norm == 1.0) == (role == "text")


def test_private_plans_leave_settings_of_tables_and_texts_to_the_preset() -> None:
    table, text = (
        plans.parse(
            tomllib.loads(
                starter_text({"x": role, "y": "label"}, "t.csv", 10_000, 0, "run", "plan.toml")
            )
        )
        for role in ("numeric", "text")
    )
    assert (table.server.rounds, text.server.rounds) == (200, 80)
    assert table.server.lr < text.server.lr


@pytest.mark.parametrize("text", [True, False])
def test_the_server_steps_further_the_more_clients_there_are(text: bool) -> None:
    steps = [
        choose_one_bit_rule(text=text, clients=clients).server_rate
        for clients in (10, 100, 1000, 100_000)
    ]
    assert steps[0] == steps[1] < steps[2] < steps[3]
