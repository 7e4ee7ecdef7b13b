"""Plans survive a round trip, and overrides say what they change."""

import pytest

from tacit import plan
from tacit.errors import PlanError


def test_a_plan_written_out_reads_back_the_same(tmp_path) -> None:
    made = plan.parse(
        {"data": {"source": "a.csv", "columns": {"text": ['he said "hi" 😀', "b.c"], "label": "y"}}, "baselines": ["central"]}
    )
    path = tmp_path / "plan.toml"
    path.write_text(plan.to_toml(made), encoding="utf-8")
    assert plan.load(path) == made
    assert plan.parse(plan.dump(made)) == made


@pytest.mark.parametrize(("override", "get", "value"), [
    ("codec.epsilon=3", lambda p: p.codec.epsilon, 3.0), ("server.rounds=7", lambda p: p.server.rounds, 7),
    ("engine.workers=1", lambda p: p.engine.workers, 1), ("data.source=imdb", lambda p: p.data.source, "imdb"),
    ("model.hidden=[3,4]", lambda p: p.model.hidden, (3, 4)), ("seed=9", lambda p: p.seed, 9),
])  # fmt: skip
def test_overrides(tmp_path, override, get, value) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('[codec]\nname = "rr"\nepsilon = 1\nclip = 0.1\n[model]\nname = "mlp"\nhidden = [2]\n')
    assert get(plan.load(path, [override])) == value


@pytest.mark.parametrize("override", ["codec.epsilon", "=3", "seed.deep=1"])
def test_malformed_overrides(tmp_path, override) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("seed = 1\n")
    with pytest.raises(PlanError, match=r"-o "):
        plan.load(path, [override])


def test_a_missing_plan_says_how_to_get_one(tmp_path) -> None:
    with pytest.raises(PlanError, match="tacit init"):
        plan.load(tmp_path / "none.toml")


def test_a_table_given_as_a_plan_is_told_the_way(tmp_path) -> None:
    (tmp_path / "my.csv").write_text("a,b\n1,2\n")
    with pytest.raises(PlanError, match="tacit init --from"):
        plan.load(tmp_path / "my.csv")
