"""The same three jobs as a user would write them with scikit-learn and numpy, one thread."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from bench.clock import measure
from bench.lines import serve
from bench.rows import DRAWS, imdb_table
from bench.shapes import CLIENTS, INPUTS, PARAMETERS, PASSES


def hashing() -> Callable[[], object]:
    """A pass of HashingVectorizer over all IMDB texts, given as the list of strings it works
    on.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    table, _ = imdb_table()
    texts = table.train["text"].to_list()
    vectorizer = HashingVectorizer(n_features=INPUTS, binary=True, norm=None, alternate_sign=False)
    return lambda: vectorizer.transform(texts)


def randomising(epsilon: float = 10.0, clip: float = 0.003) -> Callable[[], object]:
    """Clip, quantise, flip and pack of several updates, with numpy's own generator (which is
    not cryptographic).
    """
    random = np.random.default_rng(0)
    update = DRAWS.at("update").generator().normal(0, clip, PARAMETERS).astype(np.float32)
    flip = 1 / (1 + np.exp(epsilon))

    def encode() -> None:
        for _ in range(PASSES):
            share = (np.clip(update, -clip, clip) + clip) / (2 * clip)
            bits = random.random(PARAMETERS, np.float32) < share
            np.packbits(bits ^ (random.random(PARAMETERS, np.float32) < flip))

    return encode


def adding() -> Callable[[], object]:
    """Unpackbits and sum, client by client, so that memory stays flat."""
    payloads = (
        DRAWS.at("payloads")
        .generator()
        .integers(0, 256, (CLIENTS, (PARAMETERS + 7) // 8), np.uint8)
    )

    def add() -> np.ndarray:
        total = np.zeros(PARAMETERS, np.int64)
        for payload in payloads:
            total += np.unpackbits(payload, count=PARAMETERS)
        return total

    return add


def adding_at_once() -> Callable[[], object]:
    """Unpackbits of the whole cohort and one sum over it: more memory, less of Python's
    time.
    """
    payloads = (
        DRAWS.at("payloads")
        .generator()
        .integers(0, 256, (CLIENTS, (PARAMETERS + 7) // 8), np.uint8)
    )
    return lambda: np.unpackbits(payloads, axis=1, count=PARAMETERS).sum(axis=0, dtype=np.int64)


_WORK = {
    "hashing": hashing,
    "randomising": randomising,
    "adding": adding,
    "adding-at-once": adding_at_once,
}


def main(which: str) -> None:
    """Serve the harness."""
    work = _WORK[which]()
    work()
    serve(lambda request: measure(work).as_dict())


if __name__ == "__main__":
    main(*sys.argv[1:])
