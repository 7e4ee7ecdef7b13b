"""Every combination of some settings, or one refusal that names all that cannot run."""

from pathlib import Path

import pytest

from tacit.errors import PlanError
from tacit.plan.grid import MOST_PLANS, grid


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text('seed = 7\n[codec]\nname = "rr"\nepsilon = 1.0\nclip = 0.01\n')
    return file


def test_all_combinations_in_the_order_of_typing_with_every_seed(path: Path) -> None:
    points = grid(
        path,
        ["codec.epsilon=0.5,2", "data.clients=20, 30"],
        seeds=[1, 2],
        overrides=["server.rounds=3"],
    )
    assert [point.settings for point in points] == [
        {"codec.epsilon": epsilon, "data.clients": clients}
        for epsilon in ("0.5", "2")
        for clients in ("20", "30")
    ]
    assert [(plan.seed, plan.codec.epsilon, plan.data.clients, plan.server.rounds) for plan in points[1].plans] == [
        (1, 0.5, 30, 3), (2, 0.5, 30, 3),
    ]  # fmt: skip
    assert points[1].title == "codec.epsilon=0.5, data.clients=30"


def test_without_seeds_or_values_the_plan_is_taken_as_it_is(path: Path) -> None:
    (point,) = grid(path, [])
    assert [plan.seed for plan in point.plans] == [7]
    assert point.title == "the plan as it is"


def test_commas_in_brackets_and_quotes_belong_to_a_value(path: Path) -> None:
    points = grid(path, ["model.hidden=[8],[16, 4]", "name='a,b',c"], overrides=["model.name=mlp"])
    assert [(point.plans[0].model.hidden, point.plans[0].name) for point in points] == [
        ((8,), "a,b"), ((8,), "c"), ((16, 4), "a,b"), ((16, 4), "c"),
    ]  # fmt: skip


def test_a_problem_of_all_is_said_once_and_one_of_some_with_their_names(path: Path) -> None:
    with pytest.raises(PlanError) as refused:
        grid(path, ["codec.epsilo=1,2"])
    assert str(refused.value).count("codec.epsilo: unknown key") == 1
    assert "Did you mean 'epsilon'" in str(refused.value)
    with pytest.raises(
        PlanError, match="1 of 3 combinations cannot run, so no run was started"
    ) as refused:
        grid(path, ["codec.epsilon=1,many,2"], seeds=[1, 2])
    assert "must be a number, got 'many' (codec.epsilon=many)" in str(refused.value)
    with pytest.raises(
        PlanError, match=r"server.cohort_size must be .*\(data.clients=2, server.cohort_size=5\)"
    ):
        grid(path, ["data.clients=2,20", "server.cohort_size=5"], overrides=["server.cohort=count"])


@pytest.mark.parametrize(
    ("over", "seeds", "said"),
    [
        (["codec.epsilon"], [], "must have the form table.key=value,value"),
        (["codec.epsilon="], [], "must have the form table.key=value,value"),
        (["=1,2"], [], "must have the form table.key=value,value"),
        (["codec.epsilon=1", "codec.epsilon=2"], [], "codec.epsilon is given twice"),
        (["seed=1,2"], [], "seeds are not compared but averaged; use --seeds 1,2"),
        (["codec.epsilon=1,1.0"], [], "codec.epsilon=1 and codec.epsilon=1.0 are the same plan"),
        (["codec.epsilon=1,2"], [3, 3], "--seeds must be distinct, got 3,3"),
        (
            [f"data.clients={','.join(map(str, range(1, MOST_PLANS + 2)))}"],
            [],
            "a sweep has at most 1,000 runs, got 1,001",
        ),
    ],
)
def test_what_makes_no_grid_is_refused(
    path: Path, over: list[str], seeds: list[int], said: str
) -> None:
    with pytest.raises(PlanError, match=r"--over|--seeds") as refused:
        grid(path, over, seeds)
    assert said in str(refused.value)
