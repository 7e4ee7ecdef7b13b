"""Plans survive a round trip, and overrides say what they change."""

import numpy as np
import pytest

import tacit
from tacit import codecs, plan
from tacit.errors import PlanError


def test_a_plan_written_out_reads_back_the_same(tmp_path) -> None:
    made = plan.parse(
        {
            "data": {
                "source": "a.csv",
                "columns": {"text": ['he said "hi" 😀', "b.c"], "label": "y"},
            },
            "baselines": ["central"],
        }
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
    path.write_text(
        '[codec]\nname = "rr"\nepsilon = 1\nclip = 0.1\n[model]\nname = "mlp"\nhidden = [2]\n'
    )
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


def test_a_baseline_of_earlier_plans_has_its_new_name() -> None:
    assert plan.parse({"baselines": ["local"]}).baselines == ("local_only",)


def test_a_codec_or_model_without_a_name_is_the_default() -> None:
    assert plan.parse({"codec": {"epsilon": 2, "clip": 0.1}}).codec == plan.RR(
        epsilon=2.0, clip=0.1
    )
    assert plan.parse({"model": {}}).model == plan.Logistic()


def test_every_table_can_be_made_from_the_package() -> None:
    for name in plan.__all__:
        if isinstance(getattr(plan, name), type):
            assert getattr(tacit, name) is getattr(plan, name)


def test_the_smallest_epsilon_leaves_a_signal() -> None:
    """Below it the integer threshold is exactly one half, and decoding divides by zero."""
    for settings in (plan.RR(epsilon=1e-9, clip=1.0), plan.RRSampled(epsilon=1e-9, clip=1.0)):
        assert np.isfinite(codecs.build(settings).variance(np.zeros(4, np.float32))).all()
