"""Data poisoning for experiments in simulations: corrupted labels or inputs of some clients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.plan.tables.corrupt import (
    Backdoor,
    Corrupt,
    CorruptRows,
    FeatureNoise,
    FlippedLabels,
    RandomLabels,
)
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows, Sparse

Numbers = NDArray[np.int64]
Span = tuple[int, int, int]
"""A client, its first row, and the row after its last."""
_PATCH = 9
"""Inputs at the end that a backdoor sets if its plan names none."""


def choose_corrupted(share: float, clients: int, draws: Draws) -> NDArray[np.bool_]:
    """Draw the corrupted clients: a share of all clients, rounded."""
    chosen = np.zeros(clients, np.bool_)
    chosen[draws.generator().permutation(clients)[: round(share * clients)]] = True
    return chosen


def corrupt_rows(
    rows: Rows, clients: Clients, corrupted: NDArray[np.bool_], settings: Corrupt, draws: Draws
) -> Rows:
    """Corrupt the rows of the given clients as configured; rows are in client order.

    Guarantees: no other row changes, and a client's change depends only on its own number and rows.
    Kinds that change updates leave all rows unchanged.
    """
    if not isinstance(settings, CorruptRows):
        return rows
    starts = clients.starts
    spans = [
        (client, int(starts[client]), int(starts[client + 1]))
        for client in np.flatnonzero(corrupted).tolist()
    ]
    if isinstance(settings, FeatureNoise):
        return replace(rows, inputs=_add_input_noise(rows.inputs, spans, settings.scale, draws))
    share = settings.share if isinstance(settings, Backdoor) else settings.labels
    labels, changed = rows.labels.copy(), [np.empty(0, np.int64)]
    for client, first, end in spans:
        random = draws.at("rows", client).generator()
        some = first + np.sort(random.permutation(end - first)[: round(share * (end - first))])
        labels[some] = _corrupt_labels(settings, labels[some], len(rows.classes), random)
        changed.append(some)
    inputs = (
        apply_patch(rows.inputs, np.concatenate(changed), settings)
        if isinstance(settings, Backdoor)
        else rows.inputs
    )
    return replace(rows, inputs=inputs, labels=labels)


def _corrupt_labels(
    settings: RandomLabels | FlippedLabels | Backdoor,
    labels: NDArray[np.int32],
    classes: int,
    random: np.random.Generator,
) -> NDArray[np.int32]:
    if isinstance(settings, RandomLabels):
        return random.integers(0, classes, len(labels), np.int32)
    if isinstance(settings, FlippedLabels):
        return (classes - 1 - labels).astype(np.int32)
    return np.full(len(labels), settings.target, np.int32)


def _add_input_noise(inputs: Inputs, spans: list[Span], scale: float, draws: Draws) -> Inputs:
    """Add noise to the inputs of some clients; in sparse rows only to stored entries."""
    if isinstance(inputs, Mixed):
        dense = _add_input_noise(inputs.dense, spans, scale, draws)
        assert isinstance(dense, Dense)
        return replace(inputs, dense=dense)
    if isinstance(inputs, Sparse):
        values = (
            np.ones(len(inputs.columns), np.float32)
            if inputs.values is None
            else inputs.values.copy()
        )
        for client, first, end in spans:
            _add_noise(
                values[inputs.starts[first] : inputs.starts[end]], scale, draws.at("noise", client)
            )
        return replace(inputs, values=values)
    matrix = _require_numbers(inputs, "feature_noise").matrix.copy()
    for client, first, end in spans:
        _add_noise(matrix[first:end], scale, draws.at("noise", client))
    return replace(inputs, matrix=matrix)


def _add_noise(values: NDArray[np.float32], scale: float, draws: Draws) -> None:
    values += np.float32(scale) * draws.generator().standard_normal(values.shape, np.float32)


def apply_patch(inputs: Inputs, rows: Numbers, settings: Backdoor) -> Inputs:
    """Set the backdoor trigger on the given rows."""
    if isinstance(inputs, Mixed):
        dense = apply_patch(inputs.dense, rows, settings)
        assert isinstance(dense, Dense)
        return replace(inputs, dense=dense)
    width = inputs.width
    columns = np.unique(settings.columns or np.arange(max(0, width - _PATCH), width)).astype(
        np.int32
    )
    if columns[-1] >= width:
        raise DataError(
            f"corrupt.columns must be below {width:,}, the number of inputs, got {columns[-1]:,}"
        )
    if isinstance(inputs, Sparse):
        return _patch_sparse(inputs, rows, columns, settings.value)
    matrix = _require_numbers(inputs, "backdoor").matrix.copy()
    matrix[np.ix_(rows, columns)] = settings.value
    return replace(inputs, matrix=matrix)


def _patch_sparse(
    inputs: Sparse, rows: Numbers, columns: NDArray[np.int32], value: float
) -> Sparse:
    """Set these columns in the given sparse rows: stored entries of the columns are removed, and
    the patch is appended.
    """
    owner = np.repeat(np.arange(len(inputs)), np.diff(inputs.starts))
    chosen = np.zeros(len(inputs), np.bool_)
    chosen[rows] = True
    stays = ~(chosen[owner] & np.isin(inputs.columns, columns))
    added = np.repeat(rows, len(columns))
    owners = np.concatenate([owner[stays], added])
    order = np.argsort(owners, kind="stable")
    values = np.ones(len(inputs.columns), np.float32) if inputs.values is None else inputs.values
    every = np.concatenate([values[stays], np.full(len(added), value, np.float32)])[order]
    return Sparse(
        starts=np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(inputs)))]).astype(
            np.int64
        ),
        columns=np.concatenate([inputs.columns[stays], np.tile(columns, len(rows))])[order],
        values=None if inputs.values is None and value == 1.0 else every,
        width=inputs.width,
    )


def patch_test_rows(test: Rows, settings: Backdoor) -> Rows:
    """Select test rows of all other classes and give them the backdoor trigger and its target
    label.
    """
    if settings.target >= len(test.classes):
        raise DataError(
            f"corrupt.target must be below {len(test.classes)}, the number of classes, got"
            f" {settings.target}"
        )
    others = test.take(np.flatnonzero(test.labels != settings.target))
    labels = np.full(len(others), settings.target, np.int32)
    return replace(
        others, inputs=apply_patch(others.inputs, np.arange(len(others)), settings), labels=labels
    )


def _require_numbers(inputs: Dense, kind: str) -> Dense:
    if inputs.tokens:
        raise DataError(
            f"corrupt.kind = {kind!r} changes numeric inputs, and this plan reads words in order;"
            " corrupt labels or updates instead"
        )
    return inputs
