from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tacit import data
from tacit.codecs.rr import make
from tacit.errors import PlanError
from tacit.plan import RR, Columns, Plan
from tacit.randomness import Draws
from tacit.rows import Dense, Rows
from tacit_papers.central import central_plan, train_and_measure, train_centrally
from tacit_papers.rr_ldp import corpus, exact, keywords
from tacit_papers.rr_ldp.averages import WordVectors
from tacit_papers.rr_ldp.corpus import term_frequency, word2vec
from tacit_papers.rr_ldp.exact import loss
from tacit_papers.rr_ldp.keywords import averaged_vectors
from tests.roles import decode, encode

LEXICON = WordVectors(["cat", "dog"], np.float32([[1, 0], [0, 2]]))


def test_vectors_side_by_side_keep_the_order_of_words() -> None:
    flat = LEXICON.laid_flat([["dog", "bird", "cat", "cat"], []], 2)
    assert flat.toarray().tolist() == [[0, 2, 1, 0], [0, 0, 0, 0]]


METRICS = {"auc", "accuracy", "f1", "loss", "validation_auc", "epoch"}


def need(name: str) -> None:
    if data.find_data_set(name) is None:
        pytest.skip(f"{name} is neither in the cache nor in a TACIT_DATA folder")


def rows(count: int, seed: int) -> Rows:
    """Return rows whose label is mostly the sign of the first of four numbers."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(count, 4)).astype(np.float32)
    labels = (matrix[:, 0] + random.normal(size=count) > 0).astype(np.int32)
    return Rows(inputs=Dense(matrix=matrix, width=4), labels=labels, classes=("0", "1"))


def plan(model: str = "logistic", seed: int = 0, **local: object) -> Plan:
    return central_plan("imdb", model, {"lr": 1e-2, **local}, None, seed)


def test_the_test_rows_decide_nothing() -> None:
    train, test = rows(400, 1), rows(200, 2)
    honest = train_and_measure(train, test, plan())["last"]
    inverted = train_and_measure(train, replace(test, labels=1 - test.labels), plan())["last"]
    assert set(honest) == METRICS
    assert honest["auc"] > 0.75
    assert honest["auc"] + inverted["auc"] == pytest.approx(1)
    assert (honest["epoch"], honest["validation_auc"]) == (
        inverted["epoch"],
        inverted["validation_auc"],
    )


def test_the_best_epoch_is_reported_not_the_last() -> None:
    train, test = rows(60, 1), rows(200, 2)
    long = train_and_measure(train, test, plan("mlp", epochs=40))["last"]
    exact = train_and_measure(train, test, plan("mlp", epochs=int(long["epoch"])))["last"]
    assert long == exact
    assert long["epoch"] < 40


def test_same_seed_same_figures() -> None:
    train, test = rows(200, 1), rows(100, 2)
    assert train_and_measure(train, test, plan(seed=5)) == train_and_measure(
        train, test, plan(seed=5)
    )
    assert train_and_measure(train, test, plan(seed=5)) != train_and_measure(
        train, test, plan(seed=6)
    )


def test_a_large_table_is_held_twice_at_most() -> None:
    words, size = 50_000, 50_001 * 50
    tokens = np.random.default_rng(0).integers(0, words, size=(40, 5)).astype(np.int32)
    few = Rows(
        inputs=Dense(matrix=tokens, width=words + 1, tokens=True),
        labels=np.arange(40, dtype=np.int32) % 2,
        classes=("0", "1"),
    )
    model = {"name": "embedding", "embedding": 50, "hidden": [4]}
    settings = central_plan(
        "imdb", model, {"epochs": 2}, None, 0, {"text": "sequence", "buckets": words}
    )
    train_and_measure(few, few, settings)  # compile first
    tracemalloc.start()
    train_and_measure(few, few, settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.2 * 4 * size


def test_settings_are_checked_before_anything_is_read() -> None:
    with pytest.raises(PlanError, match="lerning_rate"):
        train_centrally("imdb", {}, {"name": "logistic"}, {"lerning_rate": 1})
    with pytest.raises(PlanError, match=r"corpus must be one of train, full, limited, got 'wiki'"):
        word2vec("wiki")
    with pytest.raises(
        PlanError,
        match=r"text must be one of none, all, common, flat, hash, got 'some'",
    ):
        averaged_vectors("some")


def test_average_counts_repeats_and_leaves_out_the_unknown() -> None:
    averages = LEXICON.average([["cat", "dog", "dog", "cow"], ["cow"], []])
    assert averages.dtype == np.float32
    assert np.allclose(averages, [[1 / 3, 4 / 3], [0, 0], [0, 0]])


def test_an_update_costs_its_bits_and_quantising_takes_nothing_off() -> None:
    figures = loss(1.0, 506_451, 25)["last"]
    assert figures["bit"] == pytest.approx(1.0, abs=1e-6)
    assert figures["update"] == pytest.approx(506_451, rel=1e-6)
    assert figures["run"] == 25 * figures["update"]
    assert figures["composed"] == pytest.approx(figures["bit"], rel=1e-9)
    assert (figures["bytes"], figures["bytes_float"]) == (63_307, 4 * 506_451)


def test_the_corrected_channel_is_the_one_of_ldp_fl_on_differences() -> None:
    """Sun et al. 2020: a value v leaves as +q/f with probability 1/2 + f v / 2q, else as -q/f; f = tanh(epsilon / 2)."""
    clip, kept, dim = 0.5, float(np.tanh(0.5)), 200_000
    codec = make(RR(epsilon=1.0, clip=clip))
    for value in (-0.5, -0.2, 0.0, 0.4, 2.0):
        total, root = codec.empty(dim), Draws.seeded(3)
        total.add(encode(codec, np.full(dim, value, np.float32), root, root).payload, 1, root)
        decoded = decode(codec, total, root, root)
        assert np.allclose(np.abs(decoded), clip / kept, rtol=1e-5)
        expected = 0.5 + kept * max(-clip, min(clip, value)) / (2 * clip)
        assert (
            abs((decoded > 0).mean() - expected) < 5 * 0.5 / dim**0.5
        )  # false alarms: fewer than 1 in a million


def test_a_dictionary_reads_hashed_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "load_table", lambda _plan: made_up())
    assert exact.dictionary("imdb", None)["last"]["entries"] == 1


def test_most_common_words_of_a_text() -> None:
    known_to = Counter({"a": 1, "b": 9, "c": 9, "d": 2})
    assert keywords._most_common(["a", "d", "c", "b", "a"], known_to, 2) == ["a", "b", "a"]
    assert keywords._select_words(["War of the worlds: war!", ""], None) == [
        ["war", "worlds", "war"],
        [],
    ]


def test_limited_keeps_the_most_frequent_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LIMITED_WORDS", 1)
    assert corpus._most_frequent([["a", "b"], ["b"]]) == [["b"], ["b"]]


@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_term_frequency_learns(model: str) -> None:
    need("imdb")
    figures = term_frequency("imdb", model, limit=600)["last"]
    assert set(figures) == METRICS
    assert figures["auc"] > 0.7


def test_central_learns_from_hashes_and_sequences() -> None:
    need("imdb")
    assert (
        train_centrally("imdb", {"buckets": 2000}, {"name": "logistic"}, {}, limit=600)["last"][
            "auc"
        ]
        > 0.7
    )
    model = {"name": "embedding", "embedding": 8, "hidden": [8]}
    sequence = {"text": "sequence", "buckets": 2000}
    assert (
        train_centrally("imdb", sequence, model, {"lr": 1e-2, "epochs": 3}, limit=200)["last"][
            "auc"
        ]
        > 0.4
    )


def made_up(count: int = 120) -> data.Table:
    """Return a table whose good texts speak of love, whose bad ones of murder, and whose age says nothing."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, count)
    subject = [("murder in the house", "love in the garden")[label] for label in labels]
    frame = pl.DataFrame({"text": subject, "label": labels, "age": random.normal(size=count)})
    frame = frame.with_columns(pl.col("label").cast(pl.String).cast(pl.Enum(["0", "1"])))
    columns = Columns(text=("text",), label="label", numeric=("age",))
    return data.Table(
        train=frame[: count // 2], test=frame[count // 2 :], columns=columns, source="made up"
    )


def test_word2vec_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "load_table", lambda _plan: made_up())
    found = [
        corpus._average_vectors(name, made_up(), 0)[0].inputs.matrix
        for name in ("train", "train", "full", "limited")
    ]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    figures = word2vec("train", local={"lr": 1e-2})["last"]
    assert (figures["logistic auc"], figures["mlp auc"]) == (1, 1)


def test_keywords_stand_beside_the_other_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def two_words(name: str) -> tuple[tuple[str, str], NDArray[np.float32]]:
        asked.append(name)
        return ("murder", "love"), np.float32([[1, 0], [0, 1]])

    monkeypatch.setattr(keywords, "vectors_named", two_words)
    monkeypatch.setattr(keywords, "load_table", lambda _plan: made_up())
    assert averaged_vectors("none")["last"]["auc"] < 0.8
    assert averaged_vectors("hash", local={"lr": 1e-2})["last"]["auc"] == 1
    assert asked == []
    figures = [
        averaged_vectors(text, vectors="tiny", local={"lr": 1e-2})
        for text in ("all", "common", "flat")
    ]
    assert asked == ["tiny"] * 3
    assert figures[0] == figures[1]
    assert [one["last"]["auc"] for one in figures] == [1, 1, 1]
