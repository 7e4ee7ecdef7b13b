"""Whether there are people enough for an epsilon: the same noise as the codec's, and advice that helps."""

from __future__ import annotations

import math

import pytest

from tacit import codecs
from tacit.plan import parse
from tacit.plan.presets.enough_people import NoisyRounds, noisy_rounds


def noise(epsilon: float, weights: int = 5000, rounds: int = 40) -> NoisyRounds:
    return NoisyRounds(epsilon=epsilon, delta=1e-5, rounds=rounds, weights=weights)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_noise_is_the_codecs_own(epsilon: float) -> None:
    plan = parse({"privacy": {"preset": "private", "epsilon": epsilon}, "data": {"clients": 300}})
    found = noisy_rounds(plan, 5000)
    assert found is not None
    made = codecs.build(plan.codec, codecs.Extent.of(plan, 300))
    assert made.known_noise is not None
    assert found.noise_over_updates(300) == pytest.approx(
        made.known_noise(5000) * math.sqrt(5000) / 300, rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
@pytest.mark.parametrize("people", [50, 600])
def test_as_many_people_as_it_says_or_such_an_epsilon_are_enough(
    epsilon: float, people: int
) -> None:
    found = noise(epsilon, weights=60)
    enough = found.people_needed()
    assert found.describe_few(enough) == ""
    assert found.describe_few(enough - 1) != ""
    least = found.epsilon_needed(people)
    assert noise(least, weights=60).describe_few(people) == ""
    assert noise(0.9 * least, weights=60).describe_few(people) != ""


def test_the_sentence_names_the_number_and_the_epsilon_that_would_do() -> None:
    said = noise(1.0, weights=12).describe_few(50)
    assert said.startswith("50 clients are too few for epsilon 1 per run")
    assert "About 82 clients, or epsilon 1.8 per run, would be enough" in said


def test_an_epsilon_that_promises_nothing_is_not_suggested() -> None:
    assert ", or epsilon" not in noise(1.0).describe_few(50)


def test_codecs_whose_epsilon_is_not_of_a_run_have_no_such_number() -> None:
    assert noisy_rounds(parse({"codec": {"name": "rr", "epsilon": 1.0, "clip": 0.1}}), 100) is None
    assert noisy_rounds(parse({"codec": {"name": "plain"}}), 100) is None
