"""Another plan from a plan: what a preset fills in follows; a plan of which only one table was replaced is refused."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import tacit
from tacit.errors import PlanError
from tacit.plan import Plan, check, load, parse
from tacit.plan.presets.starter import EXAMPLE, starter_text

ROLES = {"post": "text", "age": "numeric", "town": "categorical", "label": "label"}
PLANS = {
    "example": EXAMPLE,
    "init": starter_text(ROLES, "my.csv", 900, 0, "my", "plan.toml"),
    "init, owners": starter_text({**ROLES, "who": "client"}, "my.csv", 900, 70, "my", "plan.toml"),
    "init, one bit": starter_text(ROLES, "my.csv", 900, 0, "my", "plan.toml", one_bit=100),
    "no trust": '[privacy]\npreset = "no_trust"\nepsilon = 2.0\n[data]\nclients = 300\n',
    "own settings": (
        "[privacy]\nepsilon = 2.0\n[data]\nclients = 300\n[server]\nlr = 1.0\n[codec]\nname ="
        ' "skellam"\n'
    ),
    "paper": '[privacy]\npreset = "paper:rr-ldp"\n',
    "codec with its defaults": (
        '[codec]\nname = "gaussian"\nepsilon = 1.0\ndelta = 1e-5\nclip = 0.001\n'
    ),
    "other model": '[privacy]\nepsilon = 2.0\n[model]\nname = "mlp"\nhidden = [8]\n',
}
CHANGES = [
    "data.clients=50",
    "privacy.epsilon=1",
    "server.rounds=7",
    "seed=3",
    "features.text=binary",
    "codec.name=plain",
]


@pytest.mark.parametrize("name", PLANS)
def test_nothing_changed_is_the_same_plan(name: str) -> None:
    plan = parse(tomllib.loads(PLANS[name]))
    assert plan.with_settings() == plan


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("setting", CHANGES)
def test_a_changed_plan_is_the_one_its_file_would_give(
    name: str, setting: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLANS[name])
    try:
        wanted: Plan | None = load(path, [setting])
    except PlanError:
        wanted = None
    if wanted is None:
        with pytest.raises(PlanError):
            load(path).with_settings(setting)
    else:
        assert load(path).with_settings(setting) == wanted


def test_settings_made_for_another_number_of_clients_are_refused() -> None:
    plan = parse(tomllib.loads(PLANS["init"]))
    stale = replace(plan, data=replace(plan.data, clients=50))
    with pytest.raises(
        PlanError,
        match=(
            r"computed for 900 clients, but data.clients = 50; plan.with_settings\('data.clients=50'\)"
        ),
    ):
        check(stale)
    check(plan.with_settings("data.clients=50"))


def test_settings_made_for_another_epsilon_are_refused_and_nobody_is_told_to_give_privacy_up() -> (
    None
):
    plan = parse(tomllib.loads(PLANS["init"]))
    assert plan.privacy is not None
    with pytest.raises(PlanError, match=r"change privacy\.epsilon") as refusal:
        check(replace(plan, privacy=replace(plan.privacy, epsilon=1.0)))
    assert "none" not in str(refusal.value)
    assert plan.with_settings("privacy.epsilon=1").codec.epsilon == 1.0  # type: ignore[union-attr]


def test_none_takes_a_key_away() -> None:
    plan = parse(
        {"privacy": {"preset": "private", "epsilon": 1.0}, "data": {"clients": 900, "limit": 10}}
    )
    assert plan.with_settings("data.limit=none").data.limit is None
    assert plan.with_settings("privacy.epsilon=none").privacy.epsilon == 8.0  # type: ignore[union-attr]


@pytest.mark.parametrize("model", [["model.name=mlp", "model.hidden=[8]"], ["model.name=net:Own"]])
def test_another_model_reads_rows_as_the_starter_said(model):
    numbers = [{"age": 20 + n % 50, "bought": ("no", "yes")[n % 50 > 25]} for n in range(100)]
    texts = [{"post": f"some words here {n}", "kind": ("a", "b")[n % 2]} for n in range(100)]
    for rows, label in ((numbers, "bought"), (texts, "kind")):
        starter = tacit.starter_plan(rows, label=label)
        before, after = starter.features, starter.with_settings(*model).features
        assert (after.numeric, after.text, after.list, after.words) == (
            before.numeric,
            before.text,
            before.list,
            before.words,
        )
