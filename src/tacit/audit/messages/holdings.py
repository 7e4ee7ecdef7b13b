"""True data of a client that an attacker wants to learn: non-zero inputs, label shares and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import features
from tacit.audit.messages.scoring import Marks, Numbers
from tacit.rows import Inputs, Mixed, Rows, Sparse
from tacit.simulation.advice.first_round import FirstRound
from tacit.simulation.reshuffled_rows import ReshuffledRows

WORDS, CATEGORIES = "words", "categories"


@dataclass(frozen=True)
class Target:
    """Inputs whose presence an attacker wants to learn: all words, all categories, or those of one
    column.
    """

    name: str
    inputs: NDArray[np.int64]
    column: bool = False


def list_targets(blocks: Sequence[features.Block]) -> list[Target]:
    """List the targets; single columns only if there are several."""
    words = [block for block in blocks if block.kind == "words"]
    columns = [block for block in blocks if block.kind in ("category", "token")]
    found = [Target(WORDS, _inputs(words))] if words else []
    found += [Target(CATEGORIES, _inputs(columns))] if columns else []
    return found + (
        [Target(block.name, _inputs([block]), column=True) for block in columns]
        if len(columns) > 1
        else []
    )


def select_rows(begun: FirstRound, block: int) -> Rows:
    """Select the rows on which a client trains in the first round."""
    own = begun.arm.site.own_rows
    assert own is not None
    rows, starts, learner = own.train, own.train_clients.starts, begun.arm.learner
    if isinstance(learner, ReshuffledRows):
        rows = rows.take(learner.order(1))
    return rows.take(np.arange(starts[block], starts[block + 1]))


def find_filled_inputs(inputs: Inputs, width: int) -> Marks:
    """Inputs that are non-zero in at least one row."""
    return count_filled_inputs(inputs, width) > 0


def count_filled_inputs(inputs: Inputs, width: int) -> NDArray[np.int64]:
    """Count the rows in which each input is non-zero, without padding tokens and non-text inputs."""
    if isinstance(inputs, Mixed):
        inputs = inputs.tokens
    if isinstance(inputs, Sparse):
        columns = inputs.columns if inputs.values is None else inputs.columns[inputs.values != 0]
        return np.bincount(columns, minlength=width)[:width]
    if inputs.tokens:
        found = np.bincount(inputs.matrix.ravel(), minlength=width)[:width]
        found[inputs.width - 1] = 0
        return found
    return np.asarray((inputs.matrix != 0).sum(axis=0), np.int64)


def compute_label_shares(rows: Rows) -> Numbers:
    """Share of each class among some rows."""
    return np.bincount(rows.labels, minlength=len(rows.classes)) / max(1, len(rows))


def _inputs(blocks: Sequence[features.Block]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(block.start, block.stop) for block in blocks])
