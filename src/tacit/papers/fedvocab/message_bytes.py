"""How long a client's message is under each method: a real message is framed and measured, its values do not matter."""

from __future__ import annotations

import numpy as np

from tacit import codec, wire
from tacit.draws import ClientDraws, PublicDraws
from tacit.papers.published import Figures
from tacit.plan import Plain

_DIGIT_SHARE = 5_758 / 341_479
"""Share of the public vectors' words that hold a digit."""


def message_bytes(words: int, width: int, hidden: int, private_words: str, private_reader: bool) -> Figures:
    """Return the megabytes a client sends in a round, and how many times more FedAvg's client sends; figures by name."""
    ours = _bytes(words, width, hidden, private_words, private_reader)
    everything = _bytes(words, width, hidden, "none", False)
    return {"last": {"megabytes": ours / 1e6, "bytes": float(ours), "ratio": everything / ours}}


def _bytes(words: int, width: int, hidden: int, private_words: str, private_reader: bool) -> int:
    kept = {"all": words, "digits": round(words * _DIGIT_SHARE), "none": 0}[private_words]
    table = 0 if kept == words else (words - kept + 2) * width
    reader = 0 if private_reader else 2 * (4 * hidden * (width + hidden) + 8 * hidden)
    size = table + reader + 2 * hidden + 1
    plain = codec.build(Plain())
    payload = plain.encode(np.zeros(size, np.float32), {}, own=ClientDraws(b""), public=PublicDraws(b"")).payload
    return wire.size(wire.frame(wire.Header("bytes-1", 1, 1, plain.name, size, 1, payload.nbytes), payload))
