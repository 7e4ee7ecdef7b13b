"""A stored model for new rows: the run's features and network, without its data."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from tacit import data, features, training
from tacit import plan as plans
from tacit.assembly.feature_sources import (
    FeatureSources,
    find_client_secret,
    find_image_reader,
)
from tacit.assembly.rows import build_empty_table, encode_inputs
from tacit.errors import RunError
from tacit.plan import Columns, Features, Local, Model, Plan, Schema, Worded
from tacit.printable import printable_name
from tacit.randomness import Draws
from tacit.rows import Clients, Inputs, Rows, Vector
from tacit.runs import record, run_folder
from tacit.runs.allowed_code import require_permission

_NOBODY = Clients(order=np.empty(0, np.int64), starts=np.zeros(2, np.int64))


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A model's predictions for some rows: the probability of each class, the most probable class,
    and notes on what differs from training.
    """

    table: pl.DataFrame
    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]
    notes: list[str]

    @property
    def names(self) -> NDArray[np.str_]:
        """Predicted class of each row, in the order of the rows."""
        return np.asarray(np.array(self.classes)[self.probabilities.argmax(axis=1)])


@dataclass(frozen=True, kw_only=True, repr=False)
class StoredModel:
    """A trained model with everything that encodes rows for it; built by `load`."""

    name: str
    settings: Features
    fitted: features.Fitted
    habits: data.Habits
    roles: Columns
    network: Model
    facts: dict[str, Any]
    learner: training.Learner
    vector: Vector
    sources: FeatureSources
    schema: Schema | None = None

    def __repr__(self) -> str:
        return f"StoredModel({self.name!r}, columns={self.columns}, classes={self.classes})"

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of `predict_proba`'s columns."""
        return self.fitted.classes

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the model reads; other columns of rows are ignored."""
        return data.list_input_columns(self.roles)

    def predict(self, rows: object) -> NDArray[np.str_]:
        """Predict the most probable class of each row.

        `rows` is the path of a file, or rows as `tacit.run` takes them; no label is needed. If the
        model reads only one text column, a list of texts is accepted too.
        """
        return self.predict_rows(rows).names

    def predict_proba(self, rows: object) -> NDArray[np.float64]:
        """Predict the probability of each class, one line per row, in the order of `classes`."""
        return self.predict_rows(rows).probabilities

    def predict_rows(self, rows: object) -> Predictions:
        """Predict rows, and return the predictions with the rows themselves and notes on what
        differs from training.
        """
        table, repairs = data.read_new_rows(rows, self.roles)
        frame, notes = self.clean(table)
        return Predictions(
            table=table,
            classes=self.classes,
            probabilities=self.probabilities(self.encode(frame)),
            notes=[*repairs, *notes],
        )

    def clean(self, table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
        """Clean rows as in training; also return a sentence for each difference."""
        return data.clean_as_in_training(
            table, self.roles, self.habits, self.fitted.categories, self.schema
        )

    def encode(self, frame: pl.DataFrame) -> Inputs:
        """Encode cleaned rows."""
        return encode_inputs(frame, self.roles, self.settings, self.fitted, self.sources)

    def probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        """Probability of each class for encoded rows."""
        if not len(inputs):
            return np.zeros((0, len(self.classes)))
        return to_probabilities(self.learner.predict(self.vector, inputs))


def to_probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Convert logits to probabilities: one logit per row for two classes, else one per class."""
    exact = logits.astype(np.float64)
    if exact.shape[1] == 1:
        exact = np.hstack([np.zeros_like(exact), exact])
    odds = np.exp(exact - exact.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def load(folder: Path, module: object | None = None, *, allow_code: bool = False) -> StoredModel:
    """Load the model of a run's folder, or of a folder that `tacit export --to safetensors` wrote.

    `module` is the nn.Module that the run was given in Python, if it was. A folder may come from
    anybody, so a class that it names is imported only with `allow_code`. Raises RunError if that is
    missing, if only the clients can use the model, or if a file is missing, damaged or not the
    run's own.
    """
    facts = _read_facts(folder)
    job = run_folder.read_plan(folder) if (folder / run_folder.PLAN).exists() else None
    try:
        stored = plans.parse_stored(facts, str(folder / run_folder.MODEL_FACTS))
        fitted, habits = (
            features.Fitted.from_dict(facts["fitted"]),
            data.Habits.from_dict(facts.get("habits", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{folder / run_folder.MODEL_FACTS}: is damaged ({type(error).__name__}); restore the"
            " run's own file"
        ) from None
    fitted = replace(
        fitted, classes=tuple(map(printable_name, fitted.classes))
    )  # names are printed, and written to files
    network, settings, roles = stored.model, stored.features, stored.data.columns
    _refuse_private(folder, network, job)
    require_permission(
        folder / run_folder.MODEL_FACTS, stored, allow_code=allow_code, module=module
    )
    sources = FeatureSources(secret=_find_secret(job), reader=find_image_reader(roles, settings))
    empty = encode_inputs(build_empty_table(roles, fitted), roles, settings, fitted, sources)
    learner = training.build(
        network,
        Local(),
        Rows(inputs=empty, labels=np.empty(0, np.int32), classes=fitted.classes),
        _NOBODY,
        module,
    )
    vector = _read_vector(folder, learner, module)
    return StoredModel(
        name=folder.resolve().name,
        settings=settings,
        fitted=fitted,
        habits=habits,
        roles=roles,
        network=network,
        facts=facts,
        learner=learner,
        vector=vector,
        sources=sources,
        schema=stored.schema,
    )


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / run_folder.MODEL_FACTS
    if not path.exists():
        if not (folder / run_folder.RECORD).exists():
            raise RunError(
                f"{folder}: holds no model (no {path.name}); `tacit runs` lists existing runs"
            )
        done = record.select_entries(list(run_folder.entries(folder)), record.Finished, record.RUN)
        why = (
            "only its clients can read the model, at their sites"
            if done
            else "it has not ended; `tacit resume` it"
        )
        raise RunError(f"{folder}: this run stored no model here: {why}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RunError(f"{path}: is damaged: it is not a JSON object")
    return found


def _refuse_private(folder: Path, network: Model, job: Plan | None) -> None:
    """Raise RunError if part of the model is with the clients: the stored part cannot predict
    without it.
    """
    if isinstance(network, Worded) or (job is not None and job.personal):
        what = "the table of words" if isinstance(network, Worded) else "what [private] names"
        raise RunError(
            f"{folder}: a part of the model, {what}, stays with each client and is in no file of"
            " the run; each client predicts with its own part (docs/papers/fedvocab.md)"
        )


def _find_secret(job: Plan | None) -> bytes:
    """The secret with which columns were quantised, from the simulation or the clients'
    negotiation.
    """
    if job is None or job.features.quantise is None:
        return b""
    return find_client_secret(job, Draws.seeded(job.seed))


def _read_vector(folder: Path, learner: training.Learner, module: object | None) -> Vector:
    path = folder / run_folder.MODEL
    try:
        vector = training.flatten_parameters(learner, load_file(path))
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"{path}: cannot be read ({type(error).__name__}); restore the run's own file"
        ) from None
    except RunError as error:
        given = (
            ""
            if module is not None
            else "; if the run was given a module in Python, use tacit.load(run, module=…)"
        )
        raise RunError(f"{path}: {error}{given}") from None
    run_folder.check_model(folder, vector)
    return vector
