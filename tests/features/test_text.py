import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tacit import features
from tacit.errors import DataError
from tacit.features import encode, fit, hash_to_bucket, split_words
from tacit.plan import Columns, Features
from tacit.report import phrasing

COLUMNS = Columns(text=("text",), label="label")


def rows(texts, settings=None, columns=COLUMNS):
    settings = settings or Features()
    frame = pl.DataFrame(
        {"text": pl.Series(texts, dtype=pl.String), "label": [i % 2 for i in range(len(texts))]}
    )
    fitted = fit(pl.DataFrame({"text": ["a", "b"], "label": [0, 1]}), columns, settings)
    return encode(frame, columns, settings, fitted)


def row(sparse, i):
    return sparse.columns[sparse.starts[i] : sparse.starts[i + 1]].tolist()


def test_text_alone_is_binary():
    inputs = rows(["cats and dogs and cats", None, "dog"]).inputs
    assert inputs.values is None
    assert inputs.width == 5000
    assert [row(inputs, i) for i in range(3)] == [[283, 3225, 4279], [], [2196]]


def test_sequence_is_padded_and_truncated():
    inputs = rows(["cats and dogs", "dog", ""], Features(text="sequence", length=2)).inputs
    assert inputs.tokens
    assert inputs.width == 5001
    assert inputs.matrix.tolist() == [[283, 4279], [2196, 5000], [5000, 5000]]


def test_text_columns_are_joined_by_a_space():
    frame = pl.DataFrame({"a": ["cats", None], "b": ["dogs", "and"], "label": [0, 1]})
    columns = Columns(text=("a", "b"), label="label")
    inputs = encode(frame, columns, Features(), fit(frame, columns, Features())).inputs
    assert [row(inputs, i) for i in range(2)] == [[283, 3225], [4279]]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *sorted(ENGLISH_STOP_WORDS)[:40],
                "nevertheless",
                "cat",
                "The",
                "t.h.e",
                "don't",
                "\u0130s",
            ]
        )
    ),
    st.sampled_from(" \u00a0\u3000"),
)
def test_stop_words_go_and_nothing_else_moves(chosen, space):
    text = space.join(chosen)
    kept = [
        hash_to_bucket(word, 31, 5000)
        for word in split_words(text)
        if word not in ENGLISH_STOP_WORDS
    ]
    matrix = rows(
        ["the", text, "cats"], Features(text="sequence", length=50, stop_words=True)
    ).inputs.matrix
    assert matrix[1].tolist() == (kept + [5000] * 50)[:50]
    assert matrix[0].tolist() == [5000] * 50
    assert matrix[2, 0] == 283


def test_stop_words_fit_the_code():
    assert max(map(len, ENGLISH_STOP_WORDS)) <= 12
    assert all(split_words(word) == [word] for word in ENGLISH_STOP_WORDS)


def test_a_column_of_numbers_is_no_text():
    frame = pl.DataFrame({"text": [1, 2], "label": [0, 1]})
    with pytest.raises(
        DataError, match=r"features\(text='text'\): the column holds Int64, not text"
    ):
        encode(frame, COLUMNS, Features(), fit(frame, COLUMNS, Features()))


def test_categorical_columns_are_text():
    frame = pl.DataFrame(
        {"text": pl.Series(["dog", "cats"], dtype=pl.Categorical), "label": [0, 1]}
    )
    assert row(encode(frame, COLUMNS, Features(), fit(frame, COLUMNS, Features())).inputs, 0) == [
        2196
    ]


def test_texts_without_words_are_counted_and_told():
    frame = pl.DataFrame(
        {"text": ["кот", "a cat", "…", ""], "age": [1, 2, 3, 4], "label": ["a", "b", "a", "b"]}
    )
    columns = Columns(text=("text",), numeric=("age",), label="label")
    for rule, expected in (("letters", 3), ("unicode", 2)):
        for text in ("binary", "sequence", "listed"):
            chosen = Features(
                words=rule, text=text, buckets=50, list="en" if text == "listed" else None
            )
            fitted = features.fit(frame, columns, chosen, ordered=("cat", "кот", "of"))
            rows = features.encode(frame, columns, chosen, fitted)
            assert features.count_wordless_rows(rows, columns, chosen, fitted) == expected
        assert features.count_wordless_texts(frame, columns, Features(words=rule)) == expected
    assert phrasing.warn_of_wordless_texts(5, 100) == ""
    assert "6 of 100 texts (6%)" in phrasing.warn_of_wordless_texts(6, 100)
