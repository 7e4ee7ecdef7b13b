"""The memory of clients on a cluster: private parameters and the state of codecs.

It stays with the actor that computed it, as files of its own. Each change also goes to the folder of
the run, so that a lost node costs one round of its clients and nothing else. An actor that has not the
newest files of a client receives them with the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tacit.cluster.packet import Blob
from tacit.errors import WireError
from tacit.simulation.cluster.bodies import MemoryFile
from tacit.training.private.store import PrivateStore

Files = tuple[list[MemoryFile], list[Blob]]
SITE = "site"
"""The name under which a site keeps the model that its clients decode."""


def find_stores(folders: Mapping[str, Path]) -> dict[str, PrivateStore]:
    """The stores of a run's folder or of an actor's, by name."""
    return {name: PrivateStore(folder) for name, folder in folders.items()}


class MemoryOnCluster:
    """What the driver knows: which actor has the newest files of each client."""

    def __init__(self, stores: Mapping[str, PrivateStore], *, decodes: bool) -> None:
        """`decodes` says that clients decode the model, so that each actor keeps it."""
        self.stores, self.decodes = stores, decodes
        self._actors: dict[tuple[str, str], int] = {}
        self._decoded: dict[int, int] = {}

    def pack_for(self, actor: int, clients: Sequence[int], before: int) -> Files:
        """The files that an actor lacks: the newest ones before a round."""
        files: Files = ([], [])
        for name, store in self.stores.items():
            if not store.folder.exists():
                continue
            for client in map(str, clients):
                if self._actors.get((name, client)) != actor:
                    self._add_newest(files, name, client, before)
                    self._actors[name, client] = actor
            if self.decodes and self._decoded.get(actor, -1) < before - 1:
                self._add_newest(files, name, SITE, before)
        self._decoded[actor] = before
        return files

    def _add_newest(self, files: Files, name: str, client: str, before: int) -> None:
        newest = self.stores[name].find_last_round(client, before)
        if newest is not None:
            _add(files, self.stores[name], MemoryFile(name, client, newest))

    def take(self, actor: int, memory: Sequence[MemoryFile], blobs: Sequence[Blob]) -> None:
        """Write the files that an actor changed into the folder of the run."""
        write_files(self.stores, memory, blobs)
        for one in memory:
            self._actors[one.store, one.client] = actor


def collect_files(
    stores: Mapping[str, PrivateStore], clients: Sequence[int], round_no: int
) -> Files:
    """The files that clients wrote in a round; runs in an actor."""
    files: Files = ([], [])
    for name, store in stores.items():
        if store.folder.exists():
            for client in clients:
                _add(files, store, MemoryFile(name, str(client), round_no))
    return files


def write_files(
    stores: Mapping[str, PrivateStore], memory: Sequence[MemoryFile], blobs: Sequence[Blob]
) -> None:
    """Write files that another machine sent."""
    if len(memory) != len(blobs):
        raise WireError(f"packet refused: {len(blobs):,} files where {len(memory):,} were stated")
    for one, blob in zip(memory, blobs, strict=True):
        if one.store not in stores or not (one.client.isdecimal() or one.client == SITE):
            raise WireError("packet refused: it has a file of memory that no client has")
        stores[one.store].write_file(one.client, one.round_no, blob.tobytes())


def _add(files: Files, store: PrivateStore, one: MemoryFile) -> None:
    content = store.read_file(one.client, one.round_no)
    if content is not None:
        files[0].append(one)
        files[1].append(np.frombuffer(content, np.uint8))
