import doctest

import pytest

from tacit.features import hash_to_bucket, split_words
from tacit.features.text import spelling


def test_doctests():
    assert doctest.testmod(spelling).failed == 0


def test_vectors_of_the_paper():
    assert hash_to_bucket("dog", 31, 5000) == 2196
    assert [hash_to_bucket(word, 31, 5000) for word in split_words("Cats and DOGS!")] == [
        283,
        4279,
        3225,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n ", []),
        ("123 !?", []),
        ("don't", ["dont"]),
        ("a\0b\0", ["ab"]),
        ("caf\u00c9", ["caf"]),
        ("\u0130stanbul \u212aelvin", ["istanbul", "kelvin"]),
        ("one\u00a0two\u3000three\u200bfour", ["one", "two", "threefour"]),
        ("\u732b\U0001f408", []),
    ],
)
def test_what_a_word_is(text, expected):
    assert split_words(text) == expected


def test_bucket_is_the_sum_from_i_zero():
    word, base, buckets = "zebra", 1_000_003, 49_999_991
    assert (
        hash_to_bucket(word, base, buckets)
        == sum((ord(c) - 96) * base**i for i, c in enumerate(word)) % buckets
    )
