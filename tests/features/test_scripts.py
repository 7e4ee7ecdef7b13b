import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import features
from tacit.features.text import listed_words, rolling_hash, scripts
from tacit.features.text.hashed_text import to_utf8
from tacit.plan import Columns, Features

TEXT = st.text(
    st.one_of(
        st.sampled_from("abZ01  .,'#_-\u2019"),
        st.sampled_from("яЖßİςΣ東京のカกข한🇩🇪👍🏽❤\ufe0f\u200d\u200b\u0301\u00a0\U00020000"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=200,
)
COLUMNS = Columns(text=("text",), label="label")


def presence(texts, buckets=5000):
    starts, columns = rolling_hash.find_buckets(
        *to_utf8(pl.Series(texts, dtype=pl.String)), rolling_hash.build_unicode_rule(buckets)
    )
    return [columns[starts[i] : starts[i + 1]].tolist() for i in range(len(texts))]


def expected(texts, buckets=5000):
    return [
        sorted({scripts.hash_to_bucket(word, buckets) for word in scripts.split_words(text)})
        for text in texts
    ]


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, max_size=6), st.sampled_from([2, 64, 5000, 1_000_000, 50_000_000]))
def test_presence_agrees_with_the_reference(texts, buckets):
    assert presence(texts, buckets) == expected(texts, buckets)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXT, max_size=6), st.integers(1, 20))
def test_sequence_agrees_with_the_reference(texts, length):
    matrix = rolling_hash.list_buckets(
        *to_utf8(pl.Series(texts, dtype=pl.String)), rolling_hash.build_unicode_rule(5000), length
    )
    wanted = [
        (
            [scripts.hash_to_bucket(word, 5000) for word in scripts.split_words(text)]
            + [5000] * length
        )[:length]
        for text in texts
    ]
    assert matrix.tolist() == wanted


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXT, max_size=6), st.lists(TEXT, min_size=1, max_size=6))
def test_listed_words_agree_with_the_reference(texts, ordered):
    known = listed_words.select_common_words(tuple(ordered), 50, unicode=True)
    if known:
        starts, columns = listed_words.find_listed_words(
            *to_utf8(pl.Series(texts, dtype=pl.String)), known, unicode=True
        )
        wanted = [
            sorted({known.index(word) for word in scripts.split_words(text) if word in known})
            for text in texts
        ]
        assert [columns[starts[i] : starts[i + 1]].tolist() for i in range(len(texts))] == wanted


def test_every_character_of_unicode_agrees_with_the_reference():
    characters = [
        chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point <= 0xDFFF
    ][::3]
    starts, columns = rolling_hash.find_buckets(
        *to_utf8(pl.Series([f"a{c}b" for c in characters])), rolling_hash.build_unicode_rule(5000)
    )
    for place, character in enumerate(characters):
        got = columns[starts[place] : starts[place + 1]].tolist()
        assert [got] == expected([f"a{character}b"]), hex(ord(character))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Don't DON\u2019T 'quoted'", ["dont", "dont", "quoted"]),
        ("в Москве — 12,5 °C", ["в", "москве", "12,5", "c"]),
        ("v2 3.14. 1,000; end.Next", ["v2", "3.14", "1,000", "end", "next"]),
        ("#1 C# ##tag # x", ["#1", "c", "#tag", "x"]),
        ("東京都に3つ カメラ", ["東京", "京都", "都に", "3", "つ", "カメラ"]),
        ("สวัสดี ครับ", ["สว", "วั", "ัส", "สด", "ดี", "คร", "รั", "ับ"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("مرحبا بالعالم हिन्दी", ["مرحبا", "بالعالم", "हिन्दी"]),
        ("I ❤\ufe0f you👍🏽👍🇩🇪!", ["i", "❤", "you", "👍", "👍", "🇩🇪"]),
        ("ΛΟΓΟΣ λόγος", ["λογοσ", "λόγοσ"]),
        ("🙂", ["🙂"]),
        ("… — \u200b !", []),
    ],
)
def test_words_of_the_whole_world(text, wanted):
    assert scripts.split_words(text) == wanted


def test_an_accent_after_its_letter_is_the_letter_with_it_and_rows_depend_on_themselves_alone():
    frame = pl.DataFrame(
        {"text": ["café", "cafe\u0301", "\u212b kelvin"], "label": ["a", "b", "a"]}
    )
    chosen = Features(words="unicode")
    rows = features.encode(frame, COLUMNS, chosen, features.fit(frame, COLUMNS, chosen)).inputs
    alone = features.encode(frame[2:], COLUMNS, chosen, features.fit(frame, COLUMNS, chosen)).inputs
    cells = [rows.columns[rows.starts[i] : rows.starts[i + 1]].tolist() for i in range(3)]
    assert cells[0] == cells[1] == [scripts.hash_to_bucket("café", 5000)]
    assert cells[2] == alone.columns.tolist()


def test_words_of_one_letter_and_long_ones_fall_everywhere():
    texts = [chr(point) for point in range(0x4E00, 0x9FA0)] + [
        "z" * length for length in range(1, 3000)
    ]
    filled = np.bincount(np.concatenate(presence(texts, 500)), minlength=500)
    assert filled.min() > 0
    assert filled.max() < 3 * filled.mean()
