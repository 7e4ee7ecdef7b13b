"""A client's private parameters between rounds, on that client's side of the disk.

Each round a client takes part in leaves a new version; the one before is kept until the next, so that a run taken up
after a crash finds the version that belongs to its checkpoint. Only one client's parameters are in memory at a time.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

Arrays = dict[str, NDArray[np.float32]]


class PrivateStore:
    """One folder per client, one file per round."""

    def __init__(self, folder: Path, keeps_arrays: bool = True) -> None:
        self.folder, self.keeps_arrays = folder, keeps_arrays

    def clear(self) -> None:
        """Forget every client."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, client: int, before: int) -> Arrays | None:
        """Return the client's arrays as its last round before `before` left them; None if there was none."""
        versions = [round_no for round_no in self._versions(client) if round_no < before]
        if not versions or not self.keeps_arrays:
            return None
        with safe_open(str(self._path(client, versions[-1])), framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)

    def write(self, client: int, round_no: int, arrays: Arrays) -> None:
        """Keep a new version and drop those before the last."""
        if not self.keeps_arrays:
            return
        older = [version for version in self._versions(client) if version < round_no]
        path = self._path(client, round_no)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(save(arrays))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        for version in older[:-1]:
            self._path(client, version).unlink(missing_ok=True)

    def _versions(self, client: int) -> list[int]:
        return sorted(int(path.stem) for path in (self.folder / str(client)).glob("*.safetensors"))

    def _path(self, client: int, round_no: int) -> Path:
        return self.folder / str(client) / f"{round_no}.safetensors"
