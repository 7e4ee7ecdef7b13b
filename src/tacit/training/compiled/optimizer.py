"""One fused optimiser step over a flat vector; the gradient is read once and cleared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit import plan
from tacit.training.compiled.first_layer import Array, compiled

SGD, ADAM, ADAMW = 0, 1, 2


class OptimiserRule(NamedTuple):
    """Optimiser, learning rate, weight decay, and the strength of the proximal term."""

    kind: int
    lr: float
    decay: float
    pull: float


class OptimiserState(NamedTuple):
    """A client's parameters, their gradient (zero between steps), the two moments, and the starting
    parameters.
    """

    net: Array
    grad: Array
    mean: Array
    square: Array
    anchor: Array


def build_rule(local: plan.Local) -> OptimiserRule:
    """Translate a plan's optimiser settings for the kernels."""
    kind = {"sgd": SGD, "adam": ADAM, "adamw": ADAMW}[local.optimizer]
    return OptimiserRule(kind, float(local.lr), float(local.weight_decay), float(local.proximal))


@compiled
def take_step(state: OptimiserState, rule: OptimiserRule, step: int) -> None:
    """Take step number `step` (from 1) and clear the gradient.

    The first step overwrites the moments.
    """
    net, grad, mean, square, anchor = state
    if rule.pull > 0:
        pull = np.float32(rule.pull)
        for i in range(net.size):
            grad[i] += pull * (net[i] - anchor[i])
    if rule.kind == SGD:
        rate = np.float32(rule.lr)
        for i in range(net.size):
            net[i] -= rate * grad[i]
            grad[i] = np.float32(0)
        return
    if rule.kind == ADAMW and rule.decay > 0:
        keep = np.float32(1 - rule.lr * rule.decay)
        for i in range(net.size):
            net[i] *= keep
    rate = np.float32(rule.lr / (1 - 0.9**step))
    scale = np.float32(1 / np.sqrt(1 - 0.999**step))
    b1, c1, b2, c2, tiny = (
        np.float32(0.9),
        np.float32(0.1),
        np.float32(0.999),
        np.float32(0.001),
        np.float32(1e-8),
    )
    if (
        step == 1
    ):  # fresh moments are zero: writing them without reading saves clearing them for every client
        for i in range(net.size):
            slope = grad[i]
            m = c1 * slope
            v = c2 * slope * slope
            mean[i] = m
            square[i] = v
            net[i] -= rate * m / (np.sqrt(v) * scale + tiny)
            grad[i] = np.float32(0)
        return
    for i in range(net.size):
        slope = grad[i]
        m = b1 * mean[i] + c1 * slope
        v = b2 * square[i] + c2 * slope * slope
        mean[i] = m
        square[i] = v
        net[i] -= rate * m / (np.sqrt(v) * scale + tiny)
        grad[i] = np.float32(0)
