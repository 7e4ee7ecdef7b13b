"""The heads that testers vote on, prepared once for all testers of a site, and how a tester
evaluates them.

All pairs of testers and contributors are evaluated as matrix products: a tester's rows times all
heads at once.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import training
from tacit.plan.tables.filter import VoteRule
from tacit.protocol.round import Names
from tacit.rows import Vector


class ContributorHeads(NamedTuple):
    """The model, its head, the contributors and their heads, and for each a digest that is unique
    to model, contributor and head.

    If every tester evaluates all heads, they are also stacked into one matrix.
    """

    model: Vector
    first: training.Matrix
    senders: Names
    heads: NDArray[np.float32]
    stacked: NDArray[np.float32] | None
    digests: list[bytes]


def prepare_heads(
    model: Vector,
    first: training.Matrix,
    senders: Names,
    changes: NDArray[np.float32],
    *,
    everybody: bool,
) -> ContributorHeads:
    """Prepare the contributors' changes of the head for testers; with `everybody` each tester
    evaluates all of them.
    """
    asked = hashlib.sha256(model.tobytes()).digest()
    digests = [
        hashlib.sha256(asked + int(name).to_bytes(8, "little") + change.tobytes()).digest()
        for name, change in zip(senders, changes, strict=True)
    ]
    heads = first + changes
    return ContributorHeads(
        model,
        first,
        senders,
        heads,
        training.stack_heads(heads) if everybody and heads.ndim == 3 else None,
        digests,
    )


def compute_part_gains(
    question: ContributorHeads, places: NDArray[np.int64], rows: training.PartRows
) -> NDArray[np.float32]:
    """By how much the parts at `places` lower each row's loss, of shape (rows, parts)."""
    before = rows.compute_losses(question.first)
    after = [rows.compute_losses(question.heads[place]) for place in places.tolist()]
    return (
        before[:, None] - np.stack(after, axis=1) if after else np.zeros((len(rows), 0), np.float32)
    )


def compute_gains(
    question: ContributorHeads,
    places: NDArray[np.int64],
    rows: training.Matrix,
    labels: training.Labels,
) -> NDArray[np.float32]:
    """By how much the heads at `places` lower each row's loss, of shape (rows, heads)."""
    before = training.compute_losses(rows, labels, training.stack_heads(question.first[None]))
    if question.stacked is None:
        return before - training.compute_losses(
            rows, labels, training.stack_heads(question.heads[places])
        )
    return before - training.compute_losses(rows, labels, question.stacked)[:, places]


def decide_votes(gained: NDArray[np.float32], rule: VoteRule) -> NDArray[np.bool_]:
    """Whether each head helps, given by how much it lowers each row's loss; no change counts as
    help.
    """
    match rule:
        case "set_sign":
            return np.asarray(gained.sum(axis=0, dtype=np.float64) >= 0)
        case "majority_of_point_signs":
            return np.asarray(np.sign(gained).sum(axis=0) >= 0)
        case _:
            assert_never(rule)
