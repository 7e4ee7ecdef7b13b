"""Cohorts, weights, server steps, stopping and figures."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from tacit import plan, server, training
from tacit.randomness import Draws
from tests import seeds


def test_cohorts_are_sorted_repeatable_and_of_the_right_size() -> None:
    settings = plan.Server(cohort="count", cohort_size=10)
    one, again, other = (
        server.choose_cohort(settings, 100, Draws.seeded(0).at(n)) for n in (1, 1, 2)
    )
    assert len(one) == 10
    assert (np.diff(one) > 0).all()
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(
        server.choose_cohort(plan.Server(), 5, Draws.seeded(0)), np.arange(5)
    )


@pytest.mark.statistical
def test_poisson_cohorts_have_the_expected_mean() -> None:
    """500 cohorts, whose mean size is off by more with a probability of 5e-7; their spread is 4.2, good to .14."""
    settings = plan.Server(cohort="poisson", cohort_size=20)
    sizes = [len(server.choose_cohort(settings, 200, seeds.draws(0).at(n))) for n in range(500)]
    assert np.mean(sizes) == pytest.approx(20, abs=seeds.deviations() * np.sqrt(18 / 500))
    assert np.std(sizes) > 2


@pytest.mark.parametrize(
    ("weights", "cap", "expected"),
    [("equal", None, [1, 1, 1]), ("rows", None, [3, 50, 7]), ("capped", 10, [3, 10, 7])],
)
def test_weights(weights, cap, expected) -> None:
    got = training.compute_weights(
        plan.Server(weights=weights, weight_cap=cap), np.array([3, 50, 7])
    )
    assert got.tolist() == expected


def test_sgd_with_rate_one_is_plain_averaging() -> None:
    model, update = np.ones(4, np.float32), np.full(4, 0.5, np.float32)
    after, state = server.build_optimizer(plan.Server()).update(model, update, {})
    assert after.tolist() == [1.5] * 4
    assert state == {}


def test_stopping_waits_for_patience() -> None:
    assert not server.should_stop([1.0, 0.9, 0.95, 0.93], 3)
    assert server.should_stop([1.0, 0.9, 0.95, 0.93, 0.91], 3)
    assert not server.should_stop([1.0] * 50, None)


def test_figures_for_two_classes() -> None:
    figures = server.measure(
        np.array([[2.0], [-1.0], [0.5], [-3.0]], np.float32), np.array([1, 0, 0, 0], np.int32)
    )
    assert figures["auc"] == 1.0
    assert figures["accuracy"] == 0.75
    assert figures["f1"] == pytest.approx(2 / 3)


def test_figures_for_many_classes_agree_with_scikit_learn() -> None:
    random = np.random.default_rng(0)
    logits, labels = (
        random.normal(size=(50, 4)).astype(np.float32),
        random.integers(0, 4, 50).astype(np.int32),
    )
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert server.measure(logits, labels)["loss"] == pytest.approx(
        log_loss(labels, shares, labels=range(4)), rel=1e-5
    )


def test_the_auc_of_many_classes_is_the_mean_of_each_against_the_rest_with_ties_and_a_class_that_is_missing() -> (
    None
):
    draw = np.random.default_rng(2)
    logits, labels = (
        draw.integers(-3, 4, (200, 4)).astype(np.float32),
        draw.integers(0, 3, 200).astype(np.int32),
    )
    shares = logits.astype(np.float64) - np.logaddexp.reduce(
        logits.astype(np.float64), axis=1, keepdims=True
    )
    alone = [roc_auc_score(labels == label, shares[:, label]) for label in range(3)]
    assert server.measure(logits, labels)["auc"] == pytest.approx(np.mean(alone), abs=1e-12)


@pytest.mark.parametrize("classes", [2, 5])
def test_auc_and_f1_are_those_of_scikit_learn(classes: int) -> None:
    draw = np.random.default_rng(3)
    for present in (classes, 2):
        labels = draw.integers(0, present, 300).astype(np.int32)
        logits = draw.integers(-3, 4, (300, 1 if classes == 2 else classes)).astype(np.float32)
        found, guess = (
            server.measure(logits, labels),
            (logits[:, 0] > 0 if classes == 2 else logits.argmax(1)),
        )
        kind = "binary" if classes == 2 else "macro"
        assert found["f1"] == pytest.approx(
            f1_score(labels, guess, average=kind, zero_division=0.0), abs=1e-12
        )
        if classes == 2:
            assert found["auc"] == pytest.approx(roc_auc_score(labels, logits[:, 0]), abs=1e-12)


def test_a_class_that_is_neither_there_nor_guessed_has_no_f1() -> None:
    assert server.measure(-np.ones((3, 1), np.float32), np.zeros(3, np.int32))["f1"] == 0.0


def test_a_test_set_of_one_class_has_a_defined_auc() -> None:
    assert server.measure(np.zeros((3, 1), np.float32), np.ones(3, np.int32))["auc"] == 0.5
