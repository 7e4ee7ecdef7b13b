"""Settings for one randomised bit per weight (`rr`), from what can be known before training: text
or not, and how many clients.

Found on validation rows of AG News, SST-2, 20 Newsgroups, IMDB, Cardio, Spambase, Adult and IoT-23,
at 1 per bit. Three things matter. Rows of text are scaled to one length, as scikit-learn does it,
so that long texts do not rule. The clip is as large as what a few steps of Adam move a weight, so
that hardly anything is cut. And the server steps further the more clients there are: a word that
few of them have moves the mean by little, and their noise shrinks with their root. Skewed labels
need no settings of their own: the same ones serve at Dirichlet 1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OneBitRule:
    """What suits such rows and so many clients."""

    rate: float
    clip: float
    epochs: int
    batches: int
    rounds: int
    momentum: float
    server_rate: float
    buckets: int = 20_000


def one_bit_rule(*, text: bool, clients: int) -> OneBitRule:
    """Return the settings for rows with or without text, held by so many clients."""
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
