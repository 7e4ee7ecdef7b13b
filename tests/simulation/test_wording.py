"""What a shared word table tells about the clients' words is declared, whatever vectors it starts from."""

from pathlib import Path

import numpy as np
import pytest

from tacit import simulation
from tacit.assembly import token_rows
from tacit.privacy.claim import Open
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.simulation.small import write_csv
from tests.simulation.worded import worded_plan

pytest.importorskip("torch")


def public_vectors(words: tuple[str, ...], progress: object = None) -> np.ndarray:
    """Stand in for the published table: every second word is on the public list."""
    vectors = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
    vectors[1::2] = 0
    return vectors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("private", "said"),
    [
        (
            {"words": "none", "start": "public"},
            ["which words of the public list occur in all clients' texts, in order of frequency"],
        ),
        (
            {"words": "digits", "start": "public"},
            [
                "which words of the public list occur in all clients' texts, in order of frequency,"
                " those with digits left out"
            ],
        ),
        ({"words": "none"}, ["the list of words in all clients' texts, in order of frequency"]),
        ({"words": "all", "start": "public"}, []),
    ],
)
def test_the_words_of_a_shared_table_are_released_in_the_clear(
    tmp_path: Path, monkeypatch, private, said
) -> None:
    monkeypatch.setattr(token_rows, "get_glove_vectors", public_vectors)
    reviews = write_csv(tmp_path / "reviews.csv", rows=60)
    folder = simulation.start(
        worded_plan(reviews, private, server={"rounds": 1}), tmp_path / "runs"
    )
    entries = list(record.read(folder / RECORD))
    released = [
        entry for entry in record.select_entries(entries, record.Released) if entry.round_no == 0
    ]
    assert [entry.promise.mechanism for entry in released] == said
    assert all(entry.promise.event == Open() for entry in released)
    assert record.select_entries(entries, record.Prepared)[0].text == "word table"
