"""An owner's rows, read on the owner's machine: who is a client there, and what features make of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from tacit import data, features
from tacit.data import disclose
from tacit.draws import Draws
from tacit.engine import negotiated
from tacit.engine.pictures import reader_of
from tacit.engine.wording import worded
from tacit.plan import Data, Plan
from tacit.rows import Clients, Lexicon, Rows

THE_SITE = "the site"
"""The one client of a site whose rows name no owners."""


class SiteRows(NamedTuple):
    """The site's table, which rows are whose, and who the clients are, in the same order."""

    table: data.Table
    clients: Clients
    owners: tuple[str, ...]


class Encoded(NamedTuple):
    """Rows as numbers: those clients train on, those they hold out, the site's test rows, and what word numbers mean."""

    train: Rows
    train_clients: Clients
    held: Rows
    held_clients: Clients
    test: Rows
    lexicon: Lexicon | None
    offer: disclose.Offer | None


def settings_at_a_site(plan: Plan, source: str) -> Data:
    """Return the plan's [data] as it is meant at a site: how a simulation divides rows has no meaning there.

    With a column of owners each owner is a client; without one the whole site is a single client.
    """
    whose: Literal["client", "iid"] = "client" if plan.data.columns.client else "iid"
    return replace(
        plan.data, source=source, partition=whose, clients=1, by=None, limit=None, validation=0.0, deal="once", divide_test=False
    )


def read_rows(plan: Plan, source: str, root: Draws) -> SiteRows:
    """Return the owner's rows."""
    settings = settings_at_a_site(plan, source)
    table = data.load(settings, root.at("data"), least_classes=1)
    if settings.partition == "client":
        return SiteRows(table, data.divide(table, settings, root.at("partition")), tuple(data.owners(table)))
    everything = Clients(order=np.arange(table.train.height), starts=np.array([0, table.train.height]))
    return SiteRows(table, everything, (THE_SITE,))


def encode_rows(plan: Plan, rows: SiteRows, seen: features.Seen, root: Draws, first: int) -> Encoded:
    """Return the rows as numbers, from what all sites' rows say; `first` is the public name of the first client here.

    Where the plan shares rows, the site decides here which ones: they are left out of the rows that are trained on.
    """
    table, clients = rows.table, rows.clients
    held = Clients(order=np.zeros(0, np.int64), starts=np.zeros(len(clients) + 1, np.int64))
    if plan.data.local_test:
        clients, held = data.hold_out(clients, plan.data.local_test, root.at("local-test"), first)
    agreed = negotiated.held(plan)
    secret = agreed.secret if agreed else root.sealed("clients").key
    reader = reader_of(table.columns, plan.features)
    ordered = data.word_list(plan.features.list) if plan.features.list and table.columns.text else ()
    fitted = features.fit_seen(seen, table.columns, plan.features, secret, reader, None, ordered)
    known = replace(table, train=_classed(table.train, table, seen), test=_classed(table.test, table, seen))
    offer = disclose.offer(known, clients, plan.data.share, root.at("share")) if plan.data.share else None
    frame = known.train
    if offer is not None:
        clients, frame = offer.kept(), disclose.written_out(frame)
    if plan.features.text in ("words", "pieces"):
        train, test, lexicon, _ = worded(plan, replace(known, train=frame), fitted, secret, None)
    else:
        train = features.encode(frame, table.columns, plan.features, fitted, secret, reader)
        test = features.encode(known.test, table.columns, plan.features, fitted, secret, reader)
        lexicon = None
    return Encoded(train.take(clients.order), _in_place(clients), train.take(held.order), _in_place(held), test, lexicon, offer)


def _classed(frame: pl.DataFrame, table: data.Table, seen: features.Seen) -> pl.DataFrame:
    """Return rows whose label has the classes of all sites; test rows of other classes are left out."""
    label = table.columns.label or ""
    kept = frame.filter(pl.col(label).cast(pl.String).is_in(list(seen.classes)))
    return kept.with_columns(pl.col(label).cast(pl.String).cast(pl.Enum(list(seen.classes))))


def _in_place(clients: Clients) -> Clients:
    """Return the same clients over rows that already stand in their order."""
    return Clients(order=np.arange(len(clients.order)), starts=clients.starts)
