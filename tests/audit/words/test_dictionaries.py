"""Counting and deciphering, on words whose answers are known."""

import numpy as np
import pytest

from tacit.audit.words.dictionaries import (
    Dictionary,
    average_scores,
    find_inside_span,
    find_nearest,
    match_by_frequency_and_shape,
    score,
    shuffle_dictionary,
)


@pytest.fixture
def table() -> Dictionary:
    vectors = np.random.default_rng(0).standard_normal((400, 30)).astype(np.float32)
    return Dictionary(tuple(f"w{number}" for number in range(400)), vectors)


def test_tokens_are_counted_as_often_as_they_stand() -> None:
    found = score(["a", "a", "b", "7"], ["a", "b", "b", "c"])
    assert found.recall == pytest.approx(2 / 4)
    assert found.precision == pytest.approx(2 / 4)
    assert found.digits == 0


def test_texts_without_digits_do_not_count_for_digits() -> None:
    both = average_scores([score(["a"], ["a"]), score(["7"], ["7"])])
    assert both.digits == 1
    assert both.recall == 1


def test_nearest_reads_vectors_with_some_noise(table) -> None:
    noise = np.random.default_rng(1).standard_normal((400, 30)).astype(np.float32)
    assert find_nearest(table.vectors + 0.2 * noise, table) == list(table.words)


def test_the_span_of_a_few_words_holds_those_words_and_no_others(table) -> None:
    basis = np.linalg.qr(table.vectors[[3, 50, 7]].T)[0].T.astype(np.float32)
    assert find_inside_span(basis, table, 4)[3] == "w3", (
        "the most frequent word fills the place that is left"
    )
    assert set(find_inside_span(basis, table, 10)) == {"w3", "w50", "w7"}


def test_a_shuffled_table_reads_nothing(table) -> None:
    wrong = shuffle_dictionary(table, np.random.default_rng(2))
    right = sum(
        a == b for a, b in zip(find_nearest(table.vectors, wrong), table.words, strict=True)
    )
    assert right < 10


def test_a_rotated_table_is_deciphered_by_frequency_and_shape(table) -> None:
    """A rotation alone hides nothing from an attacker who collects the vectors and knows how often words occur."""
    random = np.random.default_rng(3)
    rotation = np.linalg.qr(random.standard_normal((30, 30)))[0].astype(np.float32)
    share = 1 / (1 + np.arange(400.0)) ** 1.1
    stream = random.choice(400, 200_000, p=share / share.sum())
    names = match_by_frequency_and_shape(stream, table.vectors @ rotation, table)
    assert np.mean([a == b for a, b in zip(names, table.words, strict=True)]) > 0.9


def test_random_vectors_stay_unnamed(table) -> None:
    random = np.random.default_rng(4)
    stream = random.integers(0, 400, 20_000)
    names = match_by_frequency_and_shape(
        stream, random.standard_normal((400, 30)).astype(np.float32), table
    )
    assert np.mean([a == b for a, b in zip(names, table.words, strict=True)]) < 0.05
