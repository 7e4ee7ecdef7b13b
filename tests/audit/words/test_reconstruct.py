"""The reconstruction audit on a tiny net and made-up texts: its positive control reads, its random
twins do not.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit import plan
from tacit.assembly import token_rows
from tacit.audit.words.page import render_page
from tacit.audit.words.reconstruct import (
    ATTACKERS,
    BASELINE,
    GRADIENT,
    SETTINGS,
    WordAudit,
    reconstruct,
)
from tacit.errors import PlanError
from tests.simulation.worded import worded_plan

KNOWS, WRONG, PUBLIC = ATTACKERS[:3]
SHARED, PUBLIC_START, _, RANDOM_START = SETTINGS
WIDTH = 24
WORDS = [
    *(f"word{letter}{other}" for letter in "abcdefghijklmnop" for other in "abcdefghijklmnop"),
    *map(str, range(100, 140)),
]


def write_texts(path: Path, rows: int = 120) -> Path:
    """Write texts of six different words and two numbers each: any word is rare, so guessing reads
    next to nothing.
    """
    random = np.random.default_rng(0)
    lines = ["opinion,stars"]
    for row in range(rows):
        words = [
            *random.choice(WORDS[:-40], 6, replace=False),
            *random.choice(WORDS[-40:], 2, replace=False),
        ]
        lines.append(f"{' '.join(words)},{'up' if row % 2 else 'down'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def made_up_vectors(
    name: str, progress: object = None
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    return tuple(WORDS), np.random.default_rng(1).standard_normal((len(WORDS), WIDTH)).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> plan.Plan:
    source = write_texts(tmp_path_factory.mktemp("texts") / "texts.csv")
    return worded_plan(
        source,
        model={"name": "bilstm", "hidden": [16], "embedding": WIDTH, "dropout": 0.0},
        data__clients=4,
    )


@pytest.fixture(scope="module")
def audit(job: plan.Plan) -> WordAudit:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_rows, "load_vectors", made_up_vectors)
        return reconstruct(job, texts=3, batches=(1, 2), search_steps=1, per_bit=(0.1,))


def recall(
    audit: WordAudit, setting: str, attacker: str, seen: str = GRADIENT, batch: int = 1
) -> float:
    (found,) = [
        line.score.recall
        for line in audit.lines
        if (line.setting, line.attacker, line.seen, line.batch) == (setting, attacker, seen, batch)
    ]
    return found


CLEAR = [(GRADIENT, 1), (GRADIENT, 2), ("update, 3 SGD steps, plain", 1)]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("seen", "batch"), CLEAR)
def test_who_knows_the_table_reads_most_words(
    audit: WordAudit, setting: str, seen: str, batch: int
) -> None:
    """The positive control: an attack that fails here would prove nothing elsewhere."""
    assert recall(audit, setting, KNOWS, seen, batch) > 0.9


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("seen", "batch"), CLEAR)
def test_the_same_words_with_each_others_vectors_read_nothing(
    audit: WordAudit, setting: str, seen: str, batch: int
) -> None:
    assert recall(audit, setting, WRONG, seen, batch) < 0.2


@pytest.mark.parametrize(("seen", "batch"), CLEAR)
def test_the_public_table_reads_what_started_from_it_and_not_its_random_twin(
    audit: WordAudit, seen: str, batch: int
) -> None:
    """Two runs that differ in a table's first vectors alone: FedVocab as published, and with random
    ones.
    """
    assert recall(audit, PUBLIC_START, PUBLIC, seen, batch) > 0.9
    assert recall(audit, RANDOM_START, PUBLIC, seen, batch) < 0.2


@pytest.mark.parametrize("setting", SETTINGS)
def test_bits_at_a_small_epsilon_show_nobody_the_words(audit: WordAudit, setting: str) -> None:
    for attacker in ATTACKERS:
        assert recall(audit, setting, attacker, "update, SGD, one bit, epsilon 0.1 per bit") < 0.3


def test_frequency_and_shape_solve_a_public_table_but_no_random_one(audit: WordAudit) -> None:
    assert recall(audit, SHARED, "adaptive") > 0.9
    assert recall(audit, RANDOM_START, "adaptive") < 0.2


def test_naming_the_most_frequent_words_is_no_reading(audit: WordAudit) -> None:
    assert all(line.score.recall < 0.2 for line in audit.lines if line.attacker == BASELINE)


def test_the_texts_are_the_clients_own_and_hold_numbers(audit: WordAudit) -> None:
    assert audit.texts == 3
    originals = {tuple(example.original) for example in audit.examples}
    assert len(originals) == 3
    assert all(sum(word.isdigit() for word in text) == 2 for text in originals)


def test_json_and_page_say_what_was_read(audit: WordAudit) -> None:
    found = json.loads(json.dumps(audit.as_json()))
    assert len(found["lines"]) == len(audit.lines)
    text = render_page(audit)
    assert "knows the shared table reads 100%; the attack works" in text
    assert "is read by: adaptive, knows the table, public table" in text


def test_only_plans_with_word_tables_can_be_attacked(job: plan.Plan) -> None:
    hashed = replace(job, features=plan.Features(buckets=64))
    with pytest.raises(PlanError, match=r"features\.text='binary'\) attacks word tables"):
        reconstruct(hashed)


def test_texts_too_short_to_attack_are_refused(
    job: plan.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_rows, "load_vectors", made_up_vectors)
    short = replace(job, features=replace(job.features, length=4))
    with pytest.raises(PlanError, match="5 to 30 words"):
        reconstruct(short)
