"""The preset `private` chooses how texts are read, where an encoder is installed; and `check` says what to expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit import plan as plans
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.plan.presets.expected_accuracy import (
    compute_share,
    describe_expectation,
    expect_accuracy,
    read_cells,
)
from tacit.plan.presets.text_rule import describe_text_choice, find_best_form
from tacit.pretrained import is_encoder_installed


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_ENCODER", "on")


def build(clients: int, epsilon: float, **features: Any) -> Plan:
    tree: dict[str, Any] = {
        "privacy": {"epsilon": epsilon},
        "data": {"source": "imdb", "clients": clients},
    }
    return plans.parse({**tree, "features": features} if features else tree)


@pytest.mark.usefixtures("installed")
def test_few_people_get_an_encoder_more_get_words_too() -> None:
    few, some, many = build(100, 2.0), build(5000, 2.0), build(50_000, 8.0)
    assert build(100, 8.0).features.encoder_norm == 1.0
    assert (few.features.text, few.features.length, few.features.row_norm) == ("encoder", 128, 1.0)
    assert (few.server.soften, few.server.rounds) == (0.0, 40)
    assert (some.features.text, some.features.list) == ("encoder+listed", "en")
    assert some.features.encoder_norm < 1
    assert (some.server.soften, some.server.rounds) == (0.3, 80)
    assert many.features.text == "listed"
    order = [find_best_form(q) for q in (0.01, 0.1, 1, 3, 10, 100)]
    assert order == sorted(order, key=["encoder", "encoder+listed", "listed"].index)


def test_without_the_weights_everybody_gets_words() -> None:
    assert not is_encoder_installed()
    assert build(100, 8.0).features.text == "listed"
    assert "an encoder does better: install" in describe_text_choice(build(100, 2.0))


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("features", "text"),
    [
        ({"text": "listed"}, "listed"),
        ({"text": "binary"}, "binary"),
        ({"buckets": 700}, "listed"),
        ({"list": "de"}, "listed"),
        ({"counts": "sublinear"}, "listed"),
        ({"words": "unicode"}, "encoder+listed"),
        ({"text": ["encoder", "binary"]}, "encoder+binary"),
    ],
)
def test_a_plan_that_sets_words_keeps_them(features: dict[str, Any], text: str) -> None:
    assert build(100, 8.0, **features).features.text == text


@pytest.mark.usefixtures("installed")
def test_noise_of_clients_and_other_models_keep_words() -> None:
    tree = {
        "privacy": {"preset": "no_trust", "epsilon": 8.0},
        "data": {"source": "imdb", "clients": 100},
    }
    assert plans.parse(tree).features.text == "listed"
    table = {"source": "x.csv", "clients": 100, "columns": {"label": "y", "numeric": ["a"]}}
    assert not plans.parse({"privacy": {"epsilon": 8.0}, "data": table}).features.has_encoder


@pytest.mark.parametrize("clients", [100, 5000, 50_000])
def test_a_site_without_weights_reads_the_servers_choice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clients: int
) -> None:
    """A plan is sent without defaults; the preset must fill in the same on a machine that differs."""
    for here, there in (("on", "off"), ("off", "on")):
        monkeypatch.setenv("TACIT_ENCODER", here)
        chosen = build(clients, 2.0)
        (tmp_path / "sent.toml").write_text(plans.to_short_toml(chosen))
        monkeypatch.setenv("TACIT_ENCODER", there)
        assert plans.load(tmp_path / "sent.toml") == chosen


@pytest.mark.usefixtures("installed")
def test_the_plan_says_what_was_chosen_and_why() -> None:
    assert describe_text_choice(build(100, 2.0)) == (
        "texts are read through the encoder minilm: the preset's choice for 100 clients and epsilon"
        " 2 per run"
    )
    assert "the plan's choice" in describe_text_choice(build(50_000, 8.0, text="encoder"))
    assert describe_text_choice(Plan()) == ""


def test_lists_of_forms_are_one_name() -> None:
    with pytest.raises(PlanError, match=r"got 'encoder\+sequence'"):
        build(100, 8.0, text=["encoder", "sequence"])


def test_the_expected_range_holds_for_every_measured_cell() -> None:
    cells = read_cells()
    assert len(cells) > 40
    for cell in cells:
        found = expect_accuracy(cell["form"], cell["people"], cell["epsilon"])
        assert found
        assert found.low <= compute_share(cell) <= found.high, cell


def test_the_range_of_other_sets_holds_for_most_cells_of_a_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each set is left out in turn, so its cells are new to the range."""
    from tacit.plan.presets import expected_accuracy as module

    cells, inside, wrong = read_cells(), 0, []
    for name in sorted({cell["set"] for cell in cells}):
        monkeypatch.setattr(
            module, "read_cells", lambda name=name: [one for one in cells if one["set"] != name]
        )
        module._read_curves.cache_clear()
        for cell in cells:
            if cell["set"] != name:
                continue
            found = expect_accuracy(cell["form"], cell["people"], cell["epsilon"])
            if found is None:
                continue
            share = compute_share(cell)
            inside += found.low <= share <= found.high
            wrong.append(max(found.low - share, share - found.high, 0.0))
    monkeypatch.undo()
    module._read_curves.cache_clear()
    assert inside >= 0.7 * len(wrong)
    assert max(wrong) < 0.4


def test_fewer_people_or_less_epsilon_never_promise_more() -> None:
    for form in ("listed", "table"):
        found = [expect_accuracy(form, people, 1.0) for people in (2, 20, 100, 1000, 9000)]
        lows = [one.low for one in found if one]
        assert lows == sorted(lows)
    alone = expect_accuracy("listed", 2, 0.1)
    assert alone
    assert alone.high <= 0.15
    assert "close to chance" in alone.describe(2, 0.1)


def test_nothing_is_said_where_nothing_similar_was_measured() -> None:
    table = {"source": "x.csv", "clients": 100, "columns": {"label": "y", "numeric": ["a"]}}
    job = plans.parse({"privacy": {"epsilon": 8.0}, "data": table})
    assert describe_expectation(job, 2, 1, 100).startswith("with 100 clients at epsilon 8 per run")
    assert describe_expectation(job, 2, 5000, 100) == ""
    assert describe_expectation(job, 300, 1, 100) == ""
    assert describe_expectation(Plan(), 2, 1, 100) == ""
    own = plans.parse({"privacy": {"epsilon": 8.0}, "data": table, "codec": {"name": "gaussian"}})
    assert describe_expectation(own, 2, 1, 100) == ""
