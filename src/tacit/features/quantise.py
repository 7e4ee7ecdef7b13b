"""Quantised numeric columns: values become channels of the column's range, read as mid-points or
tokens.

A column's range is divided into 2^levels channels. Each of these finest channels is mapped to the
channel that contains it at one level: the finest, or one chosen by random bits. The bits belong to
the finest channel and follow from the clients' secret and the column's name, so that equal values
become equal inputs at every client, in test rows and later.

Mid-points show where a value lies, to half a channel's width. Tokens number the channels of a
column by a random permutation under the secret, one input per number: equality is preserved, order
and distance are not. The permutation is the same for all rows, because otherwise nothing could be
learned across rows. Guarantees: the result depends only on the finest channel, the column and the
secret. No differential privacy: everything is deterministic. Token frequencies are visible and
identify channels to anybody who knows the distribution of the values.
"""

from __future__ import annotations

import hmac
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.plan import Columns, Features, Quantise
from tacit.quantisation.levels import draw_levels, find_head_probability
from tacit.quantisation.quantiser import Channels, Levels, Quantiser
from tacit.randomness import Draws
from tacit.rows import Vector


def list_quantised_columns(columns: Columns, settings: Features) -> tuple[str, ...]:
    """List the columns that are quantised."""
    return () if settings.quantise is None else settings.quantise.columns or columns.numeric


def has_quantised_values(frame: pl.DataFrame, columns: Columns, settings: Features) -> bool:
    """Whether any cell of a quantised column has a value; the server's rows have none."""
    names = list_quantised_columns(columns, settings)
    return any(frame[name].null_count() < frame.height for name in names if name in frame.columns)


def count_inputs_per_column(settings: Quantise) -> int:
    """The number of inputs of a quantised column."""
    match settings.trained_on:
        case "midpoints":
            return 1
        case "tokens":
            return 1 << settings.levels
        case _:
            assert_never(settings.trained_on)


def quantise_column(
    name: str, scaled: Vector, settings: Quantise, secret: bytes
) -> tuple[NDArray[np.int32], Vector]:
    """Quantise numbers scaled to 0…1: the input index of each, and the value there."""
    finest = Quantiser(0.0, 1.0, settings.levels).channels(
        scaled, np.full(len(scaled), settings.levels, np.uint8)
    )
    match settings.trained_on:
        case "midpoints":
            return np.zeros(len(scaled), np.int32), list_midpoints(name, settings, secret)[finest]
        case "tokens":
            return list_tokens(name, settings, secret)[finest], np.ones(len(scaled), np.float32)
        case _:
            assert_never(settings.trained_on)


def list_midpoints(name: str, settings: Quantise, secret: bytes) -> Vector:
    """List the value that each finest channel of a column is read as: the mid-point of the selected
    channel.
    """
    return np.asarray(
        Quantiser(0.0, 1.0, settings.levels).middles(*_select_channels(name, settings, secret)),
        np.float32,
    )


def list_tokens(name: str, settings: Quantise, secret: bytes) -> NDArray[np.int32]:
    """List the token of each finest channel of a column; finest channels in the same selected
    channel share it.
    """
    channel, level = _select_channels(name, settings, secret)
    _, number = np.unique((1 << level.astype(np.int64)) + channel, return_inverse=True)
    permutation = np.argsort(
        _derive_draws(name, secret).at("tokens").words(1 << settings.levels), kind="stable"
    )
    return permutation[number].astype(np.int32)


def _select_channels(name: str, settings: Quantise, secret: bytes) -> tuple[Channels, Levels]:
    """Select the channel and level of each finest channel of a column."""
    size, chance = 1 << settings.levels, 1.0
    if settings.mean_level is not None:
        chance = find_head_probability(settings.selection, settings.levels, settings.mean_level)
    level = draw_levels(
        settings.selection, settings.levels, chance, size, _derive_draws(name, secret).at("levels")
    )
    return np.arange(size, dtype=np.uint32) >> (settings.levels - level), level


def _derive_draws(name: str, secret: bytes) -> Draws:
    return Draws(hmac.digest(secret, f"tacit column {name}".encode(), "sha256"))


def needs_secret(settings: Features) -> bool:
    """Whether inputs depend on the clients' secret: as tokens, or as levels chosen by random bits."""
    asked = settings.quantise
    return asked is not None and not (
        asked.selection == "finest" and asked.trained_on == "midpoints"
    )


def fingerprint_secret(settings: Features, secret: bytes) -> str:
    """Fingerprint the clients' secret without revealing it; "" if the features need no secret."""
    if not needs_secret(settings):
        return ""
    if not secret:
        raise DataError(
            "features(quantise) uses the clients' secret for tokens and random bits, and none is"
            " given; give the one they agreed on"
        )
    return hmac.digest(secret, b"tacit columns, check", "sha256").hex()[:32]


def check_secret(settings: Features, secret: bytes, fitted: str) -> None:
    """Raise DataError if rows would be quantised under a different secret than in fitting."""
    if not hmac.compare_digest(fingerprint_secret(settings, secret), fitted):
        raise DataError(
            "features(quantise): this is not the secret it was fitted with; give the one the"
            " clients agreed on"
        )
