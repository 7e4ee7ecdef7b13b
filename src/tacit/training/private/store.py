"""On-disk storage of a client's private parameters between rounds.

Each round a client takes part in writes a new version. The version before it is kept, so that a run
resumed after a crash finds the one that belongs to its checkpoint. Only one client's parameters are
in memory at a time.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import RunError
from tacit.files import replace_file, seal, sync_folder, unseal

Arrays = dict[str, NDArray[np.float32]]
_FACTS = "facts"
"""The array of a file that holds its facts, so that equal contents are equal bytes."""


class PrivateStore:
    """One folder per client, one file per round, each with a checksum."""

    def __init__(self, folder: Path, keeps_arrays: bool = True) -> None:
        self.folder, self.keeps_arrays = folder, keeps_arrays

    def clear(self) -> None:
        """Delete the parameters of every client."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def check(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Raise RunError unless each client's newest version before a round is from the last round
        it took part in.
        """
        if not self.keeps_arrays:
            return
        for client, last in enumerate(last_rounds.tolist()):
            newest = max(
                (version for version in self._versions(client) if version < before), default=0
            )
            if newest != last:
                raise RunError(
                    f"{self._path(client, max(newest, last))}: is"
                    f" {'missing' if newest < last else 'from no round'}"
                )

    def read(self, client: int | str, before: int) -> Arrays | None:
        """Return the client's arrays after its last round before `before`; None if there was none."""
        found = self.read_with_facts(client, before)
        return None if found is None else found[0]

    def read_with_facts(self, client: int | str, before: int) -> tuple[Arrays, bytes] | None:
        """Return the same arrays with the facts that were stored with them; empty if there are
        none.
        """
        last = self.find_last_round(client, before)
        if last is None or not self.keeps_arrays:
            return None
        arrays, _ = unseal(self._path(client, last))
        facts = arrays.pop(_FACTS, np.empty(0, np.uint8))
        return arrays, facts.tobytes()

    def find_last_round(self, client: int | str, before: int) -> int | None:
        """The round of the arrays that `read` returns; None if there are none."""
        versions = [round_no for round_no in self._versions(client) if round_no < before]
        return versions[-1] if versions else None

    def read_file(self, client: int | str, round_no: int) -> bytes | None:
        """The bytes of a version's file; None if there is no such version."""
        path = self._path(client, round_no)
        return path.read_bytes() if path.exists() else None

    def write_file(self, client: int | str, round_no: int, content: bytes) -> None:
        """Write a version that another machine wrote, as `write` does."""
        self._replace(client, round_no, content)

    def write(self, client: int | str, round_no: int, arrays: Arrays, facts: bytes = b"") -> None:
        """Write a new version and delete all older ones except the previous one."""
        if not self.keeps_arrays:
            return
        stored = {_FACTS: np.frombuffer(facts, np.uint8)} if facts else {}
        self._replace(client, round_no, seal({**arrays, **stored}))

    def _replace(self, client: int | str, round_no: int, content: bytes | bytearray) -> None:
        """Write the file of a version and delete all older ones except the previous one."""
        older = [version for version in self._versions(client) if version < round_no]
        path = self._path(client, round_no)
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(path.parent.parent)
        replace_file(path, content)
        for version in older[:-1]:
            self._path(client, version).unlink(missing_ok=True)

    def _versions(self, client: int | str) -> list[int]:
        return sorted(
            int(path.stem)
            for path in (self.folder / str(client)).glob("*.safetensors")
            if path.stem.isdecimal()
        )

    def _path(self, client: int | str, round_no: int) -> Path:
        return self.folder / str(client) / f"{round_no}.safetensors"
