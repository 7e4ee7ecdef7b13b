"""The driver's side of a cluster: it gives blocks of chunks to actors and merges their sums in the tree
of the cohort, so that the model is the same to the bit as on one machine.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from tacit import plan as plans
from tacit.cluster.crew import ActorTask, Crew
from tacit.cluster.packet import Packet, pack_arrays, unpack_arrays
from tacit.cluster.session import connect
from tacit.data.input_rows import from_input_rows
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.protocol.aggregation import split_into_chunks
from tacit.protocol.merge_tree import MergeTree
from tacit.protocol.round import Exchange, Gathered, Refusal, Request, Tick
from tacit.simulation.arm_clients import ArmClients
from tacit.simulation.cluster import bodies
from tacit.simulation.cluster.memory import MemoryOnCluster, find_stores
from tacit.simulation.cluster.party import PACKAGE
from tacit.simulation.evaluate_clients import Models
from tacit.simulation.fingerprint import data_fingerprint
from tacit.simulation.numbers import Numbers
from tacit.training import Figures

_BLOCKS = 2
"""Blocks of chunks per actor and request, at least: fewer blocks are fewer bytes, more are spread more
evenly.
"""
_CLIENTS_AT_ONCE = 4
"""Tasks per actor when clients' models are evaluated."""


class Cluster:
    """The actors of a run, one per core."""

    def __init__(self, crew: Crew, plan: Plan, rows: NDArray[np.uint8] | None) -> None:
        self.crew, self.plan, self._rows = crew, plan, rows

    def open_arm(self, clients: ArmClients) -> RemoteArm:
        """Let every actor build the clients of an arm."""
        setting, folders = clients.setting, clients.shared_files()
        files = {name: path for name, path in folders.items() if path.exists()}
        opening = bodies.Opening(
            version=version(PACKAGE),
            run=setting.folder.name,
            arm=clients.name,
            plan=plans.dump(self.plan),
            rows=data_fingerprint(setting.data),
            identity=setting.identity,
            has_rows=self._rows is not None,
            files=list(files),
        )
        blobs = [] if self._rows is None else [self._rows]
        blobs += [np.frombuffer(path.read_bytes(), np.uint8) for path in files.values()]
        self.crew.open(bodies.OPEN, Packet(bodies.encode(opening)), Packet(b"", blobs))
        return RemoteArm(self.crew, clients)


@contextmanager
def open_cluster(plan: Plan, input_rows: object | None, module: object | None) -> Iterator[Cluster]:
    """Yield the cluster that a plan names."""
    assert plan.engine.cluster is not None
    _refuse_python_parts(plan, input_rows, module)
    with connect(plan.engine.cluster) as cores:
        crew = Crew(cores, bodies.ANSWERER)
        try:
            yield Cluster(crew, plan, _pack_rows(input_rows))
        finally:
            crew.close()


def _refuse_python_parts(plan: Plan, input_rows: object | None, module: object | None) -> None:
    """Raise PlanError for what exists in this process only."""
    where = f"engine.cluster = {plan.engine.cluster!r}"
    if module is not None:
        raise PlanError(
            f"{where}: actors cannot receive a module given in Python; name its class in the plan,"
            " as model.name = 'package.module:Class', or remove engine.cluster"
        )
    if isinstance(input_rows, Numbers):
        raise PlanError(f"{where}: estimators train on this machine; remove engine.cluster")


def _pack_rows(input_rows: object | None) -> NDArray[np.uint8] | None:
    """Rows given in Python as an Arrow file, for nodes that cannot read them elsewhere."""
    if input_rows is None:
        return None
    content = io.BytesIO()
    frame, split = from_input_rows(input_rows)
    if split is not None:
        raise PlanError(
            "engine.cluster: rows in named splits cannot be sent to a cluster; pass one table"
        )
    frame.write_ipc(content)
    return np.frombuffer(content.getvalue(), np.uint8)


class RemoteArm:
    """The clients of an arm on the cluster."""

    def __init__(self, crew: Crew, clients: ArmClients) -> None:
        self._crew, self._site = crew, clients.site
        decodes = clients.agreement.codec.decoded_by == "clients"
        self._memory = MemoryOnCluster(find_stores(clients.memory_folders()), decodes=decodes)

    def sum_chunks(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered | None:
        """The sum over all chunks of a request; `tick` receives the number of clients that have
        finished.
        """
        chunks = list(split_into_chunks(request.to))
        if not chunks:
            return None
        if self._memory.decodes:
            self._site.model(request)  # who reads the sums must read every one of them
        level = choose_level(len(chunks), len(self._crew))
        blocks = [
            chunks[first : first + (1 << level)] for first in range(0, len(chunks), 1 << level)
        ]
        tasks = [
            ActorTask(place * len(self._crew) // len(blocks), partial(self._ask, request, block))
            for place, block in enumerate(blocks)
        ]
        shared = self._crew.store(self._build_question(request))
        tree, done = MergeTree[Gathered](len(chunks)), 0
        for one in self._crew.carry_out(bodies.RESPOND, tasks, shared):
            found = self._read_sum(exchange, one.actor, one.answer)
            done += found.clients + len(found.refused)
            tree.add(level, one.task, found)
            tick(done)
        return tree.take_root()

    def _build_question(self, request: Request) -> Packet:
        head, payload = request.frame
        common, arrays = pack_arrays(self._site.behaviour.common)
        body = bodies.Question(
            exchange=request.exchange,
            round_no=request.round_no,
            head=bytes(head),
            digest=request.digest,
            common=common,
        )
        everyone = request.to if request.everyone is None else request.everyone
        blobs = [np.frombuffer(payload, np.uint8), everyone.view(np.uint8), *arrays]
        return Packet(bodies.encode(body), blobs)

    def _ask(self, request: Request, block: Sequence[NDArray[np.int64]], actor: int) -> Packet:
        names = np.concatenate(block)
        memory, files = self._memory.pack_for(actor, names.tolist(), request.round_no)
        committed = [name for name in names.tolist() if name in request.commitments]
        said = b"".join(request.commitments[name] for name in committed)
        sizes = list(map(len, block))
        body = bodies.Chunks(sizes=sizes, committed=committed, memory=memory)
        blobs = [names.view(np.uint8), np.frombuffer(said, np.uint8), *files]
        return Packet(bodies.encode(body), blobs)

    def _read_sum(self, exchange: Exchange, actor: int, answer: Packet) -> Gathered:
        body = bodies.decode(answer.body, bodies.ChunksSum)
        arrays, files = answer.blobs[: len(body.total)], answer.blobs[len(body.total) :]
        self._memory.take(actor, body.memory, files)
        return Gathered(
            total=exchange.unpack_total(unpack_arrays(body.total, arrays)),
            clients=body.clients,
            bytes_up=body.bytes_up,
            refused=tuple(Refusal(sender=name, reason=why) for name, why in body.refused),
        )

    def evaluate(
        self, models: Models, after_training: bool, tick: Callable[[int], None]
    ) -> list[Figures]:
        """The metrics of clients' own models, evaluated by the actors that have their memory."""
        names, actors = models.clients.tolist(), len(self._crew)
        size = max(1, -(-len(names) // (_CLIENTS_AT_ONCE * actors)))
        some = [names[first : first + size] for first in range(0, len(names), size)]

        def build(names: list[int], actor: int) -> Packet:
            memory, files = self._memory.pack_for(actor, names, models.round_no)
            body = bodies.ClientsToEvaluate(
                names=names,
                round_no=models.round_no,
                after_training=after_training,
                memory=memory,
            )
            return Packet(bodies.encode(body), files)

        tasks = [
            ActorTask(place * actors // len(some), partial(build, part))
            for place, part in enumerate(some)
        ]
        shared = self._crew.store(Packet(b"", [models.shared.view(np.uint8)]))
        found, done = dict[int, list[Figures]](), 0
        for one in self._crew.carry_out(bodies.EVALUATE, tasks, shared):
            found[one.task] = bodies.decode(one.answer.body, bodies.ClientFigures).figures
            done += len(found[one.task])
            tick(done)
        return [figure for place in sorted(found) for figure in found[place]]


def choose_level(chunks: int, actors: int) -> int:
    """The level of the tree whose nodes are given to actors: the highest with enough blocks."""
    level = 0
    while -(-chunks // (2 << level)) >= _BLOCKS * actors:
        level += 1
    return level
