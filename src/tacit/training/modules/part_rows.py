"""A module's last layers by themselves, for any layers: gradients and losses by PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit.rows import Vector
from tacit.training.head import Labels, Matrix, compute_logit_losses
from tacit.training.modules.own import to_logits

Read = Callable[[NDArray[np.int64]], tuple[torch.Tensor, ...]]
"""The module's arguments for some rows."""


class ModuleRows:
    """Rows as inputs of a module in evaluation mode whose last parameters vary.

    `module` belongs to these rows alone; `last` are the parameters of the part, in the order of the
    flat vector. A row's gradient and loss depend on no other row.
    """

    def __init__(
        self,
        module: nn.Module,
        last: list[nn.Parameter],
        read: Read,
        labels: Labels,
        outputs: int,
    ) -> None:
        self.module, self.last, self.read, self.labels = module.eval(), last, read, labels
        self.outputs, self.places = outputs, np.arange(len(labels))

    def __len__(self) -> int:
        return len(self.places)

    def take(self, places: NDArray[np.bool_]) -> ModuleRows:
        """Some of the rows."""
        some = ModuleRows(self.module, self.last, self.read, self.labels, self.outputs)
        some.places = self.places[places]
        return some

    def sum_gradients(self, part: Vector) -> Vector:
        """Sum of the rows' gradients at a part."""
        self._load(part)
        return self._differentiate(self.places) if len(self) else np.zeros_like(part)

    def list_gradients(self, part: Vector) -> Iterator[Matrix]:
        """The gradient of each row at a part, row by row."""
        self._load(part)
        for place in self.places:
            yield self._differentiate(np.array([place]))[None]

    def compute_losses(self, part: Vector) -> Vector:
        """The loss of each row."""
        if not len(self):
            return np.zeros(0, np.float32)
        self._load(part)
        with torch.no_grad():
            logits = self._logits(self.places).numpy().astype(np.float32)
        return compute_logit_losses(logits, self.labels[self.places])

    def _logits(self, places: NDArray[np.int64]) -> torch.Tensor:
        return to_logits(self.module(*self.read(places)), self.outputs)

    def _load(self, part: Vector) -> None:
        start, flat = 0, torch.from_numpy(np.array(part, np.float32))
        for one in self.last:
            one.data = flat[start : start + one.numel()].view_as(one)
            start += one.numel()

    def _differentiate(self, places: NDArray[np.int64]) -> Vector:
        logits = self._logits(places)
        labels = torch.from_numpy(self.labels[places].astype(np.int64))
        if self.outputs == 1:
            loss = nn.functional.binary_cross_entropy_with_logits(
                logits.reshape(-1), labels.to(logits.dtype), reduction="sum"
            )
        else:
            loss = nn.functional.cross_entropy(logits, labels, reduction="sum")
        found = torch.autograd.grad(loss, self.last, allow_unused=True)
        flat = [
            torch.zeros_like(one) if grad is None else grad
            for one, grad in zip(self.last, found, strict=True)
        ]
        return np.concatenate([one.reshape(-1).numpy() for one in flat]).astype(np.float32)


def list_layer_sizes(module: nn.Module, shared: tuple[str, ...]) -> tuple[int, ...]:
    """The parameters of each layer, the first layer first; none if the last parameter is not among
    the shared ones. A layer is a submodule with parameters of its own.
    """
    names = [name for name, _ in module.named_parameters()]
    if not shared or names[-1] != shared[-1]:
        return ()
    sizes = list[int]()
    for prefix, one in module.named_modules():
        own = [
            part.numel()
            for name, part in one.named_parameters(recurse=False)
            if (f"{prefix}.{name}" if prefix else name) in shared
        ]
        if own:
            sizes.append(sum(own))
    return tuple(sizes)


def take_last(parameters: list[nn.Parameter], size: int) -> list[nn.Parameter]:
    """The last parameters that have `size` numbers together."""
    found = list[nn.Parameter]()
    while sum(one.numel() for one in found) < size:
        found.insert(0, parameters[len(parameters) - len(found) - 1])
    return found
