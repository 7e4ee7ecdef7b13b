import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features import hash_to_bucket, split_words
from tacit.features.text import rolling_hash
from tacit.features.text.hashed_text import to_utf8

TEXT = st.text(
    st.one_of(
        st.sampled_from("abzABZ  \t\n.'0"),
        st.sampled_from("\u0130\u212a\u00c9\u00a0\u2009\u3000\u1680\u200b\x85\0\x1c"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=300,
)
BASES = st.one_of(st.just(31), st.integers(2, 1_000_003))
BUCKETS = st.one_of(
    st.sampled_from([2, 63, 64, 65, 4096, 4097, 5000, 1_000_000, 50_000_000]),
    st.integers(2, 100_000),
)


def presence(texts, base=31, buckets=5000):
    starts, columns = rolling_hash.find_buckets(
        *to_utf8(pl.Series(texts, dtype=pl.String)), rolling_hash.build_latin_rule(base, buckets)
    )
    assert starts.dtype == np.int64
    assert columns.dtype == np.int32
    return [columns[starts[i] : starts[i + 1]].tolist() for i in range(len(texts))]


def expected_presence(texts, base=31, buckets=5000):
    return [
        sorted({hash_to_bucket(word, base, buckets) for word in split_words(text)})
        for text in texts
    ]


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, max_size=6), BASES, BUCKETS)
def test_presence_agrees_with_the_reference(texts, base, buckets):
    assert presence(texts, base, buckets) == expected_presence(texts, base, buckets)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXT, max_size=6), BASES, BUCKETS, st.integers(1, 20))
def test_sequence_agrees_with_the_reference(texts, base, buckets, length):
    matrix = rolling_hash.list_buckets(
        *to_utf8(pl.Series(texts, dtype=pl.String)),
        rolling_hash.build_latin_rule(base, buckets),
        length,
    )
    expected = [
        ([hash_to_bucket(word, base, buckets) for word in split_words(text)] + [buckets] * length)[
            :length
        ]
        for text in texts
    ]
    assert matrix.dtype == np.int32
    assert matrix.shape == (len(texts), length)
    assert matrix.tolist() == expected


def test_every_character_of_unicode_agrees_with_the_reference():
    characters = [
        chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point <= 0xDFFF
    ]
    starts, columns = rolling_hash.find_buckets(
        *to_utf8(pl.Series([f"a{c}b" for c in characters])), rolling_hash.build_latin_rule(31, 5000)
    )
    # Nearly all are deleted and leave "ab"; no letter between the two gives that bucket.
    deleted = (np.diff(starts) == 1) & (columns[starts[:-1]] == hash_to_bucket("ab", 31, 5000))
    for place, character in enumerate(characters):
        if deleted[place]:
            assert split_words(f"a{character}b") == ["ab"]
        else:
            got = columns[starts[place] : starts[place + 1]].tolist()
            assert [got] == expected_presence([f"a{character}b"])


@pytest.mark.parametrize("letters", [1, 12, 63, 64, 65, 66, 127, 128, 129, 1000])
@pytest.mark.parametrize("ending", ["", " ", ".", "\u00a0x", "\u212a", "-y"])
def test_long_words_stay_exact(letters, ending):
    for base, buckets in [(31, 5000), (1_000_003, 50_000_000)]:
        text = "z" * letters + ending
        assert presence([text, "dog"], base, buckets) == expected_presence(
            [text, "dog"], base, buckets
        )


def test_ten_megabytes_in_one_document_beside_small_ones():
    many = "cats and dogs \u00e9 " * 600_000
    one_word = "z" * 10_000_000
    texts = ["dog", many, one_word, ""]
    assert sum(len(text) for text in texts) > 18_000_000
    # The sum of 26 * 31^i is geometric; dividing by 30 needs the power modulo 30 * 5000.
    geometric = 26 * ((pow(31, 10_000_000, 30 * 5000) - 1) // 30) % 5000
    assert presence(texts) == [[2196], sorted([283, 4279, 3225]), [geometric], []]


def test_no_text_and_empty_texts():
    assert presence([]) == []
    assert presence([""]) == [[]]
    assert presence(["", "\0\0", "123", "  "]) == [[], [], [], []]
    assert rolling_hash.list_buckets(
        *to_utf8(pl.Series([], dtype=pl.String)), rolling_hash.build_latin_rule(31, 10), 4
    ).shape == (0, 4)


def test_slices_and_chunks_of_a_column_read_their_own_rows():
    column = pl.concat([pl.Series(["cats", "and"]), pl.Series(["dogs", "dog"])], rechunk=False)
    starts, columns = rolling_hash.find_buckets(
        *to_utf8(column.slice(1, 3)), rolling_hash.build_latin_rule(31, 5000)
    )
    assert columns.tolist() == [4279, 3225, 2196]
    assert starts.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("buckets", [1_000_000, 50_000_000])
def test_many_buckets_with_few_and_many_words(buckets):
    spoken = " ".join(
        f"{a}{b}{c}x{c}{b}{a}" for a in "abcdefghij" for b in "klmno" for c in "pqrstuvwxyz"
    )
    texts = ["dog", spoken, "", "dogs and cats and dogs"] * 3
    assert presence(texts, 31, buckets) == expected_presence(texts, 31, buckets)


def test_nothing_is_left_over_between_calls():
    first = presence(["cats and dogs"] * 3, 31, 5000)
    assert presence(["cats and dogs"] * 3, 31, 5000) == first
    assert presence(["dog"], 31, 5000) == [[2196]]
