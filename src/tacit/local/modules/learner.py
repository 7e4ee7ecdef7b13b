"""The PyTorch path: any nn.Module, in processes, one thread each, so that results do not depend on their number."""

from __future__ import annotations

import copy
import importlib
import itertools
import os
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit import plan
from tacit.draws import Draws
from tacit.errors import PlanError
from tacit.local.contract import OneByOne, Update, WholeUpdate, Worker
from tacit.local.head import HeadPlace
from tacit.local.modules import networks
from tacit.local.modules.own import as_logits, checked, imported, own_module, tried
from tacit.local.schedule import batch_ends, pace_of, row_order
from tacit.local.unit import RootWorker, UnitWorker, scales_by_root
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows, Sparse, Vector
from tacit.seat import Seat

_PREDICT_ROWS = 512
_PROBE_ROWS = 2


@cache
def make_ready() -> None:
    """Load once what the first local step needs, before workers are forked; else each of them would load it for itself.

    PyTorch's optimisers load its compiler at their first step, two seconds of a worker's time; a compiled schedule loads numba.
    Large tensors lie in large pages, which PyTorch asks the system for if this variable says so: a step of a transformer then
    waits for a third of the page faults.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    importlib.import_module("torch._dynamo")
    row_order(1, int(batch_ends(pace_of(plan.Local()), 1)[-1]), np.uint64(0))


class TorchLearner:
    """An nn.Module over the rows of a site's clients. Its parameters, in their own order, are the flat vector."""

    parallel: Literal["threads", "processes"] = "processes"
    personal = False

    def __init__(self, model: plan.Model, local: plan.Local, rows: Rows, clients: Clients, module: object | None) -> None:
        make_ready()
        self.local, self.clients, self.inputs = local, clients, rows.inputs
        self.outputs = 1 if len(rows.classes) <= 2 else len(rows.classes)
        self.labels = torch.from_numpy(rows.labels.astype(np.int64))
        self._make = maker(model, rows.inputs, self.outputs, module)
        self.module = checked(self._make(), model.name)
        if len(rows) and (module is not None or isinstance(model, plan.OwnModule)):
            few = batch_of(rows.inputs, np.arange(min(_PROBE_ROWS, len(rows))))
            tried(self.module, model.name if module is None else type(module).__name__, few, self.outputs)
        self.names = [name for name, _ in self.module.named_parameters()]
        self.size = sum(parameter.numel() for parameter in self.module.parameters())
        own = [sum(part.numel() for part in one.parameters(recurse=False)) for one in self.module.modules()]
        self.layers = tuple(size for size in own if size)
        self.head = head_of(self.module, self.size, self.outputs)

    def below(self, model: Vector, inputs: Inputs, seat: Seat, round_no: int) -> NDArray[np.float32]:
        """Return what the last layer sees of some rows, whoever reads them."""
        module = copy.deepcopy(self.module)
        nn.utils.vector_to_parameters(torch.from_numpy(model.copy()), module.parameters())
        return seen_by_last(module, batches_of(inputs))

    def initial(self, draws: Draws) -> Vector:
        """Return the module's own initial weights, made under a seed from this address."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of(draws))
            return nn.utils.parameters_to_vector(self._make().parameters()).detach().numpy().astype(np.float32)

    def forget(self) -> None:
        """Remove nothing: no part of this model stays with a client."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Check nothing: no part of this model stays with a client."""

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
            parts = [as_logits(module(*batch), self.outputs) for batch in batches_of(inputs)]
        return torch.cat(parts).numpy().astype(np.float32)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the module's parameters by name."""
        sizes = [parameter.shape for parameter in self.module.parameters()]
        ends = itertools.accumulate(int(np.prod(shape)) for shape in sizes)
        return {
            name: model[end - int(np.prod(shape)) : end].reshape(shape).copy()
            for name, shape, end in zip(self.names, sizes, ends, strict=True)
        }


class TorchWorker(OneByOne):
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

    def train(self, model: Vector, seat: Seat, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`."""
        learner, local = self.learner, self.learner.local
        base, end = int(learner.clients.starts[seat.block]), int(learner.clients.starts[seat.block + 1])
        anchor = torch.from_numpy(model)
        self.flat.copy_(anchor)
        torch.manual_seed(seed_of(draws))  # dropout and the like; this process trains one client at a time
        optimizer = optimizer_for(local, list(self.module.parameters()))
        ends = batch_ends(pace_of(local), end - base)
        order = row_order(end - base, int(ends[-1]) if len(ends) else 0, np.uint64(draws.at("shuffle").seed()))
        begin = 0
        for stop in ends:
            rows = base + order[begin:stop]
            optimizer.zero_grad()
            loss_of(self.module(*batch_of(learner.inputs, rows)), learner.labels[rows]).backward()  # type: ignore[no-untyped-call]
            if local.proximal > 0:
                self._pull(anchor, local.proximal)
            optimizer.step()
            begin = stop
        return WholeUpdate((self.flat.detach() - anchor).numpy())

    def _pull(self, anchor: torch.Tensor, strength: float) -> None:
        start = 0
        for parameter in self.module.parameters():
            home = anchor[start : start + parameter.numel()].view_as(parameter)
            if parameter.grad is not None:
                parameter.grad.add_(parameter.detach() - home, alpha=strength)
            start += parameter.numel()


def batch_of(inputs: Inputs, rows: NDArray[np.int64]) -> tuple[torch.Tensor, ...]:
    """Return rows as a module is called with them: long token indices, float features, or the one and then the other."""
    if isinstance(inputs, Mixed):
        return (*batch_of(inputs.tokens, rows), *batch_of(inputs.beside, rows))
    if isinstance(inputs, Dense):
        some = torch.from_numpy(inputs.matrix[rows])
        return (some.long() if inputs.tokens else some,)
    picked: Sparse = inputs.take(rows)
    full = np.zeros((len(rows), inputs.width), np.float32)
    where = np.repeat(np.arange(len(rows)), np.diff(picked.starts))
    full[where, picked.columns] = 1.0 if picked.values is None else picked.values
    return (torch.from_numpy(full),)


def batches_of(inputs: Inputs, rows: int = _PREDICT_ROWS) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield all rows in order, some at a time."""
    for first in range(0, len(inputs), rows):
        yield batch_of(inputs, np.arange(first, min(first + rows, len(inputs))))


def head_of(module: nn.Module, size: int, outputs: int) -> HeadPlace | None:
    """Return where the last layer lies in a flat vector of `size` that ends with it; None if it is not linear with a bias."""
    last = _last(module)
    if not isinstance(last, nn.Linear) or last.bias is None or last.out_features != outputs:
        return None
    return HeadPlace(size - (last.in_features + 1) * outputs, last.in_features, outputs, by_output=True)


def seen_by_last(module: nn.Module, batches: Iterator[tuple[torch.Tensor, ...]]) -> NDArray[np.float32]:
    """Return what the last layer is given for all rows of some batches, in evaluation mode."""
    seen, last = list[torch.Tensor](), _last(module)
    module.eval()
    hook = last.register_forward_pre_hook(lambda _, given: seen.append(given[0].reshape(-1, given[0].shape[-1])))
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


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean logistic loss for one logit per row, the mean cross-entropy for several."""
    if logits.ndim == 1 or logits.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(logits.reshape(-1), labels.to(logits.dtype))
    return nn.functional.cross_entropy(logits, labels)


def optimizer_for(local: plan.Local, parameters: list[Any]) -> torch.optim.Optimizer:
    """Return a fresh optimiser as the plan says, over parameters or groups of them."""
    match local.optimizer:
        case "sgd":
            return torch.optim.SGD(parameters, lr=local.lr)
        case "adam":
            return torch.optim.Adam(parameters, lr=local.lr, weight_decay=local.weight_decay, fused=True)
        case "adamw":
            return torch.optim.AdamW(parameters, lr=local.lr, weight_decay=local.weight_decay, fused=True)
        case _:
            assert_never(local.optimizer)


def seed_of(draws: Draws) -> int:
    """Return a seed for torch from an address."""
    return int(draws.at("torch").words(1)[0] >> np.uint64(1))


def maker(model: plan.Model, inputs: Inputs, outputs: int, module: object | None) -> Any:
    """Return a function that makes the module a plan or a caller names."""
    if module is not None:
        if not isinstance(module, nn.Module):
            raise PlanError(f"run(module={type(module).__name__}) needs a torch.nn.Module; pass an instance of one")
        return lambda: copy.deepcopy(module)
    if isinstance(model, plan.OwnModule):
        kind = imported(model)
        return lambda: own_module(kind, model.name, inputs.width, outputs)
    assert not isinstance(model, plan.Worded), "models with a word table are made in local/private"
    beside = inputs.beside.width if isinstance(inputs, Mixed) else 0
    return lambda: networks.build(model, inputs.width, outputs, beside)
