"""A stored model for new rows: the run's features and network, without its data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
    find_reader,
)
from tacit.assembly.rows import build_empty_table, encode_inputs
from tacit.errors import PlanError, RunError
from tacit.models.client_models import (
    ClientModels,
    NewRowEncoder,
    UnknownClients,
    explain_missing_parts,
)
from tacit.negotiation.exchange import load_agreed_secret
from tacit.plan import Columns, Features, Local, Model, Plan, Schema, Worded
from tacit.printable import printable_name
from tacit.randomness import Draws
from tacit.rows import Clients, Inputs, Rows, Vector
from tacit.runs import record, run_folder
from tacit.runs.allowed_code import require_permission
from tacit.runs.client_numbers import ClientParts, find_simulated_parts

if TYPE_CHECKING:
    from tacit.training.private.learner import PartialLearner

FindParts = Callable[[Path, Plan], ClientParts | None]
"""Finds the private parameters of a run's clients by the run's folder."""
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
    clients: ClientModels | None = None
    """The personal models of a run with private parameters; `vector` then has the shared ones."""

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

    def predict(
        self, rows: object, *, client: str | None = None, unknown_clients: UnknownClients = "refuse"
    ) -> NDArray[np.str_]:
        """Predict the most probable class of each row.

        `rows` is the path of a file, or rows as `tacit.run` takes them; no label is needed. If the
        model reads only one text column, a list of texts is accepted too. With private parameters
        each row is predicted by its client's own model: the client column names the client, or
        `client` does for all rows. Rows of clients without one are refused, or predicted with
        `unknown_clients="base"` where the plan allows it.
        """
        return self.predict_rows(rows, client, unknown_clients).names

    def predict_proba(
        self, rows: object, *, client: str | None = None, unknown_clients: UnknownClients = "refuse"
    ) -> NDArray[np.float64]:
        """Predict the probability of each class, one line per row, in the order of `classes`; whose
        model predicts a row is said as in `predict`.
        """
        return self.predict_rows(rows, client, unknown_clients).probabilities

    def predict_rows(
        self, rows: object, client: str | None = None, unknown_clients: UnknownClients = "refuse"
    ) -> Predictions:
        """Predict rows, and return the predictions with the rows themselves and notes on what
        differs from training.
        """
        table, repairs = data.read_new_rows(rows, self.roles)
        if self.clients is None and (client is not None or unknown_clients != "refuse"):
            raise PlanError(
                f"{self.name}: all clients have the same model; leave out --client-id and"
                " --unknown-clients"
            )
        frame, notes = self.clean(table)
        if self.clients is None:
            found = self.probabilities(self.encode(frame))
        else:
            whose = self.clients.find_clients(table, client, unknown_clients)
            notes += whose.notes
            found = to_probabilities(self.clients.predict(frame, whose.numbers))
        return Predictions(
            table=table, classes=self.classes, probabilities=found, notes=[*repairs, *notes]
        )

    def select_client(self, client: str) -> StoredModel:
        """Return the personal model of one client as a model without private parameters.

        Raise RunError if the model has a word table, DataError if the client has no personal model.
        """
        if self.clients is None:
            raise PlanError(f"{self.name}: all clients have the same model; leave out --client-id")
        merged, encoder = self.clients.merge_parameters(client), self.clients.encoder
        rows, _ = encoder.encode(build_empty_table(self.roles, self.fitted))
        learner = training.build(self.network, Local(), rows, _NOBODY, encoder.module)
        return replace(
            self,
            learner=learner,
            vector=training.flatten_parameters(learner, merged),
            clients=None,
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


def load(
    folder: Path,
    module: object | None = None,
    *,
    allow_code: bool = False,
    find_parts: FindParts = find_simulated_parts,
) -> StoredModel:
    """Load the model of a run's folder, or of a folder that `tacit export --to safetensors` wrote.

    `module` is the nn.Module that the run was given in Python, if it was. A folder may come from
    anybody, so a class that it names is imported only with `allow_code`. `find_parts` finds the
    private parameters of clients. Raises RunError if that is missing, if only the clients can use
    the model, or if a file is missing, damaged or not the run's own.
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
    require_permission(
        folder / run_folder.MODEL_FACTS, stored, allow_code=allow_code, module=module
    )
    sources = FeatureSources(secret=_find_secret(folder, job), reader=find_reader(roles, settings))
    parts = _find_parts(folder, network, job, find_parts)
    encoder = None
    if job is not None and parts is not None:
        encoder = NewRowEncoder(
            plan=job,
            roles=roles,
            fitted=fitted,
            sources=sources,
            folder=parts.folder,
            module=module,
        )
        learner: training.Learner = encoder.build_without_words()
    else:
        empty = encode_inputs(build_empty_table(roles, fitted), roles, settings, fitted, sources)
        none = Rows(inputs=empty, labels=np.empty(0, np.int32), classes=fitted.classes)
        learner = training.build(network, Local(), none, _NOBODY, module)
    vector = _read_vector(folder, learner, module)
    clients = None
    if parts is not None and encoder is not None:
        clients = ClientModels(
            parts=parts,
            encoder=encoder,
            learner=cast("PartialLearner", learner),
            shared=vector,
            rounds=_count_rounds(folder),
        )
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
        clients=clients,
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


def _find_parts(
    folder: Path, network: Model, job: Plan | None, find_parts: FindParts
) -> ClientParts | None:
    """Where the private parameters of a model's clients are; None if it has none. Raise RunError if
    they are elsewhere, or nowhere.
    """
    if not isinstance(network, Worded) and (job is None or not job.personal):
        return None
    parts = None if job is None else find_parts(folder, job)
    why = "" if job is None else explain_missing_parts(job)
    if parts is None or why:
        remedy = why or (
            "predict in the folder of the simulated run, or in models/RUN of a site that took part"
        )
        raise RunError(
            f"{folder}: a part of the model stays with each client, and only the shared part is"
            f" here; {remedy} (docs/concepts/mechanisms/private-parameters.md)"
        )
    return parts


def _count_rounds(folder: Path) -> int:
    """The number of rounds of a finished run."""
    found = record.select_entries(list(run_folder.entries(folder)), record.Finished, record.RUN)
    if not found:
        raise RunError(f"{folder}: the run has not ended; `tacit resume` it")
    return found[-1].rounds


def _find_secret(folder: Path, job: Plan | None) -> bytes:
    """The secret with which columns were quantised, from the simulation or the clients'
    negotiation.
    """
    if job is None or job.features.quantise is None:
        return b""
    agreed = load_agreed_secret(folder / run_folder.NEGOTIATED)
    if agreed is not None:
        return agreed.secret
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
