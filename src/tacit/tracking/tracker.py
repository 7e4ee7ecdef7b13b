"""What a tracker is, and the tracker of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, assert_never

from tacit.tracking.figures import FigureBatch
from tacit.tracking.target import TrackerTarget, require_packages


@dataclass(frozen=True, kw_only=True)
class RunLabel:
    """A run for a tracker: the name of its folder, and an identity that no other run has."""

    name: str
    identity: str


class Tracker(Protocol):
    """Writes the figures of one run for another program."""

    def begin(self, label: RunLabel, past: FigureBatch) -> None:
        """Begin a run with the figures that its record has so far.

        They replace all that was written of this run before, so nothing counts twice.
        """

    def write(self, batch: FigureBatch) -> None:
        """Write the figures of new entries."""

    def close(self, *, is_finished: bool) -> None:
        """Write what is left and close; `is_finished` unless the run was stopped."""


def build_tracker(target: TrackerTarget) -> Tracker:
    """Build the tracker of a target; PlanError if a package is missing or the place is unusable."""
    require_packages(target)
    match target.kind:
        case "tensorboard":
            from tacit.tracking.tensorboard import TensorBoardTracker

            return TensorBoardTracker(target.place)
        case "mlflow":
            from tacit.tracking.mlflow import MLflowTracker

            return MLflowTracker(target.place)
        case "wandb":
            from tacit.tracking.wandb import WandbTracker

            return WandbTracker(target.place)
        case "csv" | "parquet":
            from tacit.tracking.table_file import TableFileTracker

            return TableFileTracker(target.kind, target.place)
        case _:
            assert_never(target.kind)
