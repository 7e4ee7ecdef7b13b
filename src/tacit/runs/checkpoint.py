"""The state of a run on disk, replaced atomically after each round, so that it survives a kill at
any moment.
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
"""The arm of a checkpoint when no arm is left to run."""
_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a run: the current arm and its finished rounds.

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
    """Progress with the model, the server's state and the counts of each client.

    `updates` counts the updates that each client has sent, `last_round` is the last round it took
    part in (0: none). `evaluated` holds earlier evaluations of clients' personal models, `arrays`
    the state that an exchange passes to the next round. `model` is None if only clients can read
    it. `mark` says how much of the record the checkpoint covers, `fingerprints` to which plan and
    rows it belongs.
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
        """Raise RunError unless all arrays have the sizes of the plan's model and clients."""
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
                    f"{folder / NAME}: {name} must have {needed.get(name, 'no')} values for the"
                    f" plan's model and clients, got {'none' if shape is None else shape}; the"
                    " checkpoint belongs to another run"
                )


def write(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the folder's checkpoint atomically and sync it to disk."""
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
    """Read the folder's checkpoint; raise RunError if it is damaged."""
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
            f"{folder / NAME}: was written by another version of Tacit ({error}); start the plan as"
            " a new run"
        ) from None


def count_covered_bytes(folder: Path) -> int:
    """Count the bytes of the record that the folder's checkpoint covers, from its header; 0 if
    unknown.
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
