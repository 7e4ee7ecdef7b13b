"""Counts and n-grams of words, against a slow and obvious reference."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import features
from tacit.features.text import listed_words, scripts, spelling
from tacit.features.text.hashed_text import hash_words
from tacit.plan import Columns, Features
from tacit.rows import Sparse
from tests.features.test_scripts import TEXT

COLUMNS = Columns(text=("text",), label="label")
TEXTS = st.lists(TEXT.map(lambda text: re.sub("[\u0300-\u036f]", "", text)), max_size=5)
"""Without accents that are put together with their letters first; test_scripts has those."""
CHARACTERS = st.one_of(st.just(()), st.tuples(st.integers(2, 4), st.integers(4, 7)))
BUCKETS = st.sampled_from([2, 64, 5000, 1_000_000])


def cells(rows: Sparse) -> list[dict[int, float]]:
    """Return the entries of each row, which stand in rising order."""
    values = np.ones(len(rows.columns)) if rows.values is None else rows.values
    found = []
    for begin, end in zip(rows.starts, rows.starts[1:], strict=False):
        places = rows.columns[begin:end].tolist()
        assert places == sorted(set(places))
        found.append(dict(zip(places, values[begin:end].tolist(), strict=True)))
    return found


def units(text: str) -> list[str]:
    """Return the words of a text, but what is read in pairs whole: the text is cut before and after each such run."""
    kinds, found, at = [scripts.classify_character(ord(character)) for character in text], [], 0
    while at < len(text):
        end, paired = at, kinds[at] == scripts.PAIRED
        while end < len(text) and (
            kinds[end] in (scripts.PAIRED, scripts.IGNORED)
            if paired
            else kinds[end] != scripts.PAIRED
        ):
            end += 1
        run = [
            character
            for character, kind in zip(text[at:end], kinds[at:end], strict=True)
            if kind == scripts.PAIRED
        ]
        found += ["".join(run)] if paired else scripts.split_words(text[at:end])
        at = end
    return found


def expected(text: str, chosen: Features) -> Counter[int]:
    """Return how many terms fall into each bucket; n-grams of words and of characters are made as lists and strings here."""
    words = scripts.split_words(text)
    terms = [scripts.hash_word(word) for word in words]
    for size in range(2, chosen.ngrams + 1):
        for at in range(len(words) - size + 1):
            first, *others = (scripts.hash_word(word) for word in words[at : at + size])
            for other in others:
                first = scripts.join_hashes(first, other)
            terms.append(first)
    if chosen.characters:
        for unit in units(text):
            ended = f" {unit} "
            for size in range(chosen.characters[0], chosen.characters[1] + 1):
                terms += [
                    scripts.hash_word(" " + ended[at : at + size])
                    for at in range(len(ended) - size + 1)
                ]
    return Counter(scripts.find_bucket(term, chosen.buckets) for term in terms)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.integers(1, 4), CHARACTERS, BUCKETS)
def test_counts_of_all_terms_agree_with_the_reference(texts, ngrams, characters, buckets):
    chosen = Features(
        words="unicode", counts="counts", ngrams=ngrams, characters=characters, buckets=buckets
    )
    frame = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)})
    rows = cells(hash_words(frame, COLUMNS, chosen))
    for got, text in zip(rows, texts, strict=True):
        assert got == expected(text, chosen)
        assert got == Counter(
            scripts.find_bucket(term, buckets)
            for term in scripts.list_term_hashes(text, ngrams, characters)
        )


@settings(max_examples=60, deadline=None)
@given(
    TEXTS,
    st.sampled_from(["letters", "unicode"]),
    st.sampled_from(["presence", "counts", "sublinear"]),
)
def test_what_a_word_adds_to_its_row(texts, rule, counts):
    chosen = Features(words=rule, counts=counts, buckets=300)
    frame = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)})
    for got, text in zip(cells(hash_words(frame, COLUMNS, chosen)), texts, strict=True):
        spelled = [spelling.hash_to_bucket(word, 31, 300) for word in spelling.split_words(text)]
        found = Counter(
            spelled
            if rule == "letters"
            else [scripts.hash_to_bucket(word, 300) for word in scripts.split_words(text)]
        )
        value = {
            "presence": lambda _: 1.0,
            "counts": float,
            "sublinear": lambda count: 1 + math.log(count),
        }[counts]
        assert got == pytest.approx({bucket: value(count) for bucket, count in found.items()})


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from(["counts", "sublinear"]), st.sampled_from([0.0, 0.3]))
def test_listed_words_are_counted(texts, ordered, counts, rarity):
    known = listed_words.select_common_words(tuple(ordered), 50, unicode=True)
    if known:
        chosen = Features(text="listed", words="unicode", counts=counts, rarity=rarity)
        rows = listed_words.encode_listed_words(
            pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}), COLUMNS, chosen, known
        )
        weights = listed_words.compute_rarity(len(known), rarity)
        for got, text in zip(cells(rows), texts, strict=True):
            found = Counter(
                known.index(word) for word in scripts.split_words(text) if word in known
            )
            value = {
                place: count if counts == "counts" else 1 + math.log(count)
                for place, count in found.items()
            }
            assert got == pytest.approx(
                {place: one * weights[place] for place, one in value.items()}
            )


def test_buckets_weigh_what_their_words_weigh_by_the_public_list():
    ordered = tuple(f"word{rank}" for rank in range(300))
    chosen = Features(words="unicode", buckets=1_000_000, rarity=0.3, list="words.txt")
    weights = listed_words.compute_bucket_rarity(ordered, chosen)
    places = [scripts.hash_to_bucket(word, 1_000_000) for word in ordered]
    assert len(set(places)) == 300
    per_text = 23 / (np.arange(301) + 2.7)
    assert weights[places] == pytest.approx(
        (1 - np.exp(-per_text[:300] - per_text[300])) ** -0.3, rel=1e-5
    )
    assert np.delete(weights, places) == pytest.approx(
        float(listed_words.compute_rarity(301, 0.3)[300])
    )
    together = listed_words.compute_bucket_rarity(
        ordered, Features(words="unicode", buckets=2, rarity=0.3, list="words.txt")
    )
    assert together == pytest.approx(1.0, abs=1e-3)  # half of all words stand in every text


def test_weights_come_from_the_list_alone_and_stay_with_what_was_fitted():
    frame = pl.DataFrame({"text": ["red cat", "cat cat"], "label": ["a", "b"]})
    chosen = Features(
        words="unicode", buckets=1000, rarity=0.5, list="words.txt", counts="counts", ngrams=2
    )
    ordered = ("the", "cat", "red")
    fitted = features.fit(frame, COLUMNS, chosen, ordered=ordered)
    other = features.fit(
        frame.with_columns(text=pl.lit("nothing of it")), COLUMNS, chosen, ordered=ordered
    )
    assert fitted.weights == other.weights
    assert fitted.released == ()
    assert features.Fitted.from_dict(fitted.to_dict()) == fitted
    rows = features.encode_inputs(frame, COLUMNS, chosen, fitted)
    cat, twice = (
        scripts.hash_to_bucket("cat", 1000),
        scripts.find_bucket(scripts.join_hashes(*[scripts.hash_word("cat")] * 2), 1000),
    )
    assert cells(rows)[1] == pytest.approx(
        {cat: 2 * fitted.weights[cat], twice: fitted.weights[twice]}
    )


def test_a_pair_has_an_order_and_is_no_word():
    assert scripts.join_hashes(
        scripts.hash_word("a"), scripts.hash_word("bc")
    ) != scripts.join_hashes(scripts.hash_word("ab"), scripts.hash_word("c"))
    assert len(set(scripts.list_term_hashes("red cat red", ngrams=2))) == 4
    assert not set(scripts.list_term_hashes("where", characters=(2, 7))[1:]) & {
        scripts.hash_word(word) for word in ("where", "her", "he")
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "which words occur in t, hashed to 5,000 buckets"),
        (
            {"text": "listed", "list": "en", "rarity": 0.3},
            "which of the first 5,000 words of the list en occur in t, the rarer",
        ),
        ({"text": "sequence"}, "the first 300 words in t, in order, hashed"),
        ({"text": "pieces"}, "the first 300 word pieces in t, in order"),
        ({"characters": (3, 5)}, "which words and n-grams of 3 to 5 characters occur in t"),
        (
            {"counts": "sublinear", "ngrams": 3, "characters": (3, 5)},
            "1 + ln of how often words, up to 3 neighbouring words together and",
        ),
    ],
)
def test_what_a_model_reads_is_said_in_words(settings, said):
    assert features.describe_inputs(Columns(text=("t",)), Features(**settings)).startswith(said)
