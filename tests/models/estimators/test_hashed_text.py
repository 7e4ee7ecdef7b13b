"""Hashed text as a transformer: no state, no vocabulary, one row per text."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import tacit
from tacit import features
from tacit import plan as plans
from tacit.features import hash_to_bucket, split_words
from tacit.plan import Features

TEXTS = ["Cats and dogs", "", "dogs, dogs!"]


SETTINGS = [
    {},
    {"buckets": 700, "base": 37},
    {"stop_words": True, "counts": "counts"},
    {"words": "unicode", "ngrams": 2, "counts": "sublinear"},
    {"words": "unicode", "characters": (3, 4)},
]


def test_its_defaults_are_those_of_a_plan() -> None:
    of_a_plan = Features()
    for name, value in tacit.HashedText().get_params().items():
        assert value == getattr(of_a_plan, name), name


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_plan_gives_equal_features(settings) -> None:
    """The rows that a run trains on, made from a plan's tables, against the class."""
    texts = ["Cats and dogs", "the DOGS, don't!", "été 2024 😀", "", "dogs dogs dogs"]
    rows = [{"text": text, "label": n % 2} for n, text in enumerate(texts)]
    job = plans.parse(
        {"features": settings, "data": {"columns": {"text": "text", "label": "label"}}}
    )
    columns = job.data.columns
    frame = pl.DataFrame(rows).with_columns(pl.col("label").cast(pl.String))
    fitted = features.fit(frame, columns, job.features)
    of_a_run = features.encode(frame, columns, job.features, fitted).inputs
    ours = tacit.HashedText(**settings).transform(texts)
    dense = np.zeros(ours.shape, np.float32)
    for row, (start, end) in enumerate(itertools.pairwise(of_a_run.starts)):
        dense[row, of_a_run.columns[start:end]] = (
            1.0 if of_a_run.values is None else of_a_run.values[start:end]
        )
    assert np.array_equal(ours.toarray(), dense)


def test_a_row_has_the_buckets_of_its_words() -> None:
    matrix = tacit.HashedText(1000).transform(TEXTS)
    for row, text in zip(matrix, TEXTS, strict=True):
        assert sorted(row.indices) == sorted(
            {hash_to_bucket(word, 31, 1000) for word in split_words(text)}
        )
    assert matrix.shape == (3, 1000)
    assert set(matrix.data) == {1.0}


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        pl.Series,
        lambda t: pd.DataFrame({"a": t}),
        lambda t: iter(t),
    ],
)
def test_texts_come_in_many_forms(kind) -> None:
    assert (
        tacit.HashedText().transform(kind(TEXTS)) != tacit.HashedText().transform(TEXTS)
    ).nnz == 0


def test_nothing_is_learnt() -> None:
    text = tacit.HashedText(buckets=300)
    assert vars(clone(text).fit(TEXTS)) == vars(text)
    assert (text.fit_transform(TEXTS) != text.transform(TEXTS)).nnz == 0


def test_words_of_any_script() -> None:
    texts = ["кошки и собаки", "猫と犬", "😀 2024"]
    assert (tacit.HashedText(words="unicode").transform(texts).getnnz(axis=1) > 0).all()
    assert tacit.HashedText().transform(texts).nnz == 0


def test_a_missing_text_has_no_words() -> None:
    assert tacit.HashedText().transform([None, "dog", float("nan")]).getnnz(axis=1).tolist() == [
        0,
        1,
        0,
    ]


@pytest.mark.parametrize("given", ["one text", [1, 2], [["a", "b"]]])
def test_what_is_no_list_of_texts_is_refused(given) -> None:
    with pytest.raises(ValueError, match="texts"):
        tacit.HashedText().transform(given)


def test_counts_and_ngrams_are_those_of_a_plan(tmp_path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("dogs\ncats")
    plain = tacit.HashedText(1000)
    counted = tacit.HashedText(1000, words="unicode", counts="counts", ngrams=2, characters=(3, 5))
    assert plain.transform(["dogs dogs"]).sum() == 1
    assert counted.transform(["dogs dogs"]).sum() == 2 + 1 + 2 * (4 + 3 + 2)
    weighed = tacit.HashedText(1000, list=str(words), rarity=0.3).transform(
        ["dogs", "cats", "birds"]
    )
    assert 1 < weighed.data[0] < weighed.data[1] < weighed.data[2]
    assert (clone(counted).transform(TEXTS) != counted.transform(TEXTS)).nnz == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"ngrams": 2},
        {"words": "unicode", "base": 37},
        {"characters": (3,)},
        {"rarity": 0.3},
        {"counts": "some"},
    ],
)
def test_settings_without_meaning_are_refused(wrong) -> None:
    with pytest.raises(ValueError, match=next(reversed(wrong))):
        tacit.HashedText(**wrong).transform(TEXTS)
