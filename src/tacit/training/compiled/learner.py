"""Compiled learner: logistic regression and feed-forward nets of any widths, on sparse or dense
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.client import ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows, Sparse, SparseUpdates, Vector
from tacit.training.compiled import first_layer, full_batch, kernels
from tacit.training.compiled.first_layer import InputTable
from tacit.training.compiled.keep import keep_kernels
from tacit.training.compiled.layout import Layout
from tacit.training.compiled.memo import MEMO, hash_arrays
from tacit.training.compiled.optimizer import OptimiserState, build_rule
from tacit.training.contract import Group, Update
from tacit.training.head import HeadPlace
from tacit.training.last_part import DenseLayer, FeedForwardRows
from tacit.training.schedule import build_pace, count_full_batch_steps, list_batch_ends
from tacit.training.unit import scale_by_root_rows, scale_to_unit, scales_by_root

_PREDICT_ROWS = 512
_TOGETHER = 1 << 18
"""Floats that the nets of clients trained in one call may fill: small clients share a call, a large
one has its own.
"""


_INDEX_ENTRIES = 1 << 23
"""Entries of clients' rows whose numbering is cached between rounds (64 MB at most); for others it
is computed each time.
"""


class CompiledLearner:
    """A feed-forward net over the rows of a site's clients."""

    parallel: Literal["threads", "processes"] = "threads"
    personal = False

    def __init__(
        self, model: plan.Compiled, local: plan.Local, rows: Rows, clients: Clients
    ) -> None:
        keep_kernels()
        outputs = 1 if len(rows.classes) <= 2 else len(rows.classes)
        gated = isinstance(model, plan.LSTMStep)
        widths = (rows.inputs.width, *_first_widths(model), *model.hidden, outputs)
        first_biases = not isinstance(model, plan.Embedding) and (
            not isinstance(model, plan.Logistic) or model.bias
        )
        self.layout = Layout(widths, pooled=not first_biases, gated=gated)
        self.size, self.layers = self.layout.size, self.layout.layers
        dropout = float(model.dropout) if isinstance(model, plan.MLP | plan.LSTMStep) else 0.0
        self.shape = kernels.NetShape(np.array(widths), not first_biases, gated, dropout)
        has_bias = first_biases or len(widths) > 2
        self.head = (
            HeadPlace(self.size - (widths[-2] + 1) * outputs, widths[-2], outputs)
            if has_bias
            else None
        )
        self.parts = self.layout.layers[self._count_fixed() :]
        self.zero = isinstance(model, plan.Logistic) and model.starts_at_zero
        self.unit, self.root = local.normalise, scales_by_root(local)
        self.pace, self.rule = build_pace(local), build_rule(local)
        self.held = kernels.ClientRows(_build_table(rows.inputs), rows.labels, clients.starts)
        # Dense rows use every input, and weight decay changes weights that no row uses: then a client's
        # net is the whole model.
        self.whole = not len(self.held.table.starts) or local.weight_decay > 0
        self.index = self._index()
        self.full_steps = self._full_steps()

    def initial(self, draws: Draws) -> Vector:
        """Return Glorot-uniform weights and zero biases, or zeros."""
        return np.zeros(self.size, np.float32) if self.zero else self.layout.initial(draws)

    def forget(self) -> None:
        """Do nothing: no part of this model stays with a client."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Do nothing: no part of this model stays with a client."""

    def worker(self) -> CompiledWorker:
        """Return a worker with buffers of its own."""
        return CompiledWorker(self)

    def _index(self) -> kernels.Index:
        """Index the columns of as many clients as the memory budget allows."""
        ends = np.cumsum(self.entries(np.arange(len(self.held.starts) - 1)))
        count = 0 if self.whole else int(np.searchsorted(ends, _INDEX_ENTRIES, side="right"))
        room = int(ends[count - 1]) if count else 0
        index = kernels.Index(
            np.empty(room, np.int32), np.empty(room + 1, np.int32), np.zeros(count + 1, np.int64)
        )
        if count:
            kernels.number_clients(self.held, self.layout.widths[0], count, index)
        return index._replace(names=index.names[: index.name_starts[-1]].copy())

    def _full_steps(self) -> NDArray[np.int64]:
        """Return each client's number of steps if it trains by `full_batch.py`, else 0."""
        steps = count_full_batch_steps(self.pace, np.diff(self.held.starts))
        steps[steps < full_batch.FEWEST_STEPS] = 0
        plain = not (self.shape.pooled or self.shape.gated or self.shape.dropout)
        return steps if plain and not len(self.held.table.starts) else np.zeros_like(steps)

    def entries(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of sparse entries in each client's rows."""
        table, starts = self.held.table, self.held.starts
        return (
            table.starts[starts[clients + 1]] - table.starts[starts[clients]]
            if len(table.starts)
            else np.zeros_like(clients)
        )

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits. Two threads share the rows; the result does not depend on how."""
        table = _build_table(inputs)
        logits = np.empty((len(inputs), self.layout.widths[-1]), np.float32)

        def some(first: int) -> None:
            kernels.predict_rows(
                model, self.shape, table, first, logits[first : first + _PREDICT_ROWS]
            )

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(some, range(0, len(inputs), _PREDICT_ROWS)))
        return logits

    def below(
        self, model: Vector, inputs: Inputs, slot: ClientSlot, round_no: int
    ) -> NDArray[np.float32]:
        """Return the inputs of the last layer: the features, or the outputs of the layer before."""
        return self._compute_inputs(model, inputs, 1)

    def read_part(
        self, model: Vector, rows: Rows, size: int, slot: ClientSlot, round_no: int
    ) -> FeedForwardRows:
        """Return rows as inputs of the last layers, which have `size` parameters."""
        ends = np.cumsum(self.parts[::-1]).tolist()
        count = ends.index(size) + 1
        pairs = zip(self.layout.widths[:-1], self.layout.widths[1:], strict=True)
        layers = [
            DenseLayer(fan_in, fan_out, bias=whole > fan_in * fan_out)
            for (fan_in, fan_out), whole in zip(pairs, self.layout.layers, strict=True)
        ]
        inputs = self._compute_inputs(model, rows.inputs, count)
        return FeedForwardRows(inputs, rows.labels, tuple(layers[-count:]))

    def _count_fixed(self) -> int:
        """Number of first layers that are no linear layers: an embedding, or the gates of an LSTM."""
        if self.layout.gated:
            return 2
        return int(self.layout.pooled and len(self.layout.widths) > 2)

    def _compute_inputs(self, model: Vector, inputs: Inputs, count: int) -> NDArray[np.float32]:
        """Return the inputs of the last `count` layers."""
        widths = self.shape.widths[:-count]
        if len(widths) == 1:
            return _to_matrix(inputs)
        out = np.empty((len(inputs), widths[-1]), np.float32)
        kernels.predict_rows(
            model[: self.size - sum(self.layout.layers[-count:])],
            self.shape._replace(widths=widths),
            _build_table(inputs),
            0,
            out,
        )
        # The kernel takes the last of these layers for logits; between layers there is a ReLU, but
        # not after an embedding or gates.
        smooth = (self.shape.pooled and len(widths) == 2) or (self.shape.gated and len(widths) == 3)
        return out if smooth else np.maximum(out, 0)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays."""
        return self.layout.tensors(model)


class CompiledWorker:
    """Buffers of one thread: the nets of a group of clients, one client's gradient and moments, and
    one update.
    """

    def __init__(self, learner: CompiledLearner) -> None:
        self.learner = learner
        self.width = learner.layout.widths[1]
        self.update = np.zeros(learner.size, np.float32)
        self.last = np.empty(0, np.int32)
        self.steps = 0
        self.numbers = np.zeros(0 if learner.whole else learner.layout.widths[0], np.int32)
        self.nets, self.moments = np.empty(0, np.float32), np.zeros((4, 0), np.float32)
        self.names, self.own = np.empty(0, np.int32), np.empty(0, np.int32)

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`."""
        return next(self.train_together(model, [slot], [draws], round_no)).updates[0]

    def train_on(self, model: Vector, slot: ClientSlot, draws: Draws) -> Update:
        """Return the update of further steps, continuing with the optimiser state of this worker's
        last client.

        For central training, where the same client continues; in a round every client starts with a
        fresh optimiser.
        """
        client = np.array([slot.block], np.int64)
        update = self._group(model, client, self._net_sizes(client), [draws], self.steps).updates[0]
        self.steps += len(
            list_batch_ends(
                self.learner.pace,
                int(np.diff(self.learner.held.starts[client[0] : client[0] + 2])[0]),
            )
        )
        return update

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[Group]:
        """Yield the clients' updates in order; as many clients as fit the buffers are trained in
        one compiled call.
        """
        clients = np.array([slot.block for slot in slots], np.int64)
        sizes, alone = self._net_sizes(clients), self.learner.full_steps[clients] > 0
        groups = np.cumsum(sizes) // _TOGETHER
        ends = np.diff(groups).astype(bool) | alone[1:] | alone[:-1]
        for group in np.split(np.arange(len(clients)), np.flatnonzero(ends) + 1):
            if alone[group[0]]:
                yield Group([self._train_full_batch(model, int(clients[group[0]]))])
            else:
                yield self._group(model, clients[group], sizes[group], [draws[i] for i in group])

    def _train_full_batch(self, model: Vector, client: int) -> SparseUpdate:
        """Return the update of a client that trains with full-batch steps."""
        learner, one = self.learner, np.array([client])
        begin, end = learner.held.starts[client : client + 2]
        inputs, labels = learner.held.table.matrix[begin:end], learner.held.labels[begin:end]
        steps = int(learner.full_steps[client])
        key = hash_arrays((model, inputs, labels), learner.layout.widths, learner.rule, steps)
        net = MEMO.get(key)
        if net is None:
            scratch = self._scratch(one, self._net_sizes(one))
            net = scratch.nets[: learner.size]
            net[:] = model
            state = OptimiserState(net, *scratch.moments[:, : learner.size])
            state.anchor[:] = model
            full_batch.descend(
                state,
                learner.shape.widths,
                full_batch.build_blocks(inputs, labels),
                learner.rule,
                steps,
            )
            MEMO.put(key, net)
        np.subtract(net, model, out=self.update)
        self._scale(self.update, np.array([0, learner.size]), one)
        return SparseUpdate(self, self.update, np.empty(0, np.int32))

    def _group(
        self,
        model: Vector,
        clients: NDArray[np.int64],
        sizes: NDArray[np.int64],
        draws: list[Draws],
        before: int = 0,
    ) -> Group:
        learner, width, first = self.learner, self.width, self.learner.layout.first
        seeds = np.array([one.at("shuffle").seed() for one in draws], np.uint64)
        scratch = self._scratch(clients, sizes)
        shared = kernels.Task(
            learner.shape,
            learner.held,
            learner.index,
            learner.pace,
            learner.rule,
            learner.whole,
            before,
        )
        kernels.train_clients(model, shared, clients, seeds, scratch)
        nets, names, starts, name_starts = (
            scratch.nets,
            scratch.names,
            scratch.net_starts,
            scratch.name_starts,
        )
        first_layer.subtract_model(model, names, name_starts, width, first, nets, starts)
        self._scale(nets, starts, clients)
        ends, name_ends = starts.tolist(), name_starts.tolist()
        updates = [
            SparseUpdate(self, nets[ends[i] : ends[i + 1]], names[name_ends[i] : name_ends[i + 1]])
            for i in range(len(clients))
        ]
        some_whole = (np.diff(starts) == learner.size).any()
        return Group(
            updates,
            None if some_whole else SparseUpdates(nets, starts, names, name_starts, width, first),
        )

    def _scale(
        self, updates: Vector, starts: NDArray[np.int64], clients: NDArray[np.int64]
    ) -> None:
        """Scale the clients' updates in place, as the plan says."""
        if self.learner.unit:
            scale_to_unit(updates, starts)
        if self.learner.root:
            scale_by_root_rows(updates, starts, np.diff(self.learner.held.starts)[clients])

    def _net_sizes(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return an upper bound on the size of each client's net."""
        layout, entries = self.learner.layout, self.learner.entries(clients)
        lines = np.where(
            self.learner.whole | (2 * entries > layout.widths[0]), layout.widths[0], entries
        )
        return np.asarray(lines * self.width + layout.size - layout.first, np.int64)

    def _scratch(self, clients: NDArray[np.int64], sizes: NDArray[np.int64]) -> kernels.Scratch:
        """Return buffers large enough for a group, reallocated only when a group is larger than all
        before.

        Gradients are zero at the start and after every step; the first step sets the moments.
        """
        entries = self.learner.entries(clients)
        if len(self.nets) < sizes.sum():
            self.nets = np.empty(int(sizes.sum()), np.float32)
        if self.moments.shape[1] < sizes.max():
            self.moments = np.zeros((4, int(sizes.max())), np.float32)
        if not self.learner.whole and len(self.names) <= entries.sum():
            self.names = np.empty(int(entries.sum()) + 1, np.int32)
        if not self.learner.whole and len(self.own) < entries.max():
            self.own = np.empty(int(entries.max()), np.int32)
        starts = np.zeros((2, len(clients) + 1), np.int64)
        return kernels.Scratch(
            self.nets, starts[0], self.names, starts[1], self.moments, self.numbers, self.own
        )

    def scatter(self, values: Vector, named: NDArray[np.int32]) -> Vector:
        """Scatter an update's values over the whole model."""
        if len(values) == len(self.update):
            if values is not self.update:
                self.update[:] = values
            self.last = np.arange(self.learner.layout.widths[0], dtype=np.int32)
            return self.update
        first_layer.clear_lines(self.update, self.last, self.width)
        first_layer.scatter_update(
            values, named, self.width, self.learner.layout.first, self.update
        )
        self.last = named.copy()
        return self.update


class SparseUpdate:
    """An update restricted to a client's own first-layer rows; expanded to the whole model only for
    encoding.
    """

    def __init__(self, worker: CompiledWorker, values: Vector, named: NDArray[np.int32]) -> None:
        self._worker, self._values, self._named = worker, values, named

    @property
    def row(self) -> Vector:
        """The update as one flat row, in the worker's buffer."""
        return self._worker.scatter(self._values, self._named)


def _first_widths(model: plan.Compiled) -> tuple[int, ...]:
    """Return the widths between inputs and hidden layers: an embedding's, or an LSTM's four gates
    and its state.
    """
    match model:
        case plan.LSTMStep():
            return 4 * model.units, model.units
        case plan.Embedding():
            return (model.embedding,)
        case plan.Logistic() | plan.MLP():
            return ()
        case _:
            assert_never(model)


def _to_matrix(inputs: Inputs) -> NDArray[np.float32]:
    rows = _to_sparse(inputs)
    if isinstance(rows, Dense):
        return np.ascontiguousarray(rows.matrix, np.float32)
    full = np.zeros((len(rows), rows.width), np.float32)
    where = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    full[where, rows.columns] = 1.0 if rows.values is None else rows.values
    return full


def _to_sparse(inputs: Inputs) -> Sparse | Dense:
    """Convert token sequences to sparse rows of relative word frequencies; return other inputs
    unchanged.

    The mean of a row's word embeddings is then this sparse row times the table. Padding is the last
    index.
    """
    assert not isinstance(inputs, Mixed), "sequences with further features train in PyTorch"
    if isinstance(inputs, Sparse) or not inputs.tokens:
        return inputs
    real = inputs.matrix != inputs.width - 1
    lengths = real.sum(axis=1)
    values = np.repeat((1 / np.maximum(1, lengths)).astype(np.float32), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Sparse(
        starts=starts,
        columns=inputs.matrix[real].astype(np.int32),
        values=values,
        width=inputs.width,
    )


def _build_table(inputs: Inputs) -> InputTable:
    """Return inputs as the kernels read them: a sparse triple or a matrix, the other left empty."""
    rows = _to_sparse(inputs)
    if isinstance(rows, Dense):
        matrix = np.ascontiguousarray(rows.matrix, np.float32)
        return InputTable(
            np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), matrix, 0
        )
    values = np.empty(0, np.float32) if rows.values is None else rows.values
    return InputTable(rows.starts, rows.columns, values, np.empty((0, 0), np.float32), 0)
