"""The state of a run on disk: replaced as a whole after each round, so that a kill at any moment leaves a whole one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tacit.errors import RunError
from tacit.rows import Vector

NAME = "checkpoint.safetensors"


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far a run has come: which arm, how many rounds of it are done, and how much of the record that covers."""

    arm: str
    round_no: int
    record_length: int
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    bytes_up: int = 0
    bytes_down: int = 0
    messages: int = 0
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A place with the model, the server's memory and each client's number of updates so far."""

    place: Place
    model: Vector
    state: dict[str, Vector]
    updates: NDArray[np.int64]


def write(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the folder's checkpoint, durably."""
    arrays: dict[str, NDArray[Any]] = {"model": checkpoint.model, "updates": checkpoint.updates}
    arrays |= {f"state.{name}": array for name, array in checkpoint.state.items()}
    replace_file(folder / NAME, save(arrays, metadata={"place": json.dumps(asdict(checkpoint.place))}))


def read(folder: Path) -> Checkpoint:
    """Return the folder's checkpoint."""
    try:
        with safe_open(str(folder / NAME), framework="numpy") as file:
            place = Place(**json.loads(file.metadata()["place"]))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{folder}: its checkpoint cannot be read ({error}); start the plan anew with `tacit run`") from None
    state = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
    return Checkpoint(place=place, model=arrays["model"], state=state, updates=arrays["updates"])


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` at `path` so that a crash leaves the old file or the new one, never a part of either."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
