"""What an actor of a cluster does: it prepares the rows of a run from its plan, compares their hash with
the driver's, keeps the learner, and computes the responses of chunks of a cohort.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import plan as plans
from tacit import training
from tacit.assembly.exchanges import ServerParts
from tacit.cluster.packet import Blob, Packet, pack_arrays, unpack_arrays
from tacit.errors import RunError, WireError
from tacit.plan import Plan
from tacit.protocol.merge_tree import merge_block
from tacit.protocol.round import Exchange, Gathered, Request
from tacit.randomness import Draws
from tacit.simulation.arm_clients import ArmClients, ClientSetting
from tacit.simulation.baselines.arms import list_arms
from tacit.simulation.cluster import bodies
from tacit.simulation.cluster.memory import collect_files, find_stores, write_files
from tacit.simulation.evaluate_clients import Models, build_tests, evaluate_client
from tacit.simulation.fingerprint import data_fingerprint
from tacit.simulation.prepared_rows import SimulatedData, prepare
from tacit.training.compiled.blas import one_thread

PACKAGE = "tacit"


class ClusterParty:
    """All clients of a run, at one actor; which of them respond is up to the driver."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="tacit-actor-")
        self._opened = 0
        self._prepared: tuple[str, SimulatedData] | None = None
        self._arm: OpenedArm | None = None

    def answer(self, kind: str, own: Packet, shared: Packet) -> Packet:
        """Answer a call of the driver, in one thread."""
        with one_thread():
            if kind == bodies.OPEN:
                return self._open(own, shared)
            if self._arm is None:
                raise WireError("packet refused: no arm of a run is open at this actor")
            if kind == bodies.RESPOND:
                return self._arm.respond(own, shared)
            if kind == bodies.EVALUATE:
                return self._arm.evaluate(own, shared)
            raise WireError(f"packet refused: actors have no call {kind!r}")

    def _open(self, own: Packet, shared: Packet) -> Packet:
        """Prepare the rows of an arm and build its clients."""
        opening = bodies.decode(own.body, bodies.Opening)
        if opening.version != version(PACKAGE):
            raise RunError(
                f"a node of the cluster has Tacit {version(PACKAGE)}, the driver {opening.version};"
                " install the same version on every node"
            )
        self._opened += 1
        folder = Path(self._scratch.name) / str(self._opened) / opening.run
        folder.mkdir(parents=True)
        files = shared.blobs[int(opening.has_rows) :]
        for name, content in zip(opening.files, files, strict=True):
            _write(folder, name, content)
        plan = plans.parse(opening.plan)
        rows = pl.read_ipc(io.BytesIO(shared.blobs[0].tobytes())) if opening.has_rows else None
        arm = list_arms(plan)[opening.arm]
        data = self._prepare(choose_data_plan(plan, arm), rows, opening.rows)
        setting = ClientSetting(
            folder=folder, identity=opening.identity, draws=Draws.seeded(plan.seed), data=data
        )
        self._arm = OpenedArm(ArmClients(setting, opening.arm, arm))
        return Packet(b"")

    def _prepare(self, plan: Plan, rows: object | None, expected: str) -> SimulatedData:
        """The prepared rows of a plan; those of the last arm, if they are the same."""
        if self._prepared is not None and self._prepared[0] == expected:
            return self._prepared[1]
        self._prepared = None
        data = prepare(plan, Draws.seeded(plan.seed), rows)
        found = data_fingerprint(data)
        if found != expected:
            raise RunError(
                f"data.source = {plan.data.source!r}: a node of the cluster has other rows than the"
                " driver; give every node the same files at the same path, and the same versions of"
                " Python packages"
            )
        self._prepared = found, data
        return data


def choose_data_plan(run: Plan, arm: Plan) -> Plan:
    """The plan by which the rows of an arm are prepared: the run's, unless the arm has features of
    its own.
    """
    return run if arm.features == run.features else arm


def _write(folder: Path, name: str, content: Blob) -> None:
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise WireError("packet refused: a file of the run lies outside of its folder")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(content.tobytes())


class OpenedArm:
    """The clients of an arm with one worker, their exchanges and their memory."""

    def __init__(self, clients: ArmClients) -> None:
        self._clients, self._site = clients, clients.site
        exchanges = clients.build_exchanges(ServerParts())
        self._exchanges = {exchange.name: exchange for exchange in exchanges}
        assert self._site.learner is not None
        self._worker = self._site.learner.worker()
        self._stores = find_stores(clients.memory_folders())
        self._asked: tuple[bytes, Request] | None = None
        self._tests: training.Tests | None = None

    def respond(self, own: Packet, shared: Packet) -> Packet:
        """The sum over some chunks of a request, and the memory that their clients changed."""
        chunks = bodies.decode(own.body, bodies.Chunks)
        asked, whole = bodies.decode(shared.body, bodies.Question), self._read_request(shared)
        exchange = self._exchanges.get(asked.exchange)
        if exchange is None:
            raise WireError(f"packet refused: the plan has no exchange {asked.exchange!r}")
        names, commitments = own.blobs[0].view(np.int64), own.blobs[1]
        write_files(self._stores, chunks.memory, own.blobs[2:])
        bound = {
            name: commitments[32 * place :][:32].tobytes()
            for place, name in enumerate(chunks.committed)
        }
        found = merge_block(
            np.split(names, np.cumsum(chunks.sizes)[:-1]),
            partial(self._compute_chunk, exchange, whole, bound),
        )
        shapes, arrays = pack_arrays(exchange.pack_total(found.total))
        memory, files = collect_files(self._stores, names.tolist(), asked.round_no)
        body = bodies.ChunksSum(
            clients=found.clients,
            bytes_up=found.bytes_up,
            refused=[(one.sender, one.reason) for one in found.refused],
            total=shapes,
            memory=memory,
        )
        return Packet(bodies.encode(body), [*arrays, *files])

    def _compute_chunk(
        self,
        exchange: Exchange,
        whole: Request,
        bound: dict[int, bytes],
        names: NDArray[np.int64],
    ) -> Gathered:
        committed = {name: bound[name] for name in names.tolist() if name in bound}
        request = Request(**{**vars(whole.part(names)), "commitments": committed})
        return exchange.respond_many(self._site, self._worker, request)

    def _read_request(self, shared: Packet) -> Request:
        """The request to the whole cohort; the same object for all its chunks, so that it is decoded
        once.
        """
        asked = bodies.decode(shared.body, bodies.Question)
        payload, everyone, *common = shared.blobs
        self._site.behaviour.common = unpack_arrays(asked.common, common)
        if self._asked is None or self._asked[0] != shared.body:
            request = Request(
                exchange=asked.exchange,
                round_no=asked.round_no,
                to=everyone.view(np.int64),
                frame=(asked.head, payload.data),
                digest=asked.digest,
            )
            self._asked = shared.body, request
        return self._asked[1]

    def evaluate(self, own: Packet, shared: Packet) -> Packet:
        """The metrics of some clients' own models."""
        asked, arm = bodies.decode(own.body, bodies.ClientsToEvaluate), self._clients
        write_files(self._stores, asked.memory, own.blobs)
        if self._tests is None:
            self._tests = build_tests(arm.plan, arm.setting.data, arm.setting.draws)
        models = Models(
            site=self._site,
            tests=self._tests,
            shared=shared.blobs[0].view(np.float32),
            clients=np.array(asked.names, np.int64),
            round_no=asked.round_no,
        )
        worker: Any = self._worker
        figures: Sequence[training.Figures] = [
            evaluate_client(models, worker, client, asked.after_training) for client in asked.names
        ]
        return Packet(bodies.encode(bodies.ClientFigures(figures=list(figures))))
