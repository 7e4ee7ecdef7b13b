"""PyTorch learner: any nn.Module, in single-threaded processes, so that results do not depend on
their number.
"""

from __future__ import annotations

import copy
import importlib
import itertools
import os
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, Literal, assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit import plan
from tacit.client import ClientSlot
from tacit.errors import PlanError
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows, Sparse, Vector
from tacit.training.contract import DenseUpdate, SequentialWorker, Update, Worker
from tacit.training.head import HeadPlace
from tacit.training.modules import networks
from tacit.training.modules.own import (
    build_own_module,
    check_module,
    import_class,
    to_logits,
    try_module,
)
from tacit.training.modules.part_rows import ModuleRows, list_layer_sizes, take_last
from tacit.training.schedule import build_pace, list_batch_ends, shuffle_rows
from tacit.training.unit import RootWorker, UnitWorker, scales_by_root

_PREDICT_ROWS = 512
_PROBE_ROWS = 2


@cache
def warm_up() -> None:
    """Load what the first local step needs before workers are forked, instead of once in each
    worker.

    PyTorch's optimisers load its compiler at their first step, which takes two seconds; the
    compiled schedule loads numba. The environment variable makes PyTorch ask for large pages: a
    transformer step then causes a third of the page faults.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    importlib.import_module("torch._dynamo")
    shuffle_rows(1, int(list_batch_ends(build_pace(plan.Local()), 1)[-1]), np.uint64(0))


class TorchLearner:
    """An nn.Module over the rows of a site's clients; its flattened parameters, in their own order,
    are the model.
    """

    parallel: Literal["threads", "processes"] = "processes"
    personal = False

    def __init__(
        self,
        model: plan.Model,
        local: plan.Local,
        rows: Rows,
        clients: Clients,
        module: object | None,
    ) -> None:
        warm_up()
        self.local, self.clients, self.inputs = local, clients, rows.inputs
        self.outputs = 1 if len(rows.classes) <= 2 else len(rows.classes)
        self.labels = torch.from_numpy(rows.labels.astype(np.int64))
        self._make = module_factory(model, rows.inputs, self.outputs, module)
        self.module = check_module(self._make(), model.name)
        if len(rows) and (module is not None or isinstance(model, plan.OwnModule)):
            few = make_batch(rows.inputs, np.arange(min(_PROBE_ROWS, len(rows))))
            try_module(
                self.module,
                model.name if module is None else type(module).__name__,
                few,
                self.outputs,
            )
        self.names = [name for name, _ in self.module.named_parameters()]
        self.size = sum(parameter.numel() for parameter in self.module.parameters())
        own = [
            sum(part.numel() for part in one.parameters(recurse=False))
            for one in self.module.modules()
        ]
        self.layers = tuple(size for size in own if size)
        self.head = find_head(self.module, self.size, self.outputs)
        self.parts = list_layer_sizes(self.module, tuple(self.names))

    def read_part(
        self, model: Vector, rows: Rows, size: int, slot: ClientSlot, round_no: int
    ) -> ModuleRows:
        """Return rows as inputs of the last layers, which have `size` parameters."""
        module = copy.deepcopy(self.module)
        parameters = list(module.parameters())
        nn.utils.vector_to_parameters(torch.from_numpy(model.copy()), parameters)
        last = take_last(parameters, size)
        read = partial(make_batch, rows.inputs)
        return ModuleRows(module, last, read, rows.labels, self.outputs)

    def below(
        self, model: Vector, inputs: Inputs, slot: ClientSlot, round_no: int
    ) -> NDArray[np.float32]:
        """Return the inputs of the last layer."""
        module = copy.deepcopy(self.module)
        nn.utils.vector_to_parameters(torch.from_numpy(model.copy()), module.parameters())
        return compute_head_inputs(module, iterate_batches(inputs))

    def initial(self, draws: Draws) -> Vector:
        """Return the module's own initial weights, with PyTorch seeded from `draws`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed(draws))
            return (
                nn.utils.parameters_to_vector(self._make().parameters())
                .detach()
                .numpy()
                .astype(np.float32)
            )

    def forget(self) -> None:
        """Do nothing: no part of this model stays with a client."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Do nothing: no part of this model stays with a client."""

    def worker(self) -> Worker:
        """Return a worker with a module of its own."""
        worker = TorchWorker(self)
        if scales_by_root(self.local):
            return RootWorker(worker, np.diff(self.clients.starts))
        return UnitWorker(worker) if self.local.normalise else worker

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits in evaluation mode."""
        module = copy.deepcopy(self.module).eval()
        nn.utils.vector_to_parameters(torch.from_numpy(model.copy()), module.parameters())
        with torch.no_grad():
            parts = [to_logits(module(*batch), self.outputs) for batch in iterate_batches(inputs)]
        return torch.cat(parts).numpy().astype(np.float32)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the module's parameters by name."""
        sizes = [parameter.shape for parameter in self.module.parameters()]
        ends = itertools.accumulate(int(np.prod(shape)) for shape in sizes)
        return {
            name: model[end - int(np.prod(shape)) : end].reshape(shape).copy()
            for name, shape, end in zip(self.names, sizes, ends, strict=True)
        }


class TorchWorker(SequentialWorker):
    """One module whose parameters are views of one flat tensor."""

    def __init__(self, learner: TorchLearner) -> None:
        torch.set_num_threads(1)
        self.learner = learner
        self.module = copy.deepcopy(learner.module).train()
        self.flat = torch.empty(learner.size)
        start = 0
        for parameter in self.module.parameters():
            parameter.data = self.flat[start : start + parameter.numel()].view_as(parameter)
            start += parameter.numel()

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`."""
        learner, local = self.learner, self.learner.local
        base, end = (
            int(learner.clients.starts[slot.block]),
            int(learner.clients.starts[slot.block + 1]),
        )
        anchor = torch.from_numpy(model)
        self.flat.copy_(anchor)
        torch.manual_seed(
            derive_seed(draws)
        )  # dropout and the like; this process trains one client at a time
        optimizer = build_optimizer(local, list(self.module.parameters()))
        ends = list_batch_ends(build_pace(local), end - base)
        order = shuffle_rows(
            end - base, int(ends[-1]) if len(ends) else 0, np.uint64(draws.at("shuffle").seed())
        )
        begin = 0
        for stop in ends:
            rows = base + order[begin:stop]
            optimizer.zero_grad()
            compute_loss(
                self.module(*make_batch(learner.inputs, rows)), learner.labels[rows]
            ).backward()  # type: ignore[no-untyped-call]
            if local.proximal > 0:
                self._pull(anchor, local.proximal)
            optimizer.step()
            begin = stop
        return DenseUpdate((self.flat.detach() - anchor).numpy())

    def _pull(self, anchor: torch.Tensor, strength: float) -> None:
        start = 0
        for parameter in self.module.parameters():
            home = anchor[start : start + parameter.numel()].view_as(parameter)
            if parameter.grad is not None:
                parameter.grad.add_(parameter.detach() - home, alpha=strength)
            start += parameter.numel()


def make_batch(inputs: Inputs, rows: NDArray[np.int64]) -> tuple[torch.Tensor, ...]:
    """Convert rows to a module's arguments: long token indices, float features, or both in this
    order.
    """
    if isinstance(inputs, Mixed):
        return (*make_batch(inputs.tokens, rows), *make_batch(inputs.dense, rows))
    if isinstance(inputs, Dense):
        some = torch.from_numpy(inputs.matrix[rows])
        return (some.long() if inputs.tokens else some,)
    picked: Sparse = inputs.take(rows)
    full = np.zeros((len(rows), inputs.width), np.float32)
    where = np.repeat(np.arange(len(rows)), np.diff(picked.starts))
    full[where, picked.columns] = 1.0 if picked.values is None else picked.values
    return (torch.from_numpy(full),)


def iterate_batches(
    inputs: Inputs, rows: int = _PREDICT_ROWS
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield all rows in order, in batches."""
    for first in range(0, len(inputs), rows):
        yield make_batch(inputs, np.arange(first, min(first + rows, len(inputs))))


def find_head(module: nn.Module, size: int, outputs: int) -> HeadPlace | None:
    """Find the last layer in a flat vector of `size` that ends with it; None unless it is linear
    with a bias.
    """
    last = _last(module)
    if not isinstance(last, nn.Linear) or last.bias is None or last.out_features != outputs:
        return None
    return HeadPlace(
        size - (last.in_features + 1) * outputs, last.in_features, outputs, by_output=True
    )


def compute_head_inputs(
    module: nn.Module, batches: Iterator[tuple[torch.Tensor, ...]]
) -> NDArray[np.float32]:
    """Return the inputs of the last layer for all rows of some batches, in evaluation mode."""
    seen, last = list[torch.Tensor](), _last(module)
    module.eval()
    hook = last.register_forward_pre_hook(
        lambda _, given: seen.append(given[0].reshape(-1, given[0].shape[-1]))
    )
    with torch.no_grad():
        for batch in batches:
            module(*batch)
    hook.remove()
    module.train()
    if not seen:
        return np.zeros((0, int(getattr(last, "in_features", 0))), np.float32)
    return torch.cat(seen).numpy().astype(np.float32)


def _last(module: nn.Module) -> nn.Module:
    return [one for one in module.modules() if list(one.parameters(recurse=False))][-1]


def compute_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean logistic loss for one logit per row, the mean cross-entropy for several."""
    if logits.ndim == 1 or logits.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(
            logits.reshape(-1), labels.to(logits.dtype)
        )
    return nn.functional.cross_entropy(logits, labels)


def build_optimizer(local: plan.Local, parameters: list[Any]) -> torch.optim.Optimizer:
    """Build the plan's optimiser over parameters or parameter groups."""
    match local.optimizer:
        case "sgd":
            return torch.optim.SGD(parameters, lr=local.lr)
        case "adam":
            return torch.optim.Adam(
                parameters, lr=local.lr, weight_decay=local.weight_decay, fused=True
            )
        case "adamw":
            return torch.optim.AdamW(
                parameters, lr=local.lr, weight_decay=local.weight_decay, fused=True
            )
        case _:
            assert_never(local.optimizer)


def derive_seed(draws: Draws) -> int:
    """Derive a seed for PyTorch from an address of random draws."""
    return int(draws.at("torch").words(1)[0] >> np.uint64(1))


def module_factory(model: plan.Model, inputs: Inputs, outputs: int, module: object | None) -> Any:
    """Return a function that builds the module named by the plan or given by the caller."""
    if module is not None:
        if not isinstance(module, nn.Module):
            raise PlanError(
                f"run(module={type(module).__name__}) needs a torch.nn.Module; pass an instance"
                " of one"
            )
        return lambda: copy.deepcopy(module)
    if isinstance(model, plan.OwnModule):
        kind = import_class(model)
        return lambda: build_own_module(kind, model.name, inputs.width, outputs)
    assert not isinstance(model, plan.Worded), (
        "models with a word table are built in training/private"
    )
    dense = inputs.dense.width if isinstance(inputs, Mixed) else 0
    return lambda: networks.build(model, inputs.width, outputs, dense)
