"""Local training of a module with some parameters frozen: the one loop behind all methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit import plan
from tacit.randomness import Draws
from tacit.training.modules.learner import build_optimizer, compute_loss
from tacit.training.schedule import build_pace, list_batch_ends, shuffle_rows

Batch = Callable[[NDArray[np.int64]], tuple[tuple[torch.Tensor, ...], torch.Tensor]]
"""Row numbers in, inputs and labels out."""


@dataclass(frozen=True)
class ModuleParts:
    """A module's parameters, divided into shared and private."""

    shared: Sequence[nn.Parameter]
    private: Sequence[nn.Parameter]


@dataclass(frozen=True)
class Training:
    """A module, its training settings, its private parameters, and its source of batches."""

    module: nn.Module
    local: plan.Local
    private: plan.Private
    batch: Batch


def train_locally(training: Training, parts: ModuleParts, rows: int, draws: Draws) -> None:
    """Adapt the private parameters, then train, as the plan says.

    "pass" trains the private parameters for one epoch with the shared ones frozen, then everything;
    "pass_accumulated" also adds the shared gradients of that epoch to the first step. "reconstruct"
    adapts on half of the rows and trains only the shared parameters on the other half (Singhal et
    al. 2021).
    """
    everything, adapt = np.arange(rows), training.private.adapt
    parts = parts if training.private.train else ModuleParts(parts.shared, ())
    once = replace(
        training,
        local=replace(training.local, epochs=1, steps=None, schedule="constant", proximal=0.0),
    )
    match adapt:
        case "none":
            train(training, parts, everything, draws)
        case "pass" | "pass_accumulated":
            carried = parts.shared if adapt == "pass_accumulated" else ()
            train(
                once,
                ModuleParts((), parts.private),
                everything,
                draws.at("adapt"),
                collecting=carried,
            )
            summed = [None if one.grad is None else one.grad.clone() for one in carried]
            train(training, parts, everything, draws, added=summed)
        case "reconstruct":
            order = draws.at("halves").generator().permutation(rows)
            support, query = np.sort(order[: rows // 2]), np.sort(order[rows // 2 :])
            train(once, ModuleParts((), parts.private), support, draws.at("adapt"))
            train(training, ModuleParts(parts.shared, ()), query, draws)
        case _:
            assert_never(adapt)


def train(
    training: Training,
    moving: ModuleParts,
    rows: NDArray[np.int64],
    draws: Draws,
    collecting: Sequence[nn.Parameter] = (),
    added: Sequence[torch.Tensor | None] = (),
) -> None:
    """Run local steps with only the parameters in `moving` trained, a fresh optimiser, and a
    proximal term.

    Gradients of the frozen parameters in `collecting` accumulate over the steps; gradients in
    `added` are added to those of the moving shared parameters in the first step.
    """
    module, local = training.module, training.local
    groups = _groups(training, moving)
    parameters = [one for _, part in groups for one in part]
    ends = list_batch_ends(build_pace(local), len(rows))
    if not (parameters or collecting) or not len(ends):
        return
    _rest_all_but(module, [*parameters, *collecting])
    anchors = [one.detach().clone() for one in moving.shared] if local.proximal > 0 else []
    optimizer = (
        build_optimizer(local, [{"params": part, "lr": lr} for lr, part in groups])
        if parameters
        else None
    )
    order = shuffle_rows(len(rows), int(ends[-1]), np.uint64(draws.at("shuffle").seed()))
    begin = 0
    for number, stop in enumerate(ends):
        inputs, labels = training.batch(rows[order[begin:stop]])
        begin = stop
        if optimizer is None:
            compute_loss(module(*inputs), labels).backward()  # type: ignore[no-untyped-call]
            continue
        share = _share_of_rate(local, number, len(ends))
        for group, (lr, _) in zip(optimizer.param_groups, groups, strict=True):
            group["lr"] = lr * share
        optimizer.zero_grad()
        compute_loss(module(*inputs), labels).backward()  # type: ignore[no-untyped-call]
        if number == 0:
            _add(moving.shared, added)
        for one, anchor in zip(moving.shared, anchors, strict=bool(anchors)):
            if one.grad is not None:
                one.grad.add_(one.detach() - anchor, alpha=local.proximal)
        if local.clip_norm is not None:
            for part in (moving.shared, moving.private):
                nn.utils.clip_grad_norm_(part, local.clip_norm)
        optimizer.step()


def _share_of_rate(local: plan.Local, number: int, steps: int) -> float:
    """Return a step's learning rate as a fraction of the first step's."""
    match local.schedule:
        case "constant":
            return 1.0
        case "linear":
            return 1 - number / steps
        case _:
            assert_never(local.schedule)


def _groups(training: Training, moving: ModuleParts) -> list[tuple[float, list[nn.Parameter]]]:
    """Return parameter groups by learning rate: shared, the shared word table if it has its own
    rate, private.
    """
    local, words = training.local, getattr(training.module, "words", None)
    table = None if local.table_lr is None or words is None else words.shared
    rates = (
        (local.lr, [one for one in moving.shared if one is not table]),
        (local.table_lr, [one for one in moving.shared if one is table]),
        (training.private.lr or local.lr, moving.private),
    )
    found = [(lr, [one for one in part if one.numel()]) for lr, part in rates if lr]
    return [(lr, part) for lr, part in found if part]


def _add(parameters: Sequence[nn.Parameter], gradients: Sequence[torch.Tensor | None]) -> None:
    for one, more in zip(parameters, gradients, strict=bool(gradients)):
        if one.grad is not None and more is not None:
            one.grad.add_(more)


def _rest_all_but(module: nn.Module, moving: list[nn.Parameter]) -> None:
    awake = {id(one) for one in moving}
    for one in module.parameters():
        one.requires_grad_(id(one) in awake)
        one.grad = None
