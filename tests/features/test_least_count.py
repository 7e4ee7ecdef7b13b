"""Rare words can be left out, counted in the training texts alone."""

import polars as pl

from tacit.features.fitting import fit
from tacit.features.text.lexicon import TokenEncoding, build_word_splitter, encode_words
from tacit.plan import Columns, Features


def test_words_rare_in_training_are_left_out_everywhere() -> None:
    columns = Columns(text="text", label="label")
    train = pl.DataFrame({"text": ["red red blue", "blue green"], "label": ["a", "b"]})
    test = pl.DataFrame({"text": ["green green green red"], "label": ["a"]})
    settings = Features(text="words", min_count=2)
    reading = TokenEncoding(
        columns=columns,
        settings=settings,
        fitted=fit(train, columns, settings),
        split=build_word_splitter(False),
    )
    (trained, tested), words = encode_words((train, test), reading)
    assert set(words) == {"red", "blue"}
    assert (trained.inputs.matrix < 2).sum(axis=1).tolist() == [3, 1]
    assert (tested.inputs.matrix < 2).sum(axis=1).tolist() == [1]
