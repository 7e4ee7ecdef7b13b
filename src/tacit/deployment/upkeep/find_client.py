"""Find a client of a site by the id that stands in the owner's file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl

from tacit.data.clients.client_names import fold_names, normalise_names
from tacit.data.read import TextFormat, is_file_source, read_file
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_folder import load_owner
from tacit.errors import DataError, PlanError
from tacit.privacy.site_ledger.erasures import ClientAccount


class FoundClient(NamedTuple):
    """A client: the normalised name, the pseudonym in the ledger, and the number of its rows in the
    owner's file; None if the file cannot be read. `similar` counts other clients of the file whose
    names differ only in case, leading zeros or a decimal point.
    """

    name: str
    pseudonym: bytes
    rows: int | None
    similar: int = 0


def find_client(folder: Path, given: str) -> tuple[Owner, FoundClient]:
    """Find a client of the site in a folder by an id, written as in the site's file.

    Names are normalised as for runs. In a column of numbers 007 and 7.0 are the client 7. Raises
    PlanError if the site has no client column, or the id is blank.
    """
    owner = load_owner(folder)
    if owner.unit.client is None:
        raise PlanError(
            f"{folder}: site.toml names no client column, so all rows belong to one client and"
            " single people have no id; set `client` to the column that identifies them"
        )
    column = _read_column(owner, owner.unit.client)
    kind = pl.String() if column is None else column.dtype
    name = normalise_names(_parse(given, kind)).cast(pl.String).to_list()[0]
    if name is None:
        raise PlanError(f"the id {given!r} is blank; give it as it stands in {owner.unit.client!r}")
    if column is None:
        return owner, FoundClient(name, owner.pseudonym(name), None)
    names = normalise_names(column).cast(pl.String).drop_nulls()
    others = fold_names(names.filter(names != name).unique())
    similar = int((others == fold_names(pl.Series([name]))[0]).sum())
    return owner, FoundClient(name, owner.pseudonym(name), int((names == name).sum()), similar)


def describe_unknown(client: FoundClient, account: ClientAccount) -> str:
    """Say that neither the ledger nor the file of rows has a client; empty if one of them has it."""
    if client.rows or account.runs or account.released_rows or account.erased_on:
        return ""
    rows = (
        "the file of rows cannot be read"
        if client.rows is None
        else "no row of your file has this id"
    )
    similar = (
        " Your file has ids that differ only in case, leading zeros or a decimal point."
        if client.similar
        else ""
    )
    return (
        f"the ledger has no client {client.name!r}, and {rows}. Ids are compared without spaces"
        " around them and without invisible characters; in a column of numbers 007 and 7.0 are 7;"
        f" capital and small letters differ.{similar} Check how the id is written"
    )


def _parse(given: str, kind: pl.DataType) -> pl.Series:
    """The id as a column of the file's type, or as text if it is not of that type."""
    text = pl.Series([given.strip()])
    for type_ in (pl.Int64(), pl.Float64()) if kind.is_numeric() else ():
        number = text.cast(type_, strict=False)
        if number.null_count() == 0:
            return number
    return text


def _read_column(owner: Owner, client: str) -> pl.Series | None:
    """The client column of the owner's file; None if there is no such file or column."""
    if not is_file_source(owner.source):
        return None
    try:
        read_as = TextFormat(encoding=owner.encoding, header=owner.header, guess=False)
        frame = read_file(owner.source, read_as)[0]
    except DataError:
        return None
    return frame[client] if client in frame.columns else None
