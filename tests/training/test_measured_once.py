"""Where nothing stays with anybody, the common test rows are read once, and every client has the figures it would find alone."""

from pathlib import Path

import numpy as np
import pytest

from tacit import plan, server, training
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Lexicon, Rows
from tests.slots import slot

pytest.importorskip("torch")
from tacit.training.private.learner import PartialLearner

WORDS = ("good", "bad", "film", "7", "the")
TWO = Clients(order=np.arange(12), starts=np.array([0, 5, 12]))


def rows_of(seed: int) -> Rows:
    random = np.random.default_rng(seed)
    inputs = Dense(
        matrix=random.integers(0, len(WORDS) + 1, (12, 4)).astype(np.int32),
        width=len(WORDS) + 1,
        tokens=True,
    )
    return Rows(
        inputs=inputs, labels=random.integers(0, 2, 12).astype(np.int32), classes=("no", "yes")
    )


@pytest.mark.parametrize(("words", "readings"), [("none", 1), ("all", 2)])
def test_common_rows_are_read_once_for_a_model_all_share(
    tmp_path: Path, monkeypatch, words: str, readings: int
) -> None:
    home = training.Home(
        private=plan.Private(words=words),
        folder=tmp_path,
        beginning=Draws.seeded(0),
        lexicon=Lexicon(words=WORDS),
    )
    tests = training.Tests(
        common=rows_of(1), own=rows_of(2), own_clients=TWO, measure=server.measure
    )
    learner = PartialLearner(
        plan.BiLSTM(hidden=(3,), embedding=4), plan.Local(), rows_of(0), TWO, None, home
    )
    shared = learner.initial(Draws.seeded(1))
    alone = [
        learner.worker().evaluate_assembled(shared, slot(client), 1, tests) for client in (0, 1)
    ]
    worker, read = learner.worker(), []
    on_common = worker._evaluate_common
    monkeypatch.setattr(
        worker, "_evaluate_common", lambda *given: read.append(given) or on_common(*given)
    )
    assert [worker.evaluate_assembled(shared, slot(client), 1, tests) for client in (0, 1)] == alone
    assert len(read) == readings
    other = shared + np.float32(0.5)
    assert worker.evaluate_assembled(
        other, slot(0), 1, tests
    ) == learner.worker().evaluate_assembled(other, slot(0), 1, tests)
