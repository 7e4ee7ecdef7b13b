"""[track]: other programs that receive the figures of the record while a run writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Len
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

Place = Annotated[str, Len(1, 1000)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Track:
    """Trackers that receive the figures of the record while a run writes them. They never change
    its result, and sites do not learn them. `tacit resume` uses them only with `--log plan`.
    """

    tensorboard: Place | None = None
    """Folder of TensorBoard's event files (extra `tacit[tensorboard]`)."""
    mlflow: Place | None = None
    """A folder, for MLflow's database `mlflow.db` in it, or the URI of a tracking server or database
    (extra `tacit[mlflow]`). A URI of a server is the only setting here that uses the network.
    """
    wandb: Place | None = None
    """Folder of offline runs of Weights & Biases (extra `tacit[wandb]`); `wandb sync` uploads them."""

    def list_targets(self) -> tuple[str, ...]:
        """The trackers as `--log` takes them, such as `tensorboard:DIR`."""
        found = {"tensorboard": self.tensorboard, "mlflow": self.mlflow, "wandb": self.wandb}
        return tuple(f"{kind}:{place}" for kind, place in found.items() if place is not None)


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    track = plan.track
    if track is None:
        return []
    found = []
    if not track.list_targets():
        found.append(
            "track: names no tracker; set tensorboard, mlflow or wandb, or remove the table"
        )
    if track.mlflow and "@" in track.mlflow.partition("://")[2].partition("/")[0]:
        found.append(
            "track.mlflow: contains a password or a name, which the record would keep; set"
            " MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead"
        )
    return found
