"""Models with private parameters: each row is predicted with the personal model of its client.

The same code serves a simulated run's folder and a model that a site received.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data, features
from tacit.assembly.client_side import PrivateParts, build_learner
from tacit.assembly.feature_sources import FeatureSources
from tacit.assembly.rows import build_empty_table, encode_inputs
from tacit.assembly.token_rows import encode_new_token_rows
from tacit.errors import DataError, PlanError, RunError
from tacit.plan import Columns, Plan, Worded
from tacit.randomness import Draws
from tacit.rows import Clients, Lexicon, Rows, Vector
from tacit.runs.client_numbers import ClientParts
from tacit.training.private.store import PrivateStore

if TYPE_CHECKING:
    from tacit.training.private.learner import PartialLearner

UnknownClients = Literal["refuse", "base"]
"""What happens to rows of clients without a personal model."""
_NOBODY = Clients(order=np.empty(0, np.int64), starts=np.zeros(2, np.int64))
_BASE = -1


class RowClients(NamedTuple):
    """The number of each row's client, -1 where the base model predicts, and notes."""

    numbers: NDArray[np.int64]
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class NewRowEncoder:
    """Encodes new rows for a plan with private parameters, and builds learners over none of them."""

    plan: Plan
    roles: Columns
    fitted: features.Fitted
    sources: FeatureSources
    folder: Path
    module: object | None = None

    def encode(self, frame: pl.DataFrame) -> tuple[Rows, Lexicon | None]:
        """Encode rows; with a word table, also return the words that token numbers stand for."""
        if isinstance(self.plan.model, Worded):
            secret = self.sources.secret
            return encode_new_token_rows(self.plan, frame, self.roles, self.fitted, secret)
        inputs = encode_inputs(frame, self.roles, self.plan.features, self.fitted, self.sources)
        unread = np.zeros(len(inputs), np.int32)
        return Rows(inputs=inputs, labels=unread, classes=self.fitted.classes), None

    def build(self, rows: Rows, lexicon: Lexicon | None) -> PartialLearner:
        """Build a learner that can assemble the model of each client."""
        parts = PrivateParts(folder=self.folder, draws=Draws.seeded(0), lexicon=lexicon)
        none = rows.take(np.empty(0, np.int64))
        return cast("PartialLearner", build_learner(self.plan, none, _NOBODY, parts, self.module))

    def build_without_words(self) -> PartialLearner:
        """Build a learner for shared parameters alone, which needs no public word vectors."""
        wordless = replace(self.plan, private=replace(self.plan.private, start="random"))
        empty = build_empty_table(self.roles, self.fitted)
        return self.build(*replace(self, plan=wordless).encode(empty))


@dataclass(frozen=True, kw_only=True)
class ClientModels:
    """The personal models of a run's clients. `learner` has the shared parameters `shared`, and
    `rounds` is the number of the run's last round.
    """

    parts: ClientParts
    encoder: NewRowEncoder
    learner: PartialLearner
    shared: Vector
    rounds: int

    def find_clients(
        self, table: pl.DataFrame, client: str | None = None, unknown: UnknownClients = "refuse"
    ) -> RowClients:
        """Find whose personal model predicts each row: the client that the client column names, or
        `client` for all rows.

        Raise DataError if there are rows of clients without a personal model, unless `unknown` is
        "base".
        """
        names = self._name_clients(table, client)
        known = {name: self._find_stored(name) for name in set(names)}
        numbers = np.array([known[name] for name in names], np.int64).reshape(-1)
        strange = int((numbers == _BASE).sum())
        if not strange:
            return RowClients(numbers, [])
        count = sum(number == _BASE for number in known.values())
        whose = (
            f"{strange:,} of {len(numbers):,} rows belong to {count:,}"
            f" client{'s' if count != 1 else ''} without a personal model here"
        )
        why = self._explain_missing_base()
        if unknown == "refuse":
            remedy = "" if why else ", or predict them with --unknown-clients base"
            raise DataError(
                f"predict(rows): {whose}: not in the run, never asked, erased, or the cell is empty;"
                f" leave these rows out{remedy}"
            )
        if why:
            raise PlanError(f"--unknown-clients base: {whose}, and {why}; leave these rows out")
        return RowClients(numbers, [f"{whose}; the base model predicts them"])

    def predict(self, frame: pl.DataFrame, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the logits of cleaned rows, each by the model of its client."""
        from tacit.training.private.personal import predict_personal, read_personal_part

        rows, lexicon = self.encoder.encode(frame)
        learner = self.encoder.build(rows, lexicon)
        found = np.zeros((len(numbers), learner.outputs), np.float32)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            own = rows.inputs.take(places)
            if number == _BASE:
                found[places] = learner.predict(self.shared, own)
                continue
            part = read_personal_part(learner, number, self.rounds + 1)
            found[places] = predict_personal(learner, self.shared, part, own)
        return found

    def merge_parameters(self, client: str) -> dict[str, NDArray[Any]]:
        """Return the shared and private parameters of one client's model as named arrays.

        Raise RunError for models with a word table, since a table needs the client's own words.
        """
        from tacit.training.private.personal import read_personal_part

        network = self.encoder.plan.model
        if isinstance(network, Worded):
            raise RunError(
                f"export: model.name = {network.name!r} has a word table with the client's own"
                " words, which no format represents; use `tacit predict`"
            )
        number = self.find_clients(pl.DataFrame({"row": [0]}), client).numbers.tolist()[0]
        part = read_personal_part(self.learner, number, self.rounds + 1)
        return {**self.learner.tensors(self.shared), **part.arrays}

    def _name_clients(self, table: pl.DataFrame, client: str | None) -> list[str | None]:
        """The normalised name of each row's client; None for an empty cell."""
        if client is not None:
            return [_normalise(pl.Series([client]))[0]] * table.height
        if self.parts.only is not None:
            return [self.parts.only] * table.height
        column = self.encoder.roles.client
        if column is None or not self.parts.by_column:
            raise DataError(
                "predict(rows): each client has its own model, and clients of this simulation have"
                " numbers instead of names; name the client of all rows with --client-id NUMBER"
            )
        if column not in table.columns:
            raise DataError(
                f"predict(rows): the column {column!r} is missing. Each client has its own model,"
                " and this column says whose a row is; add it, or name the client of all rows with"
                " --client-id ID"
            )
        return _normalise(table[column])

    def _find_stored(self, name: str | None) -> int:
        """The number of a client with stored private parameters; -1 if there are none."""
        number = None if name is None else self.parts.find_number(name)
        if number is None:
            return _BASE
        last = PrivateStore(self.parts.folder).find_last_round(number, self.rounds + 1)
        return _BASE if last is None else number

    def _explain_missing_base(self) -> str:
        """Why there is no model for other clients; empty if the private parameters of a new client
        are public.
        """
        plan = self.encoder.plan
        if not isinstance(plan.model, Worded) or plan.private.parameters:
            return "a new client's private parameters are random numbers"
        if plan.private.start != "public":
            return f"with private.start = {plan.private.start!r} a new client's word vectors are random"
        return ""


def _normalise(names: pl.Series) -> list[str | None]:
    return data.normalise_names(names).cast(pl.String).to_list()


def explain_missing_parts(plan: Plan) -> str:
    """Why no folder of a run with this plan can predict for its clients; empty if one can."""
    private = plan.private
    if isinstance(plan.model, Worded) and private.words != "all":
        return (
            f"private.words = {private.words!r}: the words of the shared table are in no file of the"
            " run"
        )
    if not private.stores or not private.train:
        setting = "store = 'none'" if private.train else "train = false"
        return f"private.{setting}: clients store no private parameters"
    return ""
