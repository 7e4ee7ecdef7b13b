"""Partially local models: shared parameters are sent, private ones stay with the client.

The flat vector, and with it every update, message, checkpoint and model file, holds shared
parameters only. Private ones are named by patterns in the plan or declared by the model
(`private_parameters`). Known methods are combinations of what is private (nothing, words, lower
layers), how it is adapted, and a proximal term.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit import plan
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows, Vector
from tacit.training.contract import DenseUpdate, Figures, Home, SequentialWorker, Tests, Update
from tacit.training.head import HeadPlace
from tacit.training.modules.learner import (
    compute_head_inputs,
    derive_seed,
    find_head,
    iterate_batches,
    make_batch,
    module_factory,
    warm_up,
)
from tacit.training.modules.own import check_module
from tacit.training.modules.part_rows import ModuleRows, list_layer_sizes, take_last
from tacit.training.private import word_networks
from tacit.training.private.steps import ModuleParts, Training, train_locally
from tacit.training.private.store import Arrays, PrivateStore
from tacit.training.private.vocabulary import Vocabularies, Vocabulary

_PREDICT_ROWS = 256
_TABLE = "words.private"


class Split(NamedTuple):
    """A module's parameter names: shared and private."""

    shared: tuple[str, ...]
    private: tuple[str, ...]


class PartialLearner:
    """A module over the rows of a site's clients, with private parameters at each client."""

    parallel: Literal["threads", "processes"] = "processes"
    personal = True

    def __init__(
        self,
        model: plan.Model,
        local: plan.Local,
        rows: Rows,
        clients: Clients,
        module: object | None,
        home: Home,
    ) -> None:
        warm_up()
        self.local, self.rows, self.clients, self.home = local, rows, clients, home
        self.outputs = 1 if len(rows.classes) <= 2 else len(rows.classes)
        self.wordings = _wordings(model, home)
        self._make: Callable[[], nn.Module]
        if self.wordings is not None and isinstance(model, plan.Worded):
            shared_rows, width = self.wordings.shared_rows, self.wordings.width
            dense = rows.inputs.dense.width if isinstance(rows.inputs, Mixed) else 0
            self._make = lambda: word_networks.build(
                model,
                word_networks.WordTableShape(shared_rows, width, dense, self.outputs),
                home.checkpoint,
            )
        else:
            self._make = module_factory(model, rows.inputs, self.outputs, module)
        self.module: nn.Module = check_module(self._make(), model.name)
        self.split = split_names(self.module, home.private)
        self.size = sum(
            dict(self.module.named_parameters())[name].numel() for name in self.split.shared
        )
        self.layers: tuple[int, ...] = (self.size,)
        self.head = self._head()
        self.parts = list_layer_sizes(self.module, self.split.shared)
        self.store = PrivateStore(
            home.folder, keeps_arrays=home.private.stores and home.private.train
        )
        self._firsts: dict[Draws, Arrays] = {}
        self._reader: PartialWorker | None = None

    def _head(self) -> HeadPlace | None:
        """Find the last layer among the shared parameters; None if it is private or not linear."""
        names = [name for name, _ in self.module.named_parameters()]
        return (
            find_head(self.module, self.size, self.outputs)
            if tuple(names[-2:]) == self.split.shared[-2:]
            else None
        )

    def below(
        self, model: Vector, inputs: Inputs, slot: ClientSlot, round_no: int
    ) -> NDArray[np.float32]:
        """Return the inputs of the last layer, with the client's private parameters as of the start
        of `round_no`.
        """
        self._reader = self._reader or self.worker()
        words = self.vocabulary(slot, inputs)
        self._reader.assemble(model, self.load_private(slot, words, round_no))
        return compute_head_inputs(
            self._reader.module,
            (_renumber(some, words) for some in iterate_batches(inputs, _PREDICT_ROWS)),
        )

    def read_part(
        self, model: Vector, rows: Rows, size: int, slot: ClientSlot, round_no: int
    ) -> ModuleRows:
        """Return rows as inputs of the last shared layers, which have `size` parameters, with the
        client's private parameters as of the start of `round_no`.
        """
        worker, words = self.worker(), self.vocabulary(slot, rows.inputs)
        worker.assemble(model, self.load_private(slot, words, round_no))
        last = take_last(list(worker.parts.shared), size)

        def read(places: NDArray[np.int64]) -> tuple[torch.Tensor, ...]:
            return _renumber(make_batch(rows.inputs, places), words)

        return ModuleRows(worker.module, last, read, rows.labels, self.outputs)

    def initial(self, draws: Draws) -> Vector:
        """Return the initial shared parameters."""
        return np.concatenate(
            [self._first(draws)[name].ravel() for name in self.split.shared]
        ).astype(np.float32)

    def forget(self) -> None:
        """Remove private parameters that an earlier start stored."""
        self.store.clear()

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Raise RunError unless stored private parameters are from each client's last round before
        `before`.
        """
        self.store.check(last_rounds, before)

    def worker(self) -> PartialWorker:
        """Return a worker with a module of its own."""
        return PartialWorker(self)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the shared parameters by name."""
        named, found, start = dict(self.module.named_parameters()), dict[str, NDArray[Any]](), 0
        for name in self.split.shared:
            stop = start + named[name].numel()
            found[name] = model[start:stop].reshape(tuple(named[name].shape)).copy()
            start = stop
        return found

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits for a new client: shared parameters with initial private ones."""
        worker = self.worker()
        nobody = np.zeros((0, 0), np.int32)
        newcomer = ClientSlot(0, 0, ClientRandomness(self.home.beginning, 0))
        words = (
            self.wordings.vocabulary(newcomer, nobody, get_tokens(inputs))
            if self.wordings
            else None
        )
        worker.assemble(model, self.first_private(newcomer, words))
        return worker.logits(inputs, words)

    def vocabulary(self, slot: ClientSlot, *read: Inputs) -> Vocabulary | None:
        """Return a client's numbering of its own words and of words in test rows."""
        if self.wordings is None:
            return None
        begin, end = self.clients.starts[slot.block], self.clients.starts[slot.block + 1]
        met = np.concatenate([get_tokens(rows).ravel() for rows in read]) if read else None
        return self.wordings.vocabulary(slot, get_tokens(self.rows.inputs)[begin:end], met)

    def first_private(self, slot: ClientSlot, words: Vocabulary | None) -> Arrays:
        """Return the client's initial private parameters."""
        first = {
            name: array.copy()
            for name, array in self._first(self.home.beginning).items()
            if name in self.split.private
        }
        if words is not None and self.wordings is not None:
            first[_TABLE] = self.wordings.start(slot, words.units)
        return first

    def load_private(self, slot: ClientSlot, words: Vocabulary | None, before: int) -> Arrays:
        """Return the client's private parameters after its last round before `before`.

        Words added since then (those in test rows only) have their initial vectors.
        """
        stored = self.store.read(slot.name, before)
        return (
            self.first_private(slot, words)
            if stored is None
            else self.extend_rows(slot, words, stored)
        )

    def extend_rows(self, slot: ClientSlot, words: Vocabulary | None, private: Arrays) -> Arrays:
        """Extend private parameters so that every word has a row."""
        if words is None or self.wordings is None:
            return private
        return {**private, _TABLE: self.wordings.extend_rows(slot, private[_TABLE], words.units)}

    def _first(self, draws: Draws) -> Arrays:
        if draws in self._firsts:
            return self._firsts[draws]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed(draws))
            made = {
                name: one.detach().numpy().copy() for name, one in self._make().named_parameters()
            }
        if self.wordings is not None:
            made["words.shared"] = self.wordings.draw_shared_table(draws.at("words"))
        self._firsts = {draws: made}
        return made


class PartialWorker(SequentialWorker):
    """One module, loaded with the shared parameters and the private ones of one client at a time."""

    def __init__(self, learner: PartialLearner) -> None:
        torch.set_num_threads(1)
        self.learner = learner
        self.module = copy.deepcopy(learner.module)
        self.flat = torch.empty(learner.size)
        self._everybodys: tuple[Vector, Figures] | None = None
        self.named = dict(self.module.named_parameters())
        start = 0
        for name in learner.split.shared:
            one = self.named[name]
            one.data = self.flat[start : start + one.numel()].view_as(one)
            start += one.numel()
        self.parts = ModuleParts(*([self.named[name] for name in names] for names in learner.split))

    def assemble(self, model: Vector, private: Arrays) -> None:
        """Load shared and private parameters into the module."""
        self.flat.copy_(torch.from_numpy(model))
        for name, array in private.items():
            self.named[name].data = torch.from_numpy(array.copy())

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """Return the update of the shared parameters; the private ones go to the client's store."""
        words = self.learner.vocabulary(slot)
        private = self.learner.load_private(slot, words, round_no)
        self.assemble(model, private)
        self._local_half(slot, words, draws)
        update = (self.flat.detach() - torch.from_numpy(model)).numpy()
        kept = {
            name: self.named[name].detach().numpy().copy() for name in self.learner.split.private
        }
        facts = words.own.to_json() if words else b""
        self.learner.store.write(slot.name, round_no, kept, facts)
        return DenseUpdate(update)

    def evaluate_assembled(
        self, model: Vector, slot: ClientSlot, round_no: int, tests: Tests
    ) -> Figures:
        """Evaluate the shared parameters with the client's private ones as of the start of
        `round_no`.
        """
        words = self.learner.vocabulary(slot, tests.common.inputs, tests.of(slot).inputs)
        private = self.learner.load_private(slot, words, round_no)
        self.assemble(model, private)
        if any(array.size for array in private.values()):
            return self._figures(slot, words, tests, self._evaluate_common(words, tests))
        if (
            self._everybodys is None or self._everybodys[0] is not model
        ):  # the same for all clients: nothing is private
            self._everybodys = (model, self._evaluate_common(words, tests))
        return self._figures(slot, words, tests, self._everybodys[1])

    def evaluate_trained(
        self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int, tests: Tests
    ) -> Figures:
        """Evaluate the client's model after the training it would do in `round_no`; nothing is
        stored.
        """
        words = self.learner.vocabulary(slot)
        self.assemble(model, self.learner.load_private(slot, words, round_no))
        self._local_half(slot, words, draws)
        wider = self.learner.vocabulary(slot, tests.common.inputs, tests.of(slot).inputs)
        kept = {name: self.named[name].detach().numpy() for name in self.learner.split.private}
        for name, array in self.learner.extend_rows(slot, wider, kept).items():
            self.named[name].data = torch.from_numpy(array)
        return self._figures(slot, wider, tests, self._evaluate_common(wider, tests))

    def logits(self, inputs: Inputs, words: Vocabulary | None) -> NDArray[np.float32]:
        """Return logits of the assembled model in evaluation mode."""
        self.module.eval()
        parts = []
        with torch.no_grad():
            for some in iterate_batches(inputs, _PREDICT_ROWS):
                parts.append(self.module(*_renumber(some, words)).reshape(-1, self.learner.outputs))
        self.module.train()
        return (
            torch.cat(parts).numpy().astype(np.float32)
            if parts
            else np.zeros((0, self.learner.outputs), np.float32)
        )

    def _local_half(self, slot: ClientSlot, words: Vocabulary | None, draws: Draws) -> None:
        learner = self.learner
        base, end = (
            int(learner.clients.starts[slot.block]),
            int(learner.clients.starts[slot.block + 1]),
        )

        def batch(rows: NDArray[np.int64]) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
            inputs = _renumber(make_batch(learner.rows.inputs, base + rows), words)
            return inputs, torch.from_numpy(learner.rows.labels[base + rows].astype(np.int64))

        self.module.train()
        torch.manual_seed(derive_seed(draws))
        train_locally(
            Training(self.module, learner.local, learner.home.private, batch),
            self.parts,
            end - base,
            draws,
        )

    def _evaluate_common(self, words: Vocabulary | None, tests: Tests) -> Figures:
        """Evaluate the loaded model on the common test rows."""
        return tests.measure(self.logits(tests.common.inputs, words), tests.common.labels)

    def _figures(
        self, slot: ClientSlot, words: Vocabulary | None, tests: Tests, on_common: Figures
    ) -> Figures:
        """Evaluate the loaded model on the client's own rows and add the metrics on the common
        rows.
        """
        own = tests.of(slot)
        right = (
            tests.measure(self.logits(own.inputs, words), own.labels)["accuracy"]
            if len(own)
            else float("nan")
        )
        return {**on_common, "local_accuracy": right}


def split_names(module: nn.Module, private: plan.Private) -> Split:
    """Split parameter names into shared and private; raise PlanError if a pattern matches none or
    none is left to share.
    """
    names = [name for name, _ in module.named_parameters()]
    declared: tuple[str, ...] = getattr(module, "private_parameters", ())
    declared = declared if private.words == "all" or "words.private" not in declared else (_TABLE,)
    for pattern in private.parameters:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise PlanError(
                f"private.parameters: {pattern!r} matches none of the model's parameters"
                f" {', '.join(names)}; correct the pattern"
            )
    kept = tuple(
        name
        for name in names
        if any(fnmatchcase(name, pattern) for pattern in (*declared, *private.parameters))
    )
    shared = tuple(name for name in names if name not in kept)
    if not shared:
        raise PlanError(
            "private.parameters: every parameter is private and none is left to share; use regime ="
            " 'local_only'"
        )
    return Split(shared, kept)


def get_tokens(inputs: Inputs) -> NDArray[np.int32]:
    """Return the token numbers of rows, without other features."""
    words = inputs.tokens if isinstance(inputs, Mixed) else inputs
    assert isinstance(words, Dense)
    assert words.tokens
    return words.matrix


def _renumber(
    batch: tuple[torch.Tensor, ...], words: Vocabulary | None
) -> tuple[torch.Tensor, ...]:
    """Renumber a batch by the client's vocabulary and truncate it to its longest row."""
    if words is None:
        return batch
    rows = torch.from_numpy(words.rows)[batch[0]]
    longest = int((rows != 0).sum(1).max()) if rows.numel() else 1
    return rows[:, : max(1, longest)], *batch[1:]


def _wordings(model: plan.Model, home: Home) -> Vocabularies | None:
    if home.lexicon is None or not isinstance(model, plan.Worded):
        return None
    vectors = home.lexicon.vectors
    if vectors is None:
        assert isinstance(model, plan.BiLSTM), "a checkpoint has vectors"
        return Vocabularies(home.private, home.lexicon, model.embedding, home.buckets)
    width = vectors.shape[1]
    if isinstance(model, plan.BiLSTM) and width != model.embedding:
        raise PlanError(
            f"model.embedding must be {width}, the width of the public vectors, got"
            f" {model.embedding}"
        )
    return Vocabularies(home.private, home.lexicon, width, home.buckets)
