"""Size of a model and number of steps per round, from the plan alone: nothing is allocated or
trained.

A site checks these against its owner's limits before it spends memory or time on a plan.
"""

from __future__ import annotations

from itertools import pairwise
from typing import assert_never

from tacit import plan
from tacit.training.schedule import build_pace

_LSTM_UNITS = 50
"""State width of the `lstm` model, for which the plan has no key."""


def parameter_floor(model: plan.Model, inputs: int, classes: int) -> int:
    """Lower bound on the number of parameters of a model with `inputs` inputs; within 1 % for plain
    layers.

    For an encoder and for a user's own module the bound is 0: their size is known only after
    loading, which needs the owner's permission by other keys (`files`, `user_code`).
    """
    outputs = 1 if classes <= 2 else classes
    match model:
        case plan.Logistic() | plan.MLP():
            return _chain(inputs, *model.hidden, outputs)
        case plan.LSTMStep():
            return 4 * model.units * inputs + _chain(model.units, *model.hidden, outputs)
        case plan.Embedding():
            return _chain(inputs, model.embedding, *model.hidden, outputs)
        case plan.LSTM():
            gates = 4 * _LSTM_UNITS * (model.embedding + _LSTM_UNITS)
            return inputs * model.embedding + gates + _chain(_LSTM_UNITS, *model.hidden, outputs)
        case plan.BiLSTM():
            width = model.hidden[0]
            return 8 * width * (model.embedding + width) + _chain(2 * width, outputs)
        case plan.ViT():
            return 12 * model.layers * model.width**2
        case plan.Encoder() | plan.OwnModule():
            return 0
        case _:
            assert_never(model)


def local_steps(local: plan.Local, rows: int) -> int:
    """Return the number of optimiser steps per round of a client with `rows` rows."""
    pace = build_pace(local)
    if pace.steps:
        return pace.steps
    rows = max(1, rows)
    batches = min(pace.batches, rows) if pace.batches else -(-rows // pace.batch)
    return pace.epochs * batches


def count_trained_rows(local: plan.Local, rows: int) -> int:
    """Return how many rows a client with `rows` rows processes per round, repetitions included."""
    pace = build_pace(local)
    if not pace.steps:
        return pace.epochs * rows
    batch = -(-rows // pace.batches) if pace.batches else min(pace.batch, rows)
    return pace.steps * batch


def _chain(*widths: int) -> int:
    return sum(wide * narrow for wide, narrow in pairwise(widths))
