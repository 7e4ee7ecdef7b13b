"""The size of a client's message under each method: a real message is encoded and measured; its
values do not matter.
"""

from __future__ import annotations

import numpy as np

from tacit import codecs
from tacit.plan import Plain
from tacit.protocol import messages
from tacit.randomness import ClientDraws, PublicDraws
from tacit_papers.published import Figures

_DIGIT_SHARE = 5_758 / 341_479
"""Share of the public vectors' words that hold a digit."""


def message_bytes(
    words: int, width: int, hidden: int, private_words: str, private_reader: bool
) -> Figures:
    """Megabytes that a client sends per round, and how many times more a FedAvg client sends."""
    ours = _bytes(words, width, hidden, private_words, private_reader)
    everything = _bytes(words, width, hidden, "none", False)
    return {"last": {"megabytes": ours / 1e6, "bytes": float(ours), "ratio": everything / ours}}


def _bytes(words: int, width: int, hidden: int, private_words: str, private_reader: bool) -> int:
    kept = {"all": words, "digits": round(words * _DIGIT_SHARE), "none": 0}[private_words]
    table = 0 if kept == words else (words - kept + 2) * width
    reader = 0 if private_reader else 2 * (4 * hidden * (width + hidden) + 8 * hidden)
    size = table + reader + 2 * hidden + 1
    plain = codecs.build(Plain())
    payload = plain.encode(
        np.zeros(size, np.float32), {}, own=ClientDraws(b""), public=PublicDraws(b"")
    ).payload
    return messages.size(
        messages.frame(
            messages.Header("bytes-1", 1, 1, plain.name, size, 1, payload.nbytes), payload
        )
    )
