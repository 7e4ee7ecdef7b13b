"""The fingerprint of a simulation's prepared rows: a resumed run must find the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.plan import Plan
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows
from tacit.runs.fingerprint import Fingerprints, compute_fingerprints
from tacit.simulation.prepared_rows import SimulatedData

if TYPE_CHECKING:
    import polars as pl


def compute_data_fingerprints(plan: Plan, data: SimulatedData) -> Fingerprints:
    """Fingerprints of a simulated run's plan and data."""
    return compute_fingerprints(plan, data_fingerprint(data))


def data_fingerprint(data: SimulatedData) -> str:
    """A hash of the prepared rows: inputs, labels, their clients, and the test, public and
    disclosed rows.
    """
    digest = hashlib.sha256()
    for name, array in _list_arrays(data):
        # The header separates arrays that have the same bytes but another shape or another
        # name.
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _list_arrays(data: SimulatedData) -> Iterator[tuple[str, NDArray[Any]]]:
    yield from _rows("train", data.train)
    yield from _clients("clients", data.clients)
    yield from _rows("test", data.test)
    if data.own is not data.train:
        yield from _rows("own", data.own)
        yield from _clients("own clients", data.own_clients)
    if data.public is not None:
        yield from _rows("public", data.public)
    if data.corruption is not None:
        yield "corrupted", data.corruption.clients
        if data.corruption.before is not None:
            yield from _rows("before corruption", data.corruption.before)
    if data.lexicon is not None:
        yield "words", _text("\n".join(data.lexicon.words))
    if data.disclosure is not None:
        yield from _rows("kept and disclosed", data.disclosure.train)
        yield from _clients("holders", data.disclosure.holders)
        yield from _table("disclosed", data.disclosure.rows)


def _rows(name: str, rows: Rows) -> Iterator[tuple[str, NDArray[Any]]]:
    yield from _inputs(name, rows.inputs)
    yield f"{name} labels", rows.labels
    yield f"{name} classes", _text("\n".join(rows.classes))


def _table(name: str, rows: pl.DataFrame) -> Iterator[tuple[str, NDArray[Any]]]:
    import polars as pl  # heavy to load, and a list of runs should not wait for it

    pictures = [column for column, kind in rows.schema.items() if isinstance(kind, pl.Array)]
    yield name, _text(rows.drop(pictures).write_csv())
    yield from ((f"{name} {column}", rows[column].to_numpy()) for column in pictures)


def _inputs(name: str, inputs: Inputs) -> Iterator[tuple[str, NDArray[Any]]]:
    if isinstance(inputs, Mixed):
        yield from _inputs(f"{name} tokens", inputs.tokens)
        yield from _inputs(f"{name} beside", inputs.dense)
    elif isinstance(inputs, Dense) and inputs.matrix.dtype.hasobject:
        yield from _records(name, inputs.matrix)
    elif isinstance(inputs, Dense):
        yield f"{name} matrix {inputs.width}", inputs.matrix
    else:
        yield f"{name} starts {inputs.width}", inputs.starts
        yield f"{name} columns", inputs.columns
        if inputs.values is not None:
            yield f"{name} values", inputs.values


def _records(name: str, records: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Each field of an array of records; cells of any length as their lengths and their bytes."""
    for field in records.dtype.names or ():
        cells = records[field]
        if cells.dtype.hasobject:
            yield f"{name} {field} lengths", np.array([len(cell) for cell in cells], np.int64)
            cells = np.frombuffer(b"".join(cells.tolist()), np.uint8)
        yield f"{name} {field}", cells


def _clients(name: str, clients: Clients) -> Iterator[tuple[str, NDArray[Any]]]:
    yield f"{name} order", clients.order
    yield f"{name} starts", clients.starts


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)
