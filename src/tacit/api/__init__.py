"""Python interface: run a plan and get a Run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tacit import data, report, simulation
from tacit import plan as plans
from tacit.api.arguments import (
    check_callback,
    check_module,
    check_observer,
    check_run_name,
    load_plan,
    read_table,
)
from tacit.api.client_parts import find_client_parts
from tacit.api.module_plan import build_module_plan
from tacit.models.export.card import ModelCard, render_card
from tacit.models.export.folder import PRIVATE_PART, SHARED_PART, USES
from tacit.plan import Features, Plan, Privacy
from tacit.plan.presets.asked import build_asked_plan
from tacit.progress import choose_observer
from tacit.protocol.observer import ObserverGroup
from tacit.runs import record, run_folder
from tacit.runs.named_runs import find_model_folder, locate_run
from tacit.runs.record import RUN, Entry, Finished, Prepared, Round
from tacit.simulation.advice.asked_table import read_asked_table
from tacit.simulation.advice.starter import make_starter
from tacit.tracking import EntryCallback, OnEntry, track

if TYPE_CHECKING:
    from tacit.models.client_models import UnknownClients
    from tacit.models.exporting import ExportResult
    from tacit.models.predict import StoredModel

RUNS = "runs"
"""Default folder of runs."""


def starter_plan(table: object, *, label: str | None = None) -> Plan:
    """Create a starter plan for a table: the path of a file, or rows as `run` takes them.

    The role of each column is guessed from its name and values; `label` names the column to
    predict. `tacit init --from TABLE` writes the same plan to a file and explains each guess.
    """
    return plans.parse(
        tomllib.loads(make_starter(read_table(table, label), data.StarterRequest(label=label)).text)
    )


def run(
    plan: Plan | str | Path,
    *,
    rows: object | None = None,
    module: object | None = None,
    folder: str | Path = RUNS,
    observer: simulation.Observer | None = None,
    on_entry: OnEntry | None = None,
    cluster: str | None = None,
) -> Run:
    """Run a plan, or the plan in a TOML file, to its end and return the run.

    `rows` is the data in Python (a polars or pandas frame, an Arrow table, a Hugging Face
    data set, or any iterable of dicts) when `plan.data.source` is "given"; `module` is an
    nn.Module that replaces `plan.model`. Without an observer, progress is shown on a terminal and in
    a notebook; `observer=tacit.Silence()` shows none.

    `on_entry(entry, folder)` is called with each entry of the record as it is written, and the run's
    folder. If it raises an exception, a warning says so, and the run continues without it. `cluster`
    is the address of a Ray cluster, as in `engine.cluster`.
    """
    made = load_plan(plan)
    if cluster is not None:
        made = replace(made, engine=replace(made.engine, cluster=cluster))
    check_observer(observer)
    check_callback(on_entry)
    if module is not None:
        check_module(module)
    targets = made.track.list_targets() if made.track else ()
    with _watch(observer, on_entry) as watched, track(targets, watched) as watching:
        place = simulation.start(made, Path(folder), watching, rows, module)
    report.write(place)
    return Run(place, module=module, allow_code=True)


def ask(
    queries: Sequence[str] | Mapping[str, str],
    rows: object,
    *,
    client: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rows_per_person: int | None = None,
    confidence: float | None = None,
    folder: str | Path = RUNS,
    observer: simulation.Observer | None = None,
    on_entry: OnEntry | None = None,
) -> Run:
    """Answer queries about rows with noise; the returned run has them as `answers`.

    `queries` are sentences such as "mean of age from 0 to 120", or sentences by name; together they
    have `epsilon` per run for each client. `rows` is the path of a table, or rows as `run` takes
    them; `client` names the column with the owner of each row, and without it each row has its own.
    At most `rows_per_person` rows of a client count. `confidence` is the probability of intervals.
    """
    check_observer(observer)
    check_callback(on_entry)
    table = read_table(rows, None)
    plan = build_asked_plan(
        queries,
        read_asked_table(table, client),
        privacy={"epsilon": epsilon, "delta": delta},
        settings={"rows_per_person": rows_per_person, "confidence": confidence},
    )
    given = None if isinstance(table, str | Path) else table if isinstance(rows, Iterator) else rows
    return run(plan, rows=given, folder=folder, observer=observer, on_entry=on_entry)


def train(
    module: object,
    rows: object | None = None,
    *,
    label: str | None = None,
    clients: str | int | None = None,
    privacy: Privacy | str | float = "private",
    features: Features | None = None,
    rounds: int | None = None,
    folder: str | Path = RUNS,
    observer: simulation.Observer | None = None,
    on_entry: OnEntry | None = None,
) -> Run:
    """Train an nn.Module on the rows of clients, and return the finished run.

    `rows` are as `run` takes them, or the path of a file; roles of columns are guessed as by
    `starter_plan`, and `label` names the column to predict. `clients` names the column with the
    owner of each row, or is a number of clients among whom rows are divided at random. `privacy` is
    a preset, an epsilon per run for each client, or a table; `features` says how rows become model
    inputs. `run.plan` has all other settings; to change them, pass a plan and `module` to `run`.
    `on_entry` is called as by `run`.
    """
    check_module(module, "train")
    check_observer(observer)
    check_callback(on_entry)
    table = read_table(rows, label)
    given = None if isinstance(table, str | Path) else table if isinstance(rows, Iterator) else rows
    made = build_module_plan(
        module,
        table,
        label=label,
        clients=clients,
        privacy=privacy,
        features=features,
        rounds=rounds,
    )
    return run(made, rows=given, module=module, folder=folder, observer=observer, on_entry=on_entry)


def resume(
    run: str | Path,
    *,
    rows: object | None = None,
    module: object | None = None,
    folder: str | Path = RUNS,
    observer: simulation.Observer | None = None,
    on_entry: OnEntry | None = None,
    allow_code: bool = False,
    cluster: str | None = None,
) -> Run:
    """Resume a stopped run, given by its path or its name in `folder`, and return it when finished.

    With `allow_code`, Python code that the run's plan names is imported and run. `on_entry` is called
    as by `run`; its first entry is `Resumed`, and later entries replace those after that round. `cluster`
    is as of `run`; "none" continues on this machine.
    """
    place = locate_run(check_run_name(run), Path(folder))
    check_observer(observer)
    check_callback(on_entry)
    with _watch(observer, on_entry) as watching:
        done = simulation.resume(
            place, watching, rows, module, allow_code=allow_code, cluster=cluster
        )
    report.write(done)
    return Run(done, module=module, allow_code=allow_code)


def load(
    run: str | Path | Run,
    *,
    module: object | None = None,
    folder: str | Path = RUNS,
    allow_code: bool = False,
) -> StoredModel:
    """Load the model of a finished run; `run` is a Run, a path, or a name in `folder`.

    It may also be a folder written by `tacit export --to safetensors`. `module` is the nn.Module
    with which the run was started, if any. With `allow_code`, a Python class that the folder names is imported
    and run; use it only for folders you trust.
    """
    from tacit.models import predict

    place = (
        run.folder if isinstance(run, Run) else find_model_folder(check_run_name(run), Path(folder))
    )
    return predict.load(place, module, allow_code=allow_code, find_parts=find_client_parts)


@contextmanager
def _watch(
    observer: simulation.Observer | None, on_entry: OnEntry | None
) -> Iterator[simulation.Observer]:
    """Yield the observer, or a progress display on a terminal or in a notebook, with the callback."""
    callbacks = [EntryCallback(on_entry)] if on_entry is not None else []
    if observer is not None:
        yield ObserverGroup(observer, *callbacks) if callbacks else observer
        return
    with choose_observer() as watching:
        yield ObserverGroup(watching, *callbacks) if callbacks else watching


class Run:
    """A finished run, given by its path or its name in `folder`.

    `module` is the nn.Module with which the run was started, if any; without it such a run has
    weights but cannot predict. With `allow_code`, a Python class that the folder names is imported
    to predict or export; use it only for folders you trust.
    """

    def __init__(
        self,
        run: str | Path,
        *,
        folder: str | Path = RUNS,
        module: object | None = None,
        allow_code: bool = False,
    ) -> None:
        self.folder = locate_run(check_run_name(run), Path(folder))
        self._module, self._allow_code = module, allow_code

    @cached_property
    def plan(self) -> Plan:
        """The run's plan, with every setting."""
        return run_folder.read_plan(self.folder)

    @cached_property
    def entries(self) -> list[Entry]:
        """The entries of the run's record."""
        return list(run_folder.entries(self.folder))

    @property
    def metrics(self) -> pl.DataFrame:
        """One row for each evaluated round of each arm."""
        rounds = [entry for entry in record.select_entries(self.entries, Round) if entry.metrics]
        return pl.DataFrame(
            [{"arm": entry.arm, "round": entry.round_no, **entry.metrics} for entry in rounds]
        )

    @property
    def answers(self) -> pl.DataFrame:
        """One row for each figure of each query; empty in a run that trains a model."""
        rows = [
            (
                answer["name"],
                one["label"],
                one["value"],
                one["low"],
                one["high"],
                answer["confidence"],
            )
            for answer in report.summarise(self.entries).answers
            for one in answer["figures"]
        ]
        kinds: dict[str, Any] = {"answer": pl.String, "figure": pl.String}
        numbers = dict.fromkeys(("value", "low", "high", "confidence"), pl.Float64)
        return pl.DataFrame(rows, schema={**kinds, **numbers}, orient="row")

    @property
    def votes(self) -> pl.DataFrame:
        """One row for each client that was voted on, lowest score first; empty in a run without votes.

        `score` is the last score, from -1 (harmful) to 1 (helpful) plus noise, `error` its standard
        error; both are null for a client without votes. `rejected_in` lists the rounds in which the
        client was rejected.
        """
        found = report.summarise(self.entries).votes
        columns: dict[str, Any] = {
            "client": pl.Int64,
            "score": pl.Float64,
            "error": pl.Float64,
            "rounds": pl.Int64,
        }
        rows = [
            (
                one.client,
                *((one.score, one.error) if one.known else (None, None)),
                one.rounds,
                list(one.rejected_in),
            )
            for one in (found.scores if found else ())
        ]
        return pl.DataFrame(
            rows, schema={**columns, "rejected_in": pl.List(pl.Int64)}, orient="row"
        )

    @property
    def model(self) -> dict[str, NDArray[Any]]:
        """The final model as named arrays, shaped as PyTorch's state_dict."""
        return load_file(self.folder / run_folder.MODEL)

    @cached_property
    def _stored(self) -> StoredModel:
        return load(self, module=self._module, allow_code=self._allow_code)

    def predict(
        self, rows: object, *, client: str | None = None, unknown_clients: UnknownClients = "refuse"
    ) -> NDArray[np.str_]:
        """Predict the most probable class of each row; rows as `run` takes them, or the path of a
        file, without a label. `client` and `unknown_clients` are for models with private
        parameters (`StoredModel.predict`).
        """
        return self._stored.predict(rows, client=client, unknown_clients=unknown_clients)

    def predict_proba(
        self, rows: object, *, client: str | None = None, unknown_clients: UnknownClients = "refuse"
    ) -> NDArray[np.float64]:
        """Predict the probability of each class, one line per row, in the order of
        `load(run).classes`.
        """
        return self._stored.predict_proba(rows, client=client, unknown_clients=unknown_clients)

    def export(
        self,
        to: str,
        out: str | Path | None = None,
        *,
        rows: object | None = None,
        client: str | None = None,
    ) -> ExportResult:
        """Write the model as `safetensors`, `onnx`, `torch`, `sklearn` or `hub`, with its features
        and its card, into a new folder.

        The export is tested on `rows` or on random rows; the result contains its largest difference
        from the run's model. With private parameters `client` names the client whose model is
        written, and the export holds that client's private part.
        """
        from tacit.models.exporting import export_model

        stored = self._stored
        card = self._build_card(stored.classes, stored.columns)
        if client is not None:
            stored = stored.select_client(client)
            card = replace(card, unprotected=(PRIVATE_PART, *card.unprotected))
        return export_model(
            stored, to, Path(out or f"{self.folder.resolve().name}-{to}"), card, rows
        )

    def render_card(self) -> str:
        """Render the card of the model in the run's own folder as Markdown: what it reads, its
        metrics and its privacy guarantee.
        """
        prepared = record.select_entries(self.entries, Prepared)
        card = self._build_card(
            tuple(prepared[0].classes) if prepared else (),
            data.list_input_columns(self.plan.data.columns),
        )
        return render_card(card, SHARED_PART if self.plan.personal else USES["safetensors"])

    def _build_card(self, classes: tuple[str, ...], columns: tuple[str, ...]) -> ModelCard:
        """Model card of this run: metrics and privacy guarantee."""
        summary, prepared = (
            report.summarise(self.entries),
            record.select_entries(self.entries, Prepared),
        )
        own, privacy = summary.arm(RUN), summary.privacy
        return ModelCard(
            name=self.folder.resolve().name,
            classes=classes,
            columns=columns,
            trained_on=(
                f"{prepared[0].rows_train:,} rows of {prepared[0].clients:,} clients"
                if prepared
                else ""
            ),
            figures=dict(own.metrics) if own else {},
            statement=privacy.statement,
            unprotected=tuple(privacy.unprotected),
            rests_on=privacy.rests_on,
            frozen=data.describe_frozen_network(self.plan.features, self.plan.data.columns),
        )

    @property
    def model_sha256(self) -> str:
        """The SHA-256 of `model.safetensors`, the one that `sha256sum` prints; empty if only
        clients can read the model.
        """
        return report.summarise(self.entries).model_sha256

    @property
    def parameters_sha256(self) -> str:
        """The SHA-256 of the final parameters as flat float32 numbers; baselines and models that only
        clients can read have one too.
        """
        return record.select_entries(self.entries, Finished, RUN)[-1].parameters_sha256

    @property
    def privacy(self) -> str:
        """The privacy statement for data owners."""
        return report.summarise(self.entries).privacy.statement

    def _repr_html_(self) -> str:
        return report.render_snippet(self.entries)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"
