"""Weights & Biases, offline: a folder per run that `wandb sync` can upload. Nothing is sent."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from tacit.errors import DiskError
from tacit.tracking.figures import FigureBatch
from tacit.tracking.tracker import RunLabel

_PROJECT = "tacit"


class WandbTracker:
    """Writes an offline run. It contains neither code nor facts about the machine."""

    def __init__(self, place: str) -> None:
        self._root = Path(place).expanduser().resolve()
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError(
                f"--log wandb:{place}: the folder cannot be created ({error.strerror}); name another"
                " one"
            ) from None
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        self._run: Any = None

    def begin(self, label: RunLabel, past: FigureBatch) -> None:
        """Write an offline run anew, then remove those that were written of this run before."""
        if self._run is not None:
            self._run.finish()
        earlier = list((self._root / "wandb").glob(f"offline-run-*-{label.identity}*"))
        self._run = _open_run(self._root, label)
        own = Path(self._run.dir).parent
        self.write(past)
        for folder in earlier:
            if folder != own:
                shutil.rmtree(folder, ignore_errors=True)

    def write(self, batch: FigureBatch) -> None:
        """Write the figures of each round together; every arm counts its own rounds."""
        rows: dict[tuple[str, int], dict[str, float]] = {}
        for one in batch.figures:
            rows.setdefault((one.arm, one.round_no), {})[f"{one.arm}/{one.name}"] = one.value
        for (arm, round_no), values in rows.items():
            self._run.define_metric(f"{arm}/*", step_metric=f"{arm}/round")
            self._run.log({f"{arm}/round": round_no, **values})
        self._run.config.update(batch.settings, allow_val_change=True)
        self._run.summary.update(batch.texts)

    def close(self, *, is_finished: bool) -> None:
        """Close the run; one that was stopped is marked as failed."""
        if self._run is not None:
            self._run.finish(exit_code=0 if is_finished else 1)


def _open_run(root: Path, label: RunLabel) -> Any:
    import wandb

    settings = wandb.Settings(
        console="off",
        disable_code=True,
        disable_git=True,
        disable_job_creation=True,
        host="",
        save_code=False,
        silent=True,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_viewer=True,
        x_save_requirements=False,
    )
    return wandb.init(
        mode="offline",
        dir=str(root),
        project=os.environ.get("WANDB_PROJECT", _PROJECT),
        id=label.identity,
        name=label.name,
        reinit="create_new",
        settings=settings,
    )
