"""The same jobs without files: a plan built from dataclasses in, a Run out."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tacit import data, report, simulation
from tacit import plan as plans
from tacit.api.arguments import check_module, check_observer, check_run_name, load_plan, read_table
from tacit.api.module_plan import build_module_plan
from tacit.models.export.card import ModelCard
from tacit.plan import Features, Plan, Privacy
from tacit.progress import choose_observer
from tacit.runs import record, run_folder
from tacit.runs.named_runs import find_model_folder, locate_run
from tacit.runs.record import RUN, Entry, Finished, Prepared, Round
from tacit.simulation.advice.starter import make_starter

if TYPE_CHECKING:
    from tacit.models.exporting import ExportResult
    from tacit.models.predict import StoredModel

RUNS = "runs"
"""Where runs are kept, one folder each, if nothing else is said."""


def starter_plan(table: object, *, label: str | None = None) -> Plan:
    """Return a plan to start from for a table: the path of a file, or rows as `run` takes them.

    What each column is for is guessed from its name and cells; `label` names the column to predict.
    `tacit init --from TABLE` writes the same plan to a file and says why each guess was made.
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
) -> Run:
    """Run a plan, or the plan in a TOML file, to its end and return the run.

    `rows` hands over the data in Python (a polars or pandas frame, an Arrow table, a Hugging Face
    data set, or any iterable of dicts) when `plan.data.source` is "given"; `module` hands over an
    nn.Module in place of `plan.model`. Without an observer, progress is shown on a terminal and in
    a notebook; `observer=tacit.Silence()` shows none.
    """
    made = load_plan(plan)
    check_observer(observer)
    if module is not None:
        check_module(module)
    with _watch(observer) as watching:
        place = simulation.start(made, Path(folder), watching, rows, module)
    report.write(place)
    return Run(place, module=module, allow_code=True)


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
) -> Run:
    """Train an nn.Module on rows that clients hold, and return the finished run.

    `rows` are as `run` takes them, or the path of a file; what each column is for is guessed as
    `starter_plan` does, and `label` names the column to predict. `clients` names the column that
    says who owns a row, or says to how many clients rows are dealt at random. `privacy` is a
    preset, an epsilon per run for each client, or a table; `features` says how rows become what the
    module reads. `run.plan` has the rest; to change more of it, hand a plan and `module` to `run`.
    """
    check_module(module, "train")
    check_observer(observer)
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
    return run(made, rows=given, module=module, folder=folder, observer=observer)


def resume(
    run: str | Path,
    *,
    rows: object | None = None,
    module: object | None = None,
    folder: str | Path = RUNS,
    observer: simulation.Observer | None = None,
    allow_code: bool = False,
) -> Run:
    """Take up a run that was stopped, finish it, and return it; it is given by its name below
    `folder`, or by its path.

    With `allow_code`, a Python class that the run's plan names is imported and run.
    """
    place = locate_run(check_run_name(run), Path(folder))
    check_observer(observer)
    with _watch(observer) as watching:
        done = simulation.resume(place, watching, rows, module, allow_code=allow_code)
    report.write(done)
    return Run(done, module=module, allow_code=allow_code)


def load(
    run: str | Path | Run,
    *,
    module: object | None = None,
    folder: str | Path = RUNS,
    allow_code: bool = False,
) -> StoredModel:
    """Return the model of a finished run, ready to predict; the run is given by its name below
    `folder`, its path, or itself.

    A folder that `tacit export --to safetensors` wrote will do too. `module` is the nn.Module the
    run was given, if it was. With `allow_code`, a Python class that the folder names is imported
    and run; use it only for folders you trust.
    """
    from tacit.models import predict

    place = (
        run.folder if isinstance(run, Run) else find_model_folder(check_run_name(run), Path(folder))
    )
    return predict.load(place, module, allow_code=allow_code)


@contextmanager
def _watch(observer: simulation.Observer | None) -> Iterator[simulation.Observer]:
    """Yield the observer, or what shows progress where somebody sits in front of it."""
    if observer is not None:
        yield observer
        return
    with choose_observer() as watching:
        yield watching


class Run:
    """A finished run, read from its folder, which is given by its path or by its name below
    `folder`.

    `module` is the nn.Module the run was given in Python, if it was; without it such a run has its
    weights and cannot predict. With `allow_code`, a Python class that the folder names is imported
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
        """Return the run's plan, with every setting."""
        return run_folder.read_plan(self.folder)

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the run's record."""
        return list(run_folder.entries(self.folder))

    @property
    def metrics(self) -> pl.DataFrame:
        """Return one row for each measured round of each arm."""
        rounds = [entry for entry in record.select_entries(self.entries, Round) if entry.metrics]
        return pl.DataFrame(
            [{"arm": entry.arm, "round": entry.round_no, **entry.metrics} for entry in rounds]
        )

    @property
    def votes(self) -> pl.DataFrame:
        """Return one row for each client that was voted on, lowest score first; no row in a run
        without votes.

        `score` is the last one, between -1 (harms) and 1 (helps) but for noise, `error` its
        standard error; both are missing for a client nobody voted on. `rejected_in` are the rounds
        in which the client was rejected.
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
        """Return the final model as named arrays, shaped as PyTorch's state_dict."""
        return load_file(self.folder / run_folder.MODEL)

    @cached_property
    def _stored(self) -> StoredModel:
        return load(self, module=self._module, allow_code=self._allow_code)

    def predict(self, rows: object) -> NDArray[np.str_]:
        """Return the most probable class of each row; rows as `run` takes them, or the path of a
        file, without a label.
        """
        return self._stored.predict(rows)

    def predict_proba(self, rows: object) -> NDArray[np.float64]:
        """Return one line per row with the probability of each class, in the order of
        `load(run).classes`.
        """
        return self._stored.predict_proba(rows)

    def export(
        self, to: str, out: str | Path | None = None, *, rows: object | None = None
    ) -> ExportResult:
        """Write the model as `safetensors`, `onnx`, `torch`, `sklearn` or `hub`, with its features
        and its card, into a new folder.

        It is tried before it is handed over, on `rows` or on made-up ones; how far it is from the
        run's model is in the result.
        """
        from tacit.models.exporting import export_model

        return export_model(
            self._stored, to, Path(out or f"{self.folder.resolve().name}-{to}"), self._card(), rows
        )

    def _card(self) -> ModelCard:
        """Return what a card says of this run: how good it is, and what was promised."""
        summary, held = (
            report.summarise(self.entries),
            record.select_entries(self.entries, Prepared),
        )
        own, told = summary.arm(RUN), summary.privacy
        return ModelCard(
            name=self.folder.resolve().name,
            classes=self._stored.classes,
            columns=self._stored.columns,
            trained_on=(
                f"{held[0].rows_train:,} rows of {held[0].clients:,} clients" if held else ""
            ),
            figures=dict(own.metrics) if own else {},
            statement=told.statement,
            unprotected=tuple(told.unprotected),
            rests_on=told.rests_on,
        )

    @property
    def model_sha256(self) -> str:
        """The SHA-256 of `model.safetensors`, the one that `sha256sum` prints; empty if only
        clients can read the model.
        """
        return report.summarise(self.entries).model_sha256

    @property
    def parameters_sha256(self) -> str:
        """The SHA-256 of the final parameters as flat float32 numbers, which baselines and
        unreadable models have too.
        """
        return record.select_entries(self.entries, Finished, RUN)[-1].parameters_sha256

    @property
    def privacy(self) -> str:
        """Return the sentence a data owner may read."""
        return report.summarise(self.entries).privacy.statement

    def _repr_html_(self) -> str:
        return report.render_snippet(self.entries)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"
