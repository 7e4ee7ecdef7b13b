"""An owner's rows, read on the owner's machine: who the clients are, and the encoded features."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data, features
from tacit.assembly.feature_sources import (
    FeatureSources,
    find_client_secret,
    gather_feature_sources,
)
from tacit.assembly.rows import encode_tables, fit_features, keep_classes
from tacit.column_statistics.statistics import sort_naturally
from tacit.data import k_anonymity
from tacit.data.roles.roles import find_free_name
from tacit.deployment.bodies import Terms
from tacit.deployment.site.measures import MeasuredRows
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.disclosed_statistics import list_common_values
from tacit.deployment.site.rows.held_out import LOCAL, MARK, HeldOut, Marks
from tacit.deployment.site.rows.row_fingerprints import compute_fingerprints
from tacit.errors import PolicyError, WireError
from tacit.plan import Columns, Data, Plan
from tacit.privacy.policy import Limits
from tacit.randomness import Draws
from tacit.rows import Clients, Lexicon, Rows

_LARGEST = float(np.finfo(np.float32).max)
THE_SITE = "the site"
"""The one client of a site whose rows name no owners."""


class RowMarks(NamedTuple):
    """Keyed hashes of a site's rows, by which it decides which are held out and which of these
    count; `local` says which train rows clients hold out for themselves.
    """

    train: Marks
    test: Marks
    local: NDArray[np.bool_]


class SiteRows(NamedTuple):
    """The site's table, the rows of each client, and who the clients are, in the same order.

    `left_out` says in words which rows take no part; `marks` names the column with a keyed
    fingerprint of each row, where rows may be disclosed. `chosen` is set where the site itself
    decides which rows are held out. `sums` are the class counts of all sites, where they decide
    which rows are disclosed.
    """

    table: data.Table
    clients: Clients
    owners: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    marks: str | None = None
    chosen: RowMarks | None = None
    sums: k_anonymity.ClassSums | None = None


class PreparedRows(NamedTuple):
    """A site's table with the classes of all sites, the rows that each client trains on and those it
    holds out, and how rows are encoded.
    """

    table: data.Table
    clients: Clients
    held: Clients
    fitted: features.Fitted
    sources: FeatureSources


class EncodedSiteRows(NamedTuple):
    """Encoded rows: those clients train on, those on which they evaluate the training of others,
    those that models are measured on, and the lexicon of word numbers.
    """

    train: Rows
    train_clients: Clients
    held: Rows
    held_clients: Clients
    measured: MeasuredRows
    lexicon: Lexicon | None
    offer: k_anonymity.RowRelease | None


def adapt_data_settings(plan: Plan, owner: Owner) -> Data:
    """The plan's [data] as it applies at a site, where a simulation's division of rows has no
    meaning.

    With a client column each of its values is a client; without one the whole site is a single
    client. The data owner decides how a file is read: under another encoding a client would have
    another name, and another budget.
    """
    whose: Literal["client", "iid"] = "client" if owner.unit.client else "iid"
    return replace(
        plan.data,
        source=owner.source,
        encoding=owner.encoding,
        header=owner.header,
        partition=whose,
        clients=1,
        by=None,
        limit=None,
        validation=0.0,
        deal="once",
        divide_test=False,
        test_source=None,
    )


def read_rows(
    plan: Plan,
    owner: Owner,
    limits: Limits,
    root: Draws,
    held_out: HeldOut | None = None,
    erased: Collection[bytes] = (),
) -> SiteRows:
    """Read the owner's rows that take part in a run, without those of erased clients, given by
    pseudonym.

    `held_out` decides which are held out; without it the plan's seed does, as in a simulation. Rows
    without a client are left out, and so are rows whose class too few clients have, since its name
    would identify them. Raises PolicyError if too few clients remain.
    """
    settings, client = adapt_data_settings(plan, owner), owner.unit.client
    roles = data.resolve_columns(settings, import_code=True)  # code that the owner names
    if roles != plan.data.columns:
        raise PolicyError(
            f"columns: the data set {owner.source!r} would be read with columns the plan does not"
            " name; name a file as `data` in site.toml"
        )
    notes, marks = list[str](), list[str]()

    def marked(frame: pl.DataFrame) -> pl.DataFrame:
        read = frame
        if held_out:
            frame = frame.with_columns(pl.Series(MARK, held_out.marks(read)))
        if plan.data.share:
            marks.append(find_free_name("mark", frame.columns))
            frame = frame.with_columns(compute_fingerprints(read, owner.secret).alias(marks[0]))
        if plan.schema is not None:
            notes.extend(describe_unread_columns(read, roles))
        if client is None:
            return frame
        frame = frame.with_columns(data.normalise_names(frame[client]).cast(pl.String))
        frame, gone = _without_erased(frame, client, owner, erased)
        notes.extend(gone)
        notes.extend(data.describe_similar_names(frame[client]))
        if plan.schema is not None:
            return frame  # rows without a client are misfits
        named = frame.filter(pl.col(client).is_not_null())
        if named.height < frame.height:
            notes.append(
                f"{frame.height - named.height:,} rows name nobody in the column {client!r} and are"
                " left out"
            )
        return named

    split, least = held_out.split(settings) if held_out else None, limits.min_clients_per_value
    table = data.load(
        settings,
        root.at("data"),
        least_classes=1,
        mark=marked,
        split=split,
        site=data.SiteFile(decimal=owner.decimal, misfit_clients=least),
        schema=plan.schema,
        learns=plan.statistics is None,
    )
    rare = list[str]()
    if plan.agree_values(table.columns).classes:  # the site names no class
        refuse_many_values(plan, table.columns, limits)
        table = _without_other_classes(table, plan.features.classes)
    elif table.columns.label is not None:
        table, rare = _without_rare_classes(table, client, limits)
    table, chosen = _without_marks(table)
    found = _divided(table, settings, root)
    count, who = (len(found.owners), "clients") if client else (table.train.height, "rows")
    if count < limits.min_clients_per_value:
        raise PolicyError(
            f"limits.min_clients_per_value = {limits.min_clients_per_value:,}: this site has"
            f" {count:,}"
            f" {who} to train on"
        )
    return found._replace(
        left_out=(*notes, *table.left_out, *rare), marks=marks[0] if marks else None, chosen=chosen
    )


def refuse_many_values(plan: Plan, columns: Columns, limits: Limits) -> None:
    """Raise PolicyError if the plan's schema states more values of a column than the owner allows."""
    agreed = plan.agree_values(columns)
    for name, known in ((columns.label, agreed.classes), *agreed.categories.items()):
        if len(known) > limits.max_values_per_column:
            raise PolicyError(
                f"limits.max_values_per_column = {limits.max_values_per_column:,}: the plan's"
                f" schema states {len(known):,} values of {name!r}"
            )


def describe_unread_columns(frame: pl.DataFrame, columns: Columns) -> list[str]:
    """A sentence for the owner about columns of the file that a plan does not read."""
    read = {
        name
        for names in asdict(columns).values()
        for name in (names if isinstance(names, tuple) else (names,))
    }
    others = [name for name in frame.columns if name not in read]
    if not others:
        return []
    shown = ", ".join(map(repr, others[:8])) + (", …" if len(others) > 8 else "")
    return [f"columns of the file that are not in the plan are not read: {shown}"]


def _without_marks(table: data.Table) -> tuple[data.Table, RowMarks | None]:
    if MARK not in table.train.columns:
        return table, None
    chosen = RowMarks(
        table.train[MARK].to_numpy(), table.test[MARK].to_numpy(), table.train[LOCAL].to_numpy()
    )
    return (
        replace(table, train=table.train.drop(MARK, LOCAL), test=table.test.drop(MARK, LOCAL)),
        chosen,
    )


def _divided(table: data.Table, settings: Data, root: Draws) -> SiteRows:
    if settings.partition == "client":
        return SiteRows(
            table,
            data.divide(table, settings, root.at("partition")),
            tuple(data.list_owners(table)),
        )
    everything = Clients(
        order=np.arange(table.train.height), starts=np.array([0, table.train.height])
    )
    return SiteRows(table, everything, (THE_SITE,))


def _without_rare_classes(
    table: data.Table, client: str | None, limits: Limits
) -> tuple[data.Table, list[str]]:
    """The rows whose class enough clients have, train and test rows counted together, and a
    sentence about the others.
    """
    label = table.columns.label or ""
    common = list_common_values(
        pl.concat([table.train, table.test]), label, client, limits, "label"
    )
    kind = table.train.schema[label]
    assert isinstance(kind, pl.Enum), "a loaded table's label is an Enum"
    kept = [name for name in kind.categories.to_list() if name in common]
    train, test = (keep_classes(half, label, kept) for half in (table.train, table.test))
    lost = table.train.height + table.test.height - train.height - test.height
    if not lost:
        return table, []
    who = "clients" if client else "rows"
    least = f"{limits.min_clients_per_value:,} {who}"
    note = (
        f"{lost:,} rows are left out: their class of {label!r} has fewer than {least}, or a name"
        " with invisible characters"
    )
    return replace(table, train=train, test=test), [note]


def _without_other_classes(table: data.Table, classes: tuple[str, ...]) -> data.Table:
    """The rows of the classes that the plan's features state; all rows if they state none."""
    label = table.columns.label
    if not classes or label is None:
        return table
    train, test = (
        keep_classes(half, label, sort_naturally(classes)) for half in (table.train, table.test)
    )
    return replace(table, train=train, test=test)


def _without_erased(
    frame: pl.DataFrame, client: str, owner: Owner, erased: Collection[bytes]
) -> tuple[pl.DataFrame, list[str]]:
    """The rows of clients that were not erased, and a sentence about the others."""
    names = frame[client].unique().drop_nulls().to_list() if erased else []
    gone = [name for name in names if owner.pseudonym(name) in erased]
    if not gone:
        return frame, []
    kept = frame.filter(pl.col(client).is_in(gone).not_() | pl.col(client).is_null())
    return kept, [f"{frame.height - kept.height:,} rows of erased clients are left out"]


def prepare_rows(
    plan: Plan,
    rows: SiteRows,
    terms: Terms,
    root: Draws,
    first: int,
    secret: bytes | None = None,
) -> PreparedRows:
    """Divide a site's rows as the terms say; `first` is the public name of the first client here,
    `secret` the one that the sites of the run negotiated, if they did.
    """
    table, clients = rows.table, rows.clients
    held = Clients(order=np.zeros(0, np.int64), starts=np.zeros(len(clients) + 1, np.int64))
    if plan.data.local_test and rows.chosen is not None:
        clients, held = data.set_apart(clients, rows.chosen.local)
    elif plan.data.local_test:
        clients, held = data.hold_out(clients, plan.data.local_test, root.at("local-test"), first)
    secret = find_client_secret(plan, root) if secret is None else secret
    sources = gather_feature_sources(
        table.columns, plan.features, secret, projection=terms.read_projection()
    )
    fitted = fit_features(plan, terms.seen.statistics(), table.columns, sources)
    known = replace(
        table,
        train=_prepared(table.train, table, fitted.classes),
        test=_prepared(table.test, table, fitted.classes),
    )
    return PreparedRows(known, clients, held, fitted, sources)


def encode_rows(
    plan: Plan,
    rows: SiteRows,
    terms: Terms,
    root: Draws,
    first: int,
    secret: bytes | None = None,
) -> EncodedSiteRows:
    """Encode the rows with the statistics of all sites in the terms; `first` is the public name of
    the first client here, `secret` the one that the sites of the run negotiated, if they did.

    Where the plan discloses rows, the site decides here which ones: they are left out of training.
    """
    known, clients, held, fitted, sources = prepare_rows(plan, rows, terms, root, first, secret)
    offer = (
        k_anonymity.decide_release(known, clients, plan.data.share, root.at("share"), rows.sums)
        if plan.data.share
        else None
    )
    frame = known.train
    if offer is not None:
        clients, frame = offer.kept(), k_anonymity.expand_categories(frame)
    (train, test), lexicon, _ = encode_tables(
        plan, known.columns, (frame, known.test), fitted, sources
    )
    own = clients.in_place()
    measured = (
        _test_rows(rows, test)
        if len(test)
        else _held_by_clients(rows, held, train.take(held.order))
    )
    if offer is not None and plan.data.share:
        held = held.select(k_anonymity.find_kept_classes(offer, known, held, plan.data.share))
    return EncodedSiteRows(
        train.take(clients.order),
        own,
        train.take(held.order),
        held.in_place(),
        measured,
        lexicon,
        offer,
    )


def _test_rows(rows: SiteRows, encoded: Rows) -> MeasuredRows:
    """The site's test rows with their owners, also those of clients without train rows."""
    name, count = rows.table.columns.client, len(encoded)
    owners = (
        rows.table.test[name].cast(pl.String).to_numpy()
        if name
        else np.full(count, THE_SITE, object)
    )
    return MeasuredRows(
        encoded,
        owners.astype(object),
        rows.chosen.test if rows.chosen else np.arange(count, dtype=np.uint64),
    )


def _held_by_clients(rows: SiteRows, held: Clients, encoded: Rows) -> MeasuredRows:
    """The rows that clients hold out for themselves, with their owners."""
    owners = np.repeat(np.array(rows.owners, object), held.sizes())
    marks = (
        rows.chosen.train[held.order] if rows.chosen else np.arange(len(encoded), dtype=np.uint64)
    )
    return MeasuredRows(encoded, owners, marks)


def _prepared(frame: pl.DataFrame, table: data.Table, classes: tuple[str, ...]) -> pl.DataFrame:
    """Rows with the classes of all sites and numbers clipped to what features can represent: one
    cell must not make a site refuse.
    """
    numbers = [name for name in table.columns.numeric if frame.schema[name].is_numeric()]
    # Integers become floats first: no integer type holds the largest float.
    clipped = pl.col(numbers).cast(pl.Float64).clip(-_LARGEST, _LARGEST)
    return _classed(frame, table, classes).with_columns(clipped)


def _classed(frame: pl.DataFrame, table: data.Table, classes: tuple[str, ...]) -> pl.DataFrame:
    """Rows whose label has the classes of all sites.

    They must include all classes that this site disclosed: a server that omits one would learn
    whose rows are gone.
    """
    label = table.columns.label
    if label is None:
        return frame
    own = table.train.schema[label]
    assert isinstance(own, pl.Enum), "a loaded table's label is an Enum"
    if not set(own.categories.to_list()) <= set(classes):
        raise WireError("terms refused: they lack classes that this site reported")
    return keep_classes(frame, label, classes)
