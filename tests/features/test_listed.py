import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import features
from tacit.errors import PlanError
from tacit.features.row_norm import append_constant, scale_to_norm
from tacit.features.text import listed_words
from tacit.features.text.hashed_text import to_utf8
from tacit.plan import Columns, Features
from tacit.rows import Dense, Sparse

LIST = ("the", "a", "film", "it's", "its", "GOOD", "bad", "2", "extraordinarilylongword" * 4)
FRAME = pl.DataFrame(
    {
        "text": ["A good, GOOD film!", "nothing known", "it's the bad film"],
        "label": ["yes", "no", "no"],
    }
)
SHORT = (
    "a",
    "b",
    "c",
    "ab",
    "ba",
    "cc",
    "aabb",
    *("".join(three) for three in itertools.product("abc", repeat=3)),
)
COLUMNS = Columns(text=("text",), label="label")


def settings_of(**keys):
    return Features(text="listed", list="en", buckets=100, **keys)


def encoded(**keys):
    fitted = features.fit(FRAME, COLUMNS, settings_of(**keys), ordered=LIST)
    return features.encode(FRAME, COLUMNS, settings_of(**keys), fitted).inputs, fitted


def test_a_list_is_spelled_as_texts_are_and_cut():
    assert listed_words.select_common_words(LIST, 5) == ("the", "a", "film", "its", "good")
    assert listed_words.select_common_words(LIST, 100)[-1] == "extraordinarilylongword" * 4


def test_rows_name_the_listed_words_of_a_text():
    rows, fitted = encoded()
    assert rows.values is None
    assert [[fitted.words[c] for c in rows.columns[rows.starts[i] : rows.starts[i + 1]]] for i in range(3)] == [
        ["a", "film", "good"], [], ["the", "film", "its", "bad"],
    ]  # fmt: skip
    assert features.count_inputs(COLUMNS, settings_of(), fitted) == rows.width == len(fitted.words)
    assert fitted.released == ()


def test_fitted_words_survive_json():
    _, fitted = encoded()
    assert features.Fitted.from_dict(fitted.to_dict()) == fitted


def test_rare_words_weigh_more_and_rows_have_one_length():
    rows, fitted = encoded(rarity=0.3, row_norm=1.0, constant=0.1)
    assert rows.width == len(fitted.words) + 1
    first = rows.values[rows.starts[0] : rows.starts[1]]
    assert first[-1] == np.float32(0.1)
    assert list(first[:-1]) == sorted(first[:-1])
    assert np.linalg.norm(first[:-1]) == pytest.approx(1.0)
    assert rows.values[rows.starts[1] : rows.starts[2]].tolist() == [np.float32(0.1)]


def test_the_weight_of_a_word_follows_its_rank_alone():
    weights = listed_words.compute_rarity(1000, 0.3)
    assert weights[0] == pytest.approx((1 - np.exp(-23 / 2.7)) ** -0.3)
    assert weights[999] == pytest.approx((1 - np.exp(-23 / 1001.7)) ** -0.3)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("abc .'é\n"), max_size=40), max_size=5), st.integers(1, 60))
def test_lookup_agrees_with_a_dictionary(texts, count):
    words = listed_words.select_common_words(SHORT, count)
    starts, columns = listed_words.find_listed_words(
        *to_utf8(pl.Series(texts, dtype=pl.String)), words
    )
    number = {word: place for place, word in enumerate(words)}
    expected = [
        sorted({number[word] for word in features.split_words(text) if word in number})
        for text in texts
    ]
    assert [columns[starts[i] : starts[i + 1]].tolist() for i in range(len(texts))] == expected


def test_a_list_without_letters_is_refused():
    with pytest.raises(PlanError, match="none of its 2 words has letters a-z"):
        features.fit(FRAME, COLUMNS, settings_of(), ordered=("1", "!"))


def test_dense_and_sparse_rows_are_scaled_alike():
    matrix = np.array([[3, 0, 4], [0, 0, 0]], np.float32)
    sparse = Sparse(
        starts=np.array([0, 2, 2]),
        columns=np.array([0, 2], np.int32),
        values=np.array([3, 4], np.float32),
        width=3,
    )
    dense = append_constant(scale_to_norm(Dense(matrix=matrix, width=3), 2.0), 0.5)
    rows = append_constant(scale_to_norm(sparse, 2.0), 0.5)
    np.testing.assert_allclose(dense.matrix, [[1.2, 0, 1.6, 0.5], [0, 0, 0, 0.5]])
    np.testing.assert_allclose(rows.values, [1.2, 1.6, 0.5, 0.5])
    assert rows.columns.tolist() == [0, 2, 3, 3]
    assert rows.starts.tolist() == [0, 3, 4]
