"""Local training of a module in which some parameters may rest: the one loop all methods are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit import plan
from tacit.draws import Draws
from tacit.local.modules.learner import loss_of, optimizer_for
from tacit.local.schedule import batch_ends, pace_of, row_order

Batch = Callable[[NDArray[np.int64]], tuple[tuple[torch.Tensor, ...], torch.Tensor]]
"""Row numbers in, inputs and labels out."""


@dataclass(frozen=True)
class Parts:
    """A module's parameters by where they live."""

    shared: Sequence[nn.Parameter]
    private: Sequence[nn.Parameter]


@dataclass(frozen=True)
class Training:
    """A module, how to train it and what stays of it, and where its batches come from."""

    module: nn.Module
    local: plan.Local
    private: plan.Private
    batch: Batch


def local_half(training: Training, parts: Parts, rows: int, draws: Draws) -> None:
    """Train as the plan says: adapt what stays to what arrived, then train.

    "pass" trains the private part for one pass with the shared part at rest, then everything. "reconstruct" does that
    on half of the rows and then trains the shared part alone on the other half (Singhal et al. 2021).
    """
    everything, adapt = np.arange(rows), training.private.adapt
    once = replace(training, local=replace(training.local, epochs=1, steps=None, schedule="constant", proximal=0.0))
    if adapt == "reconstruct":
        order = draws.at("halves").generator().permutation(rows)
        support, query = np.sort(order[: rows // 2]), np.sort(order[rows // 2 :])
        train(once, Parts((), parts.private), support, draws.at("adapt"))
        train(training, Parts(parts.shared, ()), query, draws)
        return
    if adapt == "pass":
        train(once, Parts((), parts.private), everything, draws.at("adapt"))
    train(training, parts, everything, draws)


def train(training: Training, moving: Parts, rows: NDArray[np.int64], draws: Draws) -> None:
    """Run the local steps on some rows with only the given parameters moving; a fresh optimiser, proximal to the start."""
    module, local = training.module, training.local
    rates = ((local.lr, moving.shared), (training.private.lr or local.lr, moving.private))
    groups = [(lr, [one for one in part if one.numel()]) for lr, part in rates]
    parameters = [one for _, part in groups for one in part]
    ends = batch_ends(pace_of(local), len(rows))
    if not parameters or not len(ends):
        return
    _rest_all_but(module, parameters)
    anchors = [one.detach().clone() for one in moving.shared] if local.proximal > 0 else []
    optimizer = optimizer_for(local, [{"params": part, "lr": lr} for lr, part in groups])
    order = row_order(len(rows), int(ends[-1]), np.uint64(draws.at("shuffle").seed()))
    begin = 0
    for number, stop in enumerate(ends):
        if local.schedule == "linear":
            for group, (lr, _) in zip(optimizer.param_groups, groups, strict=True):
                group["lr"] = lr * (1 - number / len(ends))
        inputs, labels = training.batch(rows[order[begin:stop]])
        optimizer.zero_grad()
        loss_of(module(*inputs), labels).backward()  # type: ignore[no-untyped-call]
        for one, anchor in zip(moving.shared, anchors, strict=bool(anchors)):
            if one.grad is not None:
                one.grad.add_(one.detach() - anchor, alpha=local.proximal)
        if local.clip_norm is not None:
            for part in (moving.shared, moving.private):
                nn.utils.clip_grad_norm_(part, local.clip_norm)
        optimizer.step()
        begin = stop


def _rest_all_but(module: nn.Module, moving: list[nn.Parameter]) -> None:
    awake = {id(one) for one in moving}
    for one in module.parameters():
        one.requires_grad_(id(one) in awake)
        one.grad = None
