"""Rows of a file as every party reads them: clients by normalised names, cells by the plan's schema."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from tacit.column_statistics.number_format import DecimalMark
from tacit.data.clean import DecimalSetting
from tacit.data.clients.client_names import normalise_names
from tacit.data.schema.apply import apply_schema
from tacit.data.schema.misfit import Misfit, MisfitRules, settle_misfits
from tacit.plan import Columns, Data, Schema


class SiteFile(NamedTuple):
    """Facts that the owner of a site states about its file: the decimal mark, if any, and how many
    clients must have the same misfit before the site refuses a run for it. As many must write a
    decimal mark before it counts.
    """

    decimal: DecimalMark | None = None
    misfit_clients: int = 1


class RowReader(NamedTuple):
    """How the rows of a file are read: names of clients as everywhere, cells as the schema says."""

    data: Data
    columns: Columns
    schema: Schema | None
    site: SiteFile | None

    @property
    def decimal(self) -> DecimalSetting:
        """The decimal mark that the plan or the owner states."""
        if self.site is None:
            return DecimalSetting(self.data.decimal)
        stated = self.site.decimal
        return DecimalSetting(
            stated or self.data.decimal, stated is not None, self.site.misfit_clients
        )

    def read(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
        """Rows with normalised names of clients that fit the schema, and notes on the others."""
        client = self.columns.client if self.columns.client in frame.columns else None
        if client is not None:
            frame = frame.with_columns(normalise_names(frame[client]))
        if self.schema is None:
            return frame, []
        frame, misfits = apply_schema(frame, self.columns, self.schema, self.decimal)
        owner = client if self.data.partition == "client" else None
        if owner is not None and frame[owner].null_count():
            misfits = (*misfits, Misfit(owner, "empty", frame[owner].is_null()))
        rules = MisfitRules(owner, self.site.misfit_clients if self.site else 1)
        return settle_misfits(frame, misfits, self.schema, rules)
