"""The state of a run on disk: replaced as a whole after each round, so that a kill at any moment
leaves a whole one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import RunError
from tacit.files import replace_file, seal, unseal
from tacit.rows import Vector
from tacit.runs.fingerprint import Fingerprints
from tacit.runs.record import Mark

NAME = "checkpoint.safetensors"
ALL_DONE = "(all done)"
"""The arm a checkpoint points at when none is left."""
_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run has come: which arm, and how many rounds of it are done.

    `begun` is false between the end of one arm and the first model of the next.
    """

    arm: str
    round_no: int
    begun: bool = True
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    bytes_up: int = 0
    bytes_down: int = 0
    messages: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    account: list[dict[str, Any]] = field(default_factory=list)  # a ledger.Account as JSON


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Progress with the model, the server's memory and what is remembered of each client.

    `updates` counts the updates a client has sent, `last_round` is the last round it took part in
    (0: none), `evaluated` what is kept of earlier evaluations of clients' own models, `arrays` what
    an exchange left for the next round. There is no `model` where only clients can read it. `mark`
    says how much of the record all this covers, and `fingerprints` which plan and rows it belongs
    to.
    """

    progress: Progress
    model: Vector | None
    state: dict[str, Vector]
    updates: NDArray[np.int64]
    last_round: NDArray[np.int64]
    evaluated: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    mark: Mark = field(default_factory=Mark)
    fingerprints: Fingerprints = field(default_factory=Fingerprints)

    def check_sizes(self, folder: Path, size: int, state: dict[str, Vector], clients: int) -> None:
        """Raise RunError unless model, server memory and client counts have the sizes of the plan's
        model and clients.
        """
        needed = {"updates": clients, "last_round": clients}
        needed |= {f"state.{name}": len(array) for name, array in state.items()}
        found: dict[str, NDArray[Any]] = {"updates": self.updates, "last_round": self.last_round}
        if size or self.model is not None:
            needed["model"] = size
            found |= {} if self.model is None else {"model": self.model}
        found |= {f"state.{name}": array for name, array in self.state.items()}
        for name in sorted(needed | found):
            shape = found[name].shape if name in found else None
            if shape != (needed.get(name),):
                raise RunError(
                    f"{folder / NAME}: {name} needs {needed.get(name, 'no')} values for the plan's"
                    f" model and clients, got {'none' if shape is None else shape}; it belongs to"
                    " another run"
                )


def write(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the folder's checkpoint, durably."""
    arrays: dict[str, NDArray[Any]] = {
        "updates": checkpoint.updates,
        "last_round": checkpoint.last_round,
    }
    arrays |= {} if checkpoint.model is None else {"model": checkpoint.model}
    arrays |= {f"state.{name}": array for name, array in checkpoint.state.items()}
    arrays |= {f"evaluated.{name}": array for name, array in checkpoint.evaluated.items()}
    arrays |= {f"arrays.{name}": array for name, array in checkpoint.arrays.items()}
    facts = {
        "progress": json.dumps(asdict(checkpoint.progress)),
        "mark": json.dumps(asdict(checkpoint.mark)),
        "fingerprints": json.dumps(asdict(checkpoint.fingerprints)),
    }
    replace_file(folder / NAME, seal(arrays, facts))


def read(folder: Path) -> Checkpoint:
    """Return the folder's checkpoint; raise RunError if it is damaged."""
    arrays, facts = unseal(folder / NAME)
    try:
        return Checkpoint(
            progress=Progress(**json.loads(facts["progress"])),
            model=arrays.get("model"),
            state=_below("state", arrays),
            updates=arrays["updates"],
            last_round=arrays["last_round"],
            evaluated=_below("evaluated", arrays),
            arrays=_below("arrays", arrays),
            mark=Mark(**json.loads(facts["mark"])),
            fingerprints=Fingerprints(**json.loads(facts["fingerprints"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{folder / NAME}: was written by another version of Tacit ({error}); start the plan"
            " anew"
        ) from None


def count_covered_bytes(folder: Path) -> int:
    """Return how many bytes of the record the folder's checkpoint covers, from its header alone; 0
    if it cannot be told.
    """
    try:
        with (folder / NAME).open("rb") as file:
            header = json.loads(
                file.read(min(int.from_bytes(file.read(8), "little"), _LONGEST_HEADER))
            )
        return int(json.loads(header["__metadata__"]["mark"])["length"])
    except (OSError, KeyError, TypeError, ValueError):
        return 0


def _below(table: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(f"{table}."): array
        for name, array in arrays.items()
        if name.startswith(f"{table}.")
    }
