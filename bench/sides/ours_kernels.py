"""Tacit's kernels, one thread: hashing text, randomising and packing an update, unpacking and
adding up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from bench.clock import measure
from bench.lines import serve
from bench.rows import DRAWS, imdb_table
from bench.shapes import CLIENTS, INPUTS, PARAMETERS, PASSES
from bench.sides.ours import agreed
from bench.sides.ours_round import CODECS
from tacit import plan
from tacit.features.text import hashed_text


def hashing() -> Callable[[], object]:
    """A pass over all IMDB texts, from the table's column to sparse rows."""
    table, _ = imdb_table()
    settings = plan.Features(buckets=INPUTS)
    return lambda: hashed_text.hash_words(table.train, table.columns, settings)


def randomising() -> Callable[[], object]:
    """Encoding of several updates, each with a keystream of its own."""
    codec = agreed(PARAMETERS, CODECS["rr"]).codec
    update = DRAWS.at("update").generator().normal(0, 0.003, PARAMETERS).astype(np.float32)

    def encode() -> None:
        for number in range(PASSES):
            codec.encode(
                update,
                {},
                own=DRAWS.at("noise", number).for_client(),
                public=DRAWS.publish("public", number),
            )

    return encode


def adding() -> Callable[[], object]:
    """Sum of a cohort's packed updates, several times over."""
    codec = agreed(PARAMETERS, CODECS["rr"]).codec
    size, public = codec.payload_size(PARAMETERS), DRAWS.publish("sums")
    payloads = DRAWS.at("payloads").generator().integers(0, 256, (CLIENTS, size), np.uint8)

    def add() -> None:
        for _ in range(PASSES):
            total = codec.empty(PARAMETERS)
            for payload in payloads:
                total.add(payload, 1, public)
            total.pack()

    return add


def main(which: str) -> None:
    """Serve the harness."""
    work = {"hashing": hashing, "randomising": randomising, "adding": adding}[which]()
    work()
    serve(lambda request: measure(work).as_dict())


if __name__ == "__main__":
    main(*sys.argv[1:])
