"""Numbers of a column as channels of its range, read as mid-points or as tokens.

A column's range is cut into 2^levels channels. Each of these finest channels is told at one level, the finest or one that
coins choose, as the channel it lies in there. The coins belong to the finest channel and follow from the clients' secret and
the column's name, so that the same value becomes the same input at every client, in test rows and in any later row.

Read as mid-points, whoever trains sees where a value lies, to half a channel's width. Read as tokens, channels of a column are
numbered by one random permutation under the secret, and enter a model as one input per number: neither order nor distance is
left, equality is. The permutation is the same for all rows, since nothing could be learned across rows otherwise.
Guarantees: what becomes of a value depends on its finest channel, its column and the secret, on nothing else. No differential
privacy: all of it is deterministic. How often each token occurs is visible, and gives channels away to whoever knows how
values are spread.
"""

from __future__ import annotations

import hmac
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.errors import DataError
from tacit.levels import draw, head_chance
from tacit.plan import Columns, Features, Quantise
from tacit.quantiser import Channels, Levels, Quantiser
from tacit.rows import Vector


def quantised(columns: Columns, settings: Features) -> tuple[str, ...]:
    """Return the names of the columns that become channels."""
    return () if settings.quantise is None else settings.quantise.columns or columns.numeric


def inputs_of(settings: Quantise) -> int:
    """Return how many inputs a quantised column takes."""
    match settings.trained_on:
        case "midpoints":
            return 1
        case "tokens":
            return 1 << settings.levels
        case _:
            assert_never(settings.trained_on)


def told(name: str, scaled: Vector, settings: Quantise, secret: bytes) -> tuple[NDArray[np.int32], Vector]:
    """Return which of its column's inputs each value enters, and the number it enters there; values are scaled to 0…1."""
    finest = Quantiser(0.0, 1.0, settings.levels).channels(scaled, np.full(len(scaled), settings.levels, np.uint8))
    match settings.trained_on:
        case "midpoints":
            return np.zeros(len(scaled), np.int32), midpoints(name, settings, secret)[finest]
        case "tokens":
            return tokens(name, settings, secret)[finest], np.ones(len(scaled), np.float32)
        case _:
            assert_never(settings.trained_on)


def midpoints(name: str, settings: Quantise, secret: bytes) -> Vector:
    """Return what each finest channel of a column is read as with the secret: the middle of the channel it is told as."""
    return np.asarray(Quantiser(0.0, 1.0, settings.levels).middles(*_told_as(name, settings, secret)), np.float32)


def tokens(name: str, settings: Quantise, secret: bytes) -> NDArray[np.int32]:
    """Return the token of each finest channel of a column; channels that are told as the same have the same token."""
    channel, level = _told_as(name, settings, secret)
    _, number = np.unique((1 << level.astype(np.int64)) + channel, return_inverse=True)
    permutation = np.argsort(_key(name, secret).at("tokens").words(1 << settings.levels), kind="stable")
    return permutation[number].astype(np.int32)


def _told_as(name: str, settings: Quantise, secret: bytes) -> tuple[Channels, Levels]:
    """Return for each finest channel of a column the channel and the level it is told at."""
    size, chance = 1 << settings.levels, 1.0
    if settings.mean_level is not None:
        chance = head_chance(settings.selection, settings.levels, settings.mean_level)
    level = draw(settings.selection, settings.levels, chance, size, _key(name, secret).at("levels"))
    return np.arange(size, dtype=np.uint32) >> (settings.levels - level), level


def _key(name: str, secret: bytes) -> Draws:
    return Draws(hmac.digest(secret, f"tacit column {name}".encode(), "sha256"))


def secret_check(settings: Features, secret: bytes) -> str:
    """Return what tells the secret of the features from another, without showing it; "" if they need none."""
    asked = settings.quantise
    if asked is None or (asked.selection == "finest" and asked.trained_on == "midpoints"):
        return ""
    if not secret:
        raise DataError("features(quantise) needs the clients' secret for tokens and coins, got none; give the one they agreed on")
    return hmac.digest(secret, b"tacit columns, check", "sha256").hex()[:32]


def check_secret(settings: Features, secret: bytes, fitted: str) -> None:
    """Raise a DataError if rows would be quantised under another secret than the one features were fitted with."""
    if not hmac.compare_digest(secret_check(settings, secret), fitted):
        raise DataError("features(quantise) needs the secret it was fitted with, got another; give the one the clients agreed on")
