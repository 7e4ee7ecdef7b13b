"""Settings for one randomised bit per parameter (`rr`), from what is known before training: whether
rows have text, and the number of clients.

Found on validation rows of AG News, SST-2, 20 Newsgroups, IMDB, Cardio, Spambase, Adult and IoT-23,
at epsilon 1 per bit. Three settings matter. Rows of text are scaled to one L2 norm, as in
scikit-learn, so that long texts do not dominate. The clip is as large as the change of a parameter
in a few steps of Adam, so that almost nothing is clipped. The server's learning rate grows with the
number of clients: a word that few of them have moves the mean only a little, and the noise of the
mean shrinks with the square root of their number. Skewed labels need no special settings: the same
ones suit Dirichlet 1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OneBitRule:
    """Settings for a kind of rows and a number of clients."""

    rate: float
    clip: float
    epochs: int
    batches: int
    rounds: int
    momentum: float
    server_rate: float
    buckets: int = 20_000


def choose_one_bit_rule(*, text: bool, clients: int) -> OneBitRule:
    """Choose the settings for rows with or without text and a number of clients."""
    far = min(8.0, 2.0 * max(1.0, clients / 100) ** 0.5)
    momentum = 0.8
    return OneBitRule(
        rate=0.3 if text else 0.1,
        clip=1.0 if text else 0.1,
        epochs=2,
        batches=5,
        rounds=60,
        momentum=momentum,
        server_rate=round((1 - momentum) * far, 2),
    )
