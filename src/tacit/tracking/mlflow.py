"""MLflow: one MLflow run per run, in a local database, or at a server that the user names."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import DiskError, PlanError
from tacit.tracking.figures import FigureBatch, LoggedFigure
from tacit.tracking.tracker import RunLabel

if TYPE_CHECKING:
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

_IDENTITY, _REPLACED = "tacit.identity", "tacit.replaced_by"
_EXPERIMENT = "tacit"
_MOST_METRICS, _MOST_OTHERS, _MOST_LETTERS = 1000, 100, 5000
"""Limits of MLflow for one request, and for one value."""
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",  # or it reports its use to its makers
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # a server that is down delays a round little
}
Kind = TypeVar("Kind")


class MLflowTracker:
    """Writes metrics, parameters and tags of an MLflow run."""

    def __init__(self, place: str) -> None:
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        uri = _build_uri(place)
        try:
            self._client: MlflowClient = MlflowClient(tracking_uri=uri)
            self._experiment = _find_experiment(self._client)
        except MlflowException as error:
            raise PlanError(
                f"--log mlflow: MLflow cannot be reached or refused ({str(error)[:300]}); check the"
                " address and that the server runs"
            ) from None
        self._id = ""

    def begin(self, label: RunLabel, past: FigureBatch) -> None:
        """Continue the MLflow run of this run if it has no other figures than its record; otherwise
        replace it.
        """
        earlier = self._find_run(label)
        wanted = {_key(one): one.value for one in past.figures}
        if earlier is not None:
            written = dict(self._list_written(earlier))
            if all(wanted.get(key) == value for key, value in written.items()):
                self._id = earlier
                self._client.update_run(earlier, status="RUNNING")
                missing = [one for one in past.figures if _key(one) not in written]
                self._write(FigureBatch(figures=missing, settings=past.settings, texts=past.texts))
                return
        created = self._client.create_run(
            self._experiment, tags={_IDENTITY: label.identity}, run_name=label.name
        )
        self._id = created.info.run_id
        self._write(past)
        if earlier is not None:
            self._client.set_tag(earlier, _REPLACED, self._id)
            self._client.delete_run(earlier)

    def write(self, batch: FigureBatch) -> None:
        """Write figures as metrics, settings as parameters and texts as tags."""
        self._write(batch)

    def close(self, *, is_finished: bool) -> None:
        """End the MLflow run; one that was stopped is marked as killed."""
        if self._id:
            self._client.set_terminated(self._id, "FINISHED" if is_finished else "KILLED")

    def _write(self, batch: FigureBatch) -> None:
        from mlflow.entities import Param, RunTag

        known = self._client.get_run(self._id).data.params if batch.settings else {}
        params = [
            Param(name, value[:_MOST_LETTERS])
            for name, value in batch.settings.items()
            if name not in known
        ]
        tags = [RunTag(f"tacit.{name}", text[:_MOST_LETTERS]) for name, text in batch.texts.items()]
        for metrics in _split(list(_list_metrics(batch.figures)), _MOST_METRICS):
            self._client.log_batch(self._id, metrics=metrics)
        for some in _split(params, _MOST_OTHERS):
            self._client.log_batch(self._id, params=some)
        for few in _split(tags, _MOST_OTHERS):
            self._client.log_batch(self._id, tags=few)

    def _find_run(self, label: RunLabel) -> str | None:
        found = self._client.search_runs(
            [self._experiment], filter_string=f"tags.`{_IDENTITY}` = '{label.identity}'"
        )
        return found[0].info.run_id if found else None

    def _list_written(self, run_id: str) -> Iterator[tuple[tuple[str, int], float]]:
        for name in self._client.get_run(run_id).data.metrics:
            for metric in self._client.get_metric_history(run_id, name):
                yield (metric.key, metric.step), metric.value


def _key(figure: LoggedFigure) -> tuple[str, int]:
    return f"{figure.arm}/{figure.name}", figure.round_no


def _list_metrics(figures: Sequence[LoggedFigure]) -> Iterator[Metric]:
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    for one in figures:
        name, step = _key(one)
        yield Metric(name, one.value, now, step)


def _build_uri(place: str) -> str:
    """The URI of a server or database, or that of the database in a folder, which is created."""
    if "://" in place or place == "databricks":
        return place
    folder = Path(place.removeprefix("file:")).expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError(
            f"--log mlflow:{place}: the folder cannot be created ({error.strerror}); name another one"
        ) from None
    return f"sqlite:///{folder / 'mlflow.db'}"


def _find_experiment(client: MlflowClient) -> str:
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _EXPERIMENT)
    found = client.get_experiment_by_name(name)
    identity: Any = found.experiment_id if found else client.create_experiment(name)
    return str(identity)


def _split(values: list[Kind], most: int) -> Iterator[list[Kind]]:
    for begin in range(0, len(values), most):
        yield values[begin : begin + most]
