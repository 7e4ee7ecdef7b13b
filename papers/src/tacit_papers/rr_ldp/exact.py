"""Results without training: the privacy loss of an update, what quantising adds to the flips, and
what the hash hides.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import polars as pl

from tacit.codecs.rr import (
    compute_bit_epsilon,
    compute_flips,
    compute_kept_signal,
    count_packed_bytes,
)
from tacit.features.text.spelling import hash_to_bucket, split_words
from tacit.reproduction import Scale
from tacit_papers.central import central_plan, load_table
from tacit_papers.published import Figures, PaperCell, PaperTable, PaperTrial

_PARAMETERS = {"logistic regression": 5_001, "network": 506_451, "LSTM and network": 1_021_651}
_ROUNDS = 25
_BASE, _BUCKETS = 31, 5000


def loss(epsilon: float, parameters: int, rounds: int) -> Figures:
    """Pure epsilon of a bit, an update and a run, if all rows of one client are replaced; and the
    bytes of an update.

    The bound is tight: updates at opposite clips in every coordinate attain it. `composed` is the
    worst-case log ratio of quantising and flipping together, attained at ±q: (1 + f) / (1 - f), the
    same as that of the flips alone.
    """
    flips = compute_flips(epsilon)
    kept = compute_kept_signal(flips)
    bit = compute_bit_epsilon(flips)
    figures = {
         "bit": bit, "update": parameters * bit, "run": rounds * parameters * bit, "composed":
        math.log((1 + kept) / (1 - kept)), "bytes": float(count_packed_bytes(parameters)), "bytes_float":
        4.0 * parameters,
    }  # fmt: skip
    return {"last": figures}


def dictionary(source: str, limit: int | None) -> Figures:
    """Share of the test texts' hashed words that an attacker who knows the hash and other people's
    texts reads correctly.

    The attacker maps each bucket to its most frequent word in the training texts; `entries` counts
    a word once per text, as hashed features do.
    """
    table = load_table(central_plan(source, "logistic", None, limit, 1))
    known: dict[int, Counter[str]] = {}
    for word, count in Counter(
        word for text in _texts(table.train, table) for word in split_words(text)
    ).items():
        known.setdefault(hash_to_bucket(word, _BASE, _BUCKETS), Counter())[word] = count
    guess = {number: inside.most_common(1)[0][0] for number, inside in known.items()}
    right = seen = 0
    for text in _texts(table.test, table):
        own = set(split_words(text))
        seen += len(own)
        right += sum(guess.get(hash_to_bucket(word, _BASE, _BUCKETS)) == word for word in own)
    return {"last": {"entries": right / max(1, seen)}}


def _texts(half: pl.DataFrame, table: Any) -> list[str]:
    return half.select(pl.concat_str(table.columns.text, separator=" ")).to_series().to_list()


def losses(scale: Scale) -> PaperTable:
    """A table of ours: the paper's epsilon by privacy unit."""
    cells = []
    for name, parameters in _PARAMETERS.items():
        for epsilon in (0.1, 1.0, 10.0):
            settings = {"epsilon": epsilon, "parameters": parameters, "rounds": _ROUNDS}
            trial = PaperTrial(kind="loss", settings=settings, seeds=())
            row = f"{name}, {parameters:,} parameters, epsilon {epsilon:g} per bit"
            columns = {
                 "epsilon per bit": "bit", "quantised and flipped, per bit": "composed",
                "epsilon per update": "update", f"epsilon per run of {_ROUNDS} rounds": "run",
                "bytes per update": "bytes", "bytes as floats": "bytes_float",
            }  # fmt: skip
            cells += [
                PaperCell(row=row, column=column, paper=None, trial=trial, metric=metric)
                for column, metric in columns.items()
            ]
    note = "Pure epsilon if all rows of one client are replaced; exact, without randomness."
    return PaperTable(
        name="loss", title="Privacy loss and size of an update", cells=tuple(cells), note=note
    )


def inversion(scale: Scale) -> PaperTable:
    """A table of ours: what a dictionary attack reads from hashed words."""
    trial = PaperTrial(
        kind="dictionary",
        settings={"source": "imdb", "limit": 300 if scale == "smoke" else None},
        seeds=(),
    )
    cell = PaperCell(
        row="5,000 buckets",
        column="share of words read right",
        paper=None,
        trial=trial,
        metric="entries",
    )
    note = (
        "Test reviews; the attacker knows the public hash and the word counts of the training"
        " reviews, and guesses the most frequent word."
    )
    return PaperTable(
        name="hash",
        title="IMDB: hashed words recovered with a dictionary",
        cells=(cell,),
        note=note,
    )
