"""The rows of a simulated run: read, divided among clients and encoded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import polars as pl

from tacit import data, features
from tacit.assembly.feature_sources import (
    ReadProgress,
    find_client_secret,
    gather_feature_sources,
)
from tacit.assembly.rows import encode_tables, fit_features, keep_classes
from tacit.column_statistics.statistics import ColumnStatistics, merge_statistics, sort_naturally
from tacit.plan import Columns, Plan
from tacit.randomness import Draws
from tacit.rows import Clients, Lexicon, Rows
from tacit.simulation.adversaries.corruption import Corruption, Holdings, corrupt_clients
from tacit.simulation.disclosure import Disclosure, Preview, build_preview, disclose_rows


@dataclass(frozen=True, kw_only=True)
class SimulatedData:
    """The data of a simulation: training rows in client order, their clients, the test rows, and
    how they were prepared.

    `own` are rows of each client for evaluating the model for that client alone: rows held out at
    the client, or its part of the test rows, if the plan asks for that, else its training rows.
    `lexicon` maps word numbers to words. `released` describes what was read from clients' rows in
    the clear to build features; `fitted` and `habits` contain it. `public` are rows that the server
    has and no client. `corruption` says which clients an experiment corrupted; `train` are their
    rows after that. `words_seen` is the share of the words in a sample of training texts that the
    model reads. `owners` are the clients' names, where a column holds them.
    """

    source: str
    train: Rows
    clients: Clients
    test: Rows
    own: Rows
    own_clients: Clients
    released: tuple[str, ...]
    fitted: features.Fitted
    columns: Columns
    habits: data.Habits = field(default_factory=data.Habits)
    disclosure: Disclosure | None = None
    lexicon: Lexicon | None = None
    public: Rows | None = None
    corruption: Corruption | None = None
    leaks: tuple[str, ...] = ()
    words_seen: float = 1.0
    owners: tuple[str, ...] | None = None


def prepare(
    plan: Plan,
    draws: Draws,
    input_rows: object | None = None,
    progress: data.Progress | None = None,
    encoded: ReadProgress | None = None,
) -> SimulatedData:
    """Prepare the data of a simulated run; the same plan and seed give the same data.

    `progress` is called as bytes are downloaded, `encoded` as a frozen network reads images or texts.
    """
    table, public = _load_table(plan, draws, input_rows, progress)
    table = _keep_stated_classes(plan, table)
    clients, kept, held = _divide_clients(plan, draws, table)
    if plan.statistics is None:
        data.require_test_rows(table, plan.data)
    secret = find_client_secret(plan, draws)
    sources = gather_feature_sources(table.columns, plan.features, secret, progress, encoded)
    known = replace(plan.features, category_clients=1) if table.public else plan.features
    agreed = plan.agree_values(table.columns)
    statistics = ColumnStatistics(classes=(), ranges={}, categories={})
    if plan.statistics is None:
        own_statistics = features.compute_statistics(table.train, table.columns, known, agreed)
        statistics = merge_statistics([own_statistics])
    fitted = fit_features(plan, statistics, table.columns, sources, public)
    (rows, test), lexicon, encode = encode_tables(
        plan, table.columns, (table.train, table.test), fitted, sources, progress
    )
    train = rows.take(kept.order)
    own, own_clients = (rows.take(held.order) if plan.data.local_test else train), held.in_place()
    if plan.data.divide_test:
        tested = data.divide_test(table, plan.data, draws.at("partition"), clients)
        own, own_clients = test.take(tested.order), tested.in_place()
    holdings, corruption = (
        Holdings(train=train, clients=kept.in_place(), own=own, own_clients=own_clients),
        None,
    )
    if plan.corrupt:
        holdings, corruption = corrupt_clients(plan.corrupt, holdings, test, draws.at("corrupt"))
    return SimulatedData(
        source="; ".join(
            [
                table.source.removesuffix("."),
                *_describe_rare(plan, table, fitted),
            ]
        )
        + ".",
        train=holdings.train,
        clients=holdings.clients,
        test=test,
        own=holdings.own,
        own_clients=holdings.own_clients,
        corruption=corruption,
        disclosure=disclose_rows(plan, table, kept, held, encode, draws)
        if plan.data.share is not None
        else None,
        released=(
            *fitted.released,
            *table.habits.released,
            *_describe_released_words(plan, lexicon),
        ),
        fitted=fitted,
        columns=table.columns,
        habits=table.habits,
        lexicon=lexicon,
        public=None if public is None else encode(public),
        leaks=tuple(data.find_leaks(table)) if plan.statistics is None else (),
        words_seen=_words_seen(plan, table, fitted),
        owners=tuple(data.list_owners(table)) if plan.data.partition == "client" else None,
    )


def _keep_stated_classes(plan: Plan, table: data.Table) -> data.Table:
    """The rows of the classes that `[features]` states; all rows if it states none."""
    classes, label = sort_naturally(plan.features.classes), table.columns.label
    if not classes or label is None:
        return table
    train, test = (keep_classes(half, label, classes) for half in (table.train, table.test))
    lost = table.train.height - train.height
    note = f"; {lost:,} train rows of other classes are left out" if lost else ""
    return replace(table, train=train, test=test, source=table.source.removesuffix(".") + note)


def _describe_rare(plan: Plan, table: data.Table, fitted: features.Fitted) -> list[str]:
    """Notes on categories that the model does not know; queries have none."""
    if plan.statistics is not None:
        return []
    return features.describe_rare(table.train, table.columns, fitted)


def keep_input_rows(input_rows: object) -> object:
    """Rows from Python in a form that can be read several times."""
    return [*input_rows] if isinstance(input_rows, Iterator) else input_rows


def read_table(plan: Plan, input_rows: object | None = None) -> data.Table:
    """The rows of a simulated run: cleaned, split, and without rows that only the server has. Raise
    DataError if there are no test rows.

    Public rows from another source are not read: they do not reduce these rows.
    """
    draws = Draws.seeded(plan.seed)
    own = plan if plan.public is None or plan.public.source is None else replace(plan, public=None)
    table, _ = _load_table(own, draws, input_rows, None)
    data.require_test_rows(table, plan.data)
    return table


def _words_seen(plan: Plan, table: data.Table, fitted: features.Fitted) -> float:
    """The share of the words in a sample of training texts that the model reads; 1 where that has
    no meaning.
    """
    reads_words = plan.statistics is None and plan.features.text in ("binary", "listed")
    if not table.columns.text or not reads_words:
        return 1.0  # an encoder reads all words
    return round(
        features.measure_coverage(
            table.train, table.columns, plan.features, fitted.words
        ).words_seen,
        4,
    )


def preview(
    plan: Plan, input_rows: object | None = None, progress: data.Progress | None = None
) -> Preview:
    """Preview which rows a run of the plan would disclose; nothing is sent or trained."""
    draws = Draws.seeded(plan.seed)
    table, _ = _load_table(plan, draws, input_rows, progress)
    _, kept, _ = _divide_clients(plan, draws, table)
    return build_preview(plan, table, kept, draws)


def divide_rows(plan: Plan) -> tuple[data.Table, Clients]:
    """The rows of a simulated run as read, and the training rows of each client."""
    draws = Draws.seeded(plan.seed)
    table, _ = _load_table(plan, draws, None, None)
    return table, _divide_clients(plan, draws, table)[0]


def load_divided_table(
    plan: Plan, draws: Draws, input_rows: object | None, progress: data.Progress | None
) -> tuple[data.Table, Clients]:
    """The rows of a simulated run as read, and the rows that each client trains on."""
    table, _ = _load_table(plan, draws, input_rows, progress)
    return table, _divide_clients(plan, draws, table)[1]


def read_public_rows(plan: Plan) -> pl.DataFrame:
    """The server's public rows of a simulated run, as read."""
    _, public = _load_table(plan, Draws.seeded(plan.seed), None, None)
    assert public is not None, "a plan without [public] has no public rows"
    return public


def trained_on(plan: Plan) -> tuple[data.Table, Clients]:
    """The rows of a simulated run as read, and the rows that each client trains on."""
    draws = Draws.seeded(plan.seed)
    table, _ = _load_table(plan, draws, None, None)
    return table, _divide_clients(plan, draws, table)[1]


def _load_table(
    plan: Plan, draws: Draws, input_rows: object | None, progress: data.Progress | None
) -> tuple[data.Table, pl.DataFrame | None]:
    """The table that is divided among clients, and the server's public rows, if the plan has any."""
    table = data.load(
        plan.data,
        draws.at("data"),
        input_rows,
        progress=progress,
        schema=plan.schema,
        learns=plan.statistics is None,
    )
    if plan.public is None:
        return table, None
    return data.set_aside(
        table, plan.public, draws.at("center", "rows"), progress, schema=plan.schema
    )


def _divide_clients(
    plan: Plan, draws: Draws, table: data.Table
) -> tuple[Clients, Clients, Clients]:
    """The rows of each client, divided into rows to train on and held-out rows."""
    clients = data.divide(table, plan.data, draws.at("partition"))
    if plan.data.local_test:
        return clients, *data.hold_out(clients, plan.data.local_test, draws.at("local-test"))
    return clients, clients, clients


def _describe_released_words(plan: Plan, lexicon: Lexicon | None) -> tuple[str, ...]:
    """What a shared word table releases: the words that occur at the clients, most frequent first."""
    if lexicon is None or plan.private.words == "all":
        return ()
    which = "the list of words in all clients' texts"
    if lexicon.vectors is not None:
        which = (
            f"which {'pieces' if plan.features.text == 'pieces' else 'words'} of the public list"
            " occur in all clients' texts"
        )
    less = ", those with digits left out" if plan.private.words == "digits" else ""
    return (f"{which}, in order of frequency{less}",)
