"""The rows of the round workload, made once and written where every contender reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.shapes import (
    BATCH,
    CLIENTS,
    DENSITY,
    HIDDEN,
    INPUTS,
    LR,
    ROWS,
    ROWS_PER_CLIENT,
    VERIFIED_ROUNDS,
)
from tacit import data, features, plan, training
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Sparse
from tacit.training.schedule import shuffle_rows

DRAWS = Draws.seeded(4).at("bench")
CLASSES = ("no", "yes")
_HELD_OUT = 2500


def prepared(kind: str) -> Path:
    """Folder of a kind of rows, making it first if need be."""
    folder = ROWS / kind
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        train, test = synthetic() if kind == "synthetic" else imdb()
        _write(folder, train, "")
        _write(folder, test, "test_")
        np.save(folder / "initial.npy", mlp(train).initial(DRAWS.at("initial")))
        np.save(folder / "orders.npy", _orders())
        (folder / "complete").touch()
    return folder


def read(kind: str) -> tuple[Rows, Rows]:
    """Train and test rows in sparse form."""
    folder = prepared(kind)
    return _read(folder, ""), _read(folder, "test_")


def mlp(train: Rows) -> training.Learner:
    """Our learner for the round workload."""
    settings = plan.Local(optimizer="adam", lr=LR, epochs=1, batch=BATCH)
    return training.build(
        plan.MLP(hidden=HIDDEN), settings, train, even_clients(len(train), CLIENTS)
    )


def even_clients(rows: int, clients: int) -> Clients:
    """Clients that hold equal parts of the rows, in order."""
    return Clients(order=np.arange(rows), starts=np.arange(clients + 1) * (rows // clients))


def synthetic() -> tuple[Rows, Rows]:
    """Binary rows of the agreed density; labels follow a planted linear rule."""
    count = CLIENTS * ROWS_PER_CLIENT
    weights = DRAWS.at("planted").generator().standard_normal(INPUTS).astype(np.float32)
    parts = [
        _planted(weights, ROWS_PER_CLIENT, number)
        for number in range((count + _HELD_OUT) // ROWS_PER_CLIENT)
    ]
    lengths = np.concatenate([part[0] for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    inputs = Sparse(
        starts=starts,
        columns=np.concatenate([part[1] for part in parts]),
        values=None,
        width=INPUTS,
    )
    rows = Rows(inputs=inputs, labels=np.concatenate([part[2] for part in parts]), classes=CLASSES)
    return rows.take(np.arange(count)), rows.take(np.arange(count, count + _HELD_OUT))


def _planted(
    weights: NDArray[np.float32], rows: int, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    dense = DRAWS.at("rows", number).generator().random((rows, len(weights)), np.float32) < DENSITY
    labels = (dense.astype(np.float32) @ weights > 0).astype(np.int32)
    return dense.sum(axis=1), np.nonzero(dense)[1].astype(np.int32), labels


def imdb_table() -> tuple[data.Table, plan.Data]:
    """IMDB reviews, and the settings they were read with."""
    settings = plan.Data(source="imdb", clients=CLIENTS)
    return data.load(settings, DRAWS.at("data")), settings


def imdb(buckets: int = INPUTS, sequence: bool = False) -> tuple[Rows, Rows]:
    """Hashed IMDB reviews, divided evenly at random: words present, or their sequence."""
    table, settings = imdb_table()
    divided = data.divide(table, settings, DRAWS.at("partition"))
    hashed = plan.Features(buckets=buckets, text="sequence" if sequence else "binary")
    fitted = features.fit(table.train, table.columns, hashed)
    train = features.encode(table.train, table.columns, hashed, fitted).take(divided.order)
    test = features.encode(table.test, table.columns, hashed, fitted)
    return train, test.take(
        np.sort(DRAWS.at("held-out").generator().permutation(len(test))[:_HELD_OUT])
    )


def _orders() -> NDArray[np.int16]:
    """Order in which our engine visits each client's rows in the verified rounds."""
    seeds = [
        [DRAWS.at("rounds", number, client, "train", "shuffle").seed() for client in range(CLIENTS)]
        for number in range(1, VERIFIED_ROUNDS + 1)
    ]
    return np.array(
        [
            [shuffle_rows(ROWS_PER_CLIENT, ROWS_PER_CLIENT, np.uint64(seed)) for seed in some]
            for some in seeds
        ],
        np.int16,
    )


def _write(folder: Path, rows: Rows, prefix: str) -> None:
    assert isinstance(rows.inputs, Sparse)
    sparse = rows.inputs
    dense = np.lib.format.open_memmap(
        folder / f"{prefix}dense.npy", "w+", np.float32, (len(rows), sparse.width)
    )
    dense[np.repeat(np.arange(len(rows)), np.diff(sparse.starts)), sparse.columns] = 1.0
    dense.flush()
    for name, array in (
        ("labels", rows.labels),
        ("starts", sparse.starts),
        ("columns", sparse.columns),
    ):
        np.save(folder / f"{prefix}{name}.npy", array)


def _read(folder: Path, prefix: str) -> Rows:
    starts, columns, labels = (
        np.load(folder / f"{prefix}{name}.npy") for name in ("starts", "columns", "labels")
    )
    return Rows(
        inputs=Sparse(starts=starts, columns=columns, values=None, width=INPUTS),
        labels=labels,
        classes=CLASSES,
    )
