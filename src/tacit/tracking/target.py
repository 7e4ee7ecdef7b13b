"""Names of trackers: a kind and a place, such as `tensorboard:DIR`, and what each kind needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, assert_never, get_args

from tacit.errors import PlanError, did_you_mean

Kind = Literal["tensorboard", "mlflow", "wandb", "csv", "parquet"]
LIVE: tuple[Kind, ...] = ("tensorboard", "mlflow", "wandb")
"""Kinds that can follow a run; the others write one file after it."""
_USERINFO = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True, kw_only=True)
class TrackerTarget:
    """A tracker by its kind, and the folder, file or address it writes to."""

    kind: Kind
    place: str

    def __str__(self) -> str:
        return f"{self.kind}:{_USERINFO.sub('', self.place)}"


def parse_target(text: str) -> TrackerTarget:
    """Parse `KIND:PLACE`; PlanError if the kind cannot follow a run or there is no place."""
    kind, _, place = text.partition(":")
    found = next((one for one in LIVE if one == kind), None)
    if found is None:
        raise PlanError(
            f"--log {_USERINFO.sub('', text)[:200]}: must begin with {', '.join(LIVE)} and a colon,"
            f" such as tensorboard:DIR.{did_you_mean(kind, list(LIVE))}"
        )
    if not place:
        raise PlanError(
            f"--log {kind}: must name where to write, such as {kind}:DIR; add a place after the colon"
        )
    return TrackerTarget(kind=found, place=place)


def parse_kind(text: str) -> Kind:
    """Parse a kind; PlanError if there is none of this name."""
    kinds: tuple[Kind, ...] = get_args(Kind)
    found = next((one for one in kinds if one == text), None)
    if found is None:
        raise PlanError(
            f"--to must be one of {', '.join(kinds)}, got {text!r}.{did_you_mean(text, list(kinds))}"
        )
    return found


def name_default_place(kind: Kind, run: Path) -> str:
    """Where the figures of a run are written if no place is named."""
    stem = run.resolve().name
    match kind:
        case "csv" | "parquet":
            return f"{stem}-metrics.{kind}"
        case "tensorboard" | "mlflow" | "wandb":
            return f"{stem}-{kind}"
        case _:
            assert_never(kind)


def require_packages(target: TrackerTarget) -> None:
    """Raise PlanError, before anything runs, unless the packages of a tracker are installed."""
    missing = [name for name in _list_packages(target) if find_spec(name) is None]
    if missing:
        raise PlanError(
            f"--log {target}: requires the package {missing[0]}, which is not installed; install it"
            f' with: pip install "tacit[{target.kind}]"'
        )


def _list_packages(target: TrackerTarget) -> tuple[str, ...]:
    match target.kind:
        case "tensorboard":
            return ("tensorboardX",)
        case "mlflow":
            from_database = "://" not in target.place or not target.place.startswith("http")
            return ("mlflow", "sqlalchemy", "alembic") if from_database else ("mlflow",)
        case "wandb":
            return ("wandb",)
        case "csv" | "parquet":
            return ()
        case _:
            assert_never(target.kind)
