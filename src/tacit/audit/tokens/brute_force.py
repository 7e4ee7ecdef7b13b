"""The range behind tokens that no secret protects: try ranges until their channels hash to what was
seen.

The attacker knows how a channel is written and hashed, as everybody does, and sees one client's
tokens of one round. A range is tried by the channels about zero, of which a client with thousands
of small values is sure to have sent one: two strings, not all 2^(L+1) - 1. Only if one of them was
seen are all channels hashed and the values read.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.hashcomb.tokens import Hash, PaperTokens, hash_name
from tacit.plan import HashComb
from tacit.quantisation.quantiser import Quantiser

_YEAR = 365.25 * 24 * 3600
_ENLARGEMENTS = (2.0, 1.0, 4.0)
_ENOUGH = 0.5
_ZERO = np.zeros(1, np.float32)
_DOUBLES = 52  # from 0.5 to 1 there are 2^52 doubles, and as many between any two powers of two


@dataclass(frozen=True, kw_only=True)
class RangeSearch:
    """What trying ranges led to: how many were tried, the enlarged range found, and the share of
    values read from it.
    """

    secret: bool
    tried: int
    seconds_per_range: float
    found: tuple[float, float] | None
    decoded: float


@dataclass(frozen=True, kw_only=True)
class Space:
    """How many ranges there are under an assumption, as a power of two, and how long one core would
    take to try them all.
    """

    assumption: str
    log2: float
    years: float


def list_ranges(levels: int, centred: bool) -> Iterator[Quantiser]:
    """Yield ranges people write down: symmetric ones of three digits from 0.001 to 10, then two
    bounds of two from 0.01 to 1.
    """
    for enlargement, bound in itertools.product(_ENLARGEMENTS, _decimals(3, (-2, -1, 0, 1))):
        yield Quantiser.enlarged(-bound, bound, enlargement, levels, centred)
    for low, high in itertools.product(_decimals(2, (-1, 0)), repeat=2):
        yield Quantiser.enlarged(-low, high, _ENLARGEMENTS[0], levels, centred)


def search_ranges(tokens: NDArray[np.uint32], settings: HashComb, secret: bool) -> RangeSearch:
    """Search for the range behind one client's tokens of the finest level; `secret` says whether a
    secret was used.
    """
    seen, tried, began = set(np.unique(tokens).tolist()), 0, time.process_time()
    found, decoded = None, 0.0
    for quantiser in list_ranges(settings.levels, settings.of == "updates"):
        tried += 1
        if _near_zero(quantiser, settings.hash).isdisjoint(seen):
            continue
        explained = float(
            np.isin(
                tokens, PaperTokens(quantiser, kind=settings.hash).table(settings.levels)
            ).mean()
        )
        if explained > _ENOUGH:
            found, decoded = (float(quantiser.low), float(quantiser.high)), explained
            break
    seconds = (time.process_time() - began) / tried
    return RangeSearch(
        secret=secret, tried=tried, seconds_per_range=seconds, found=found, decoded=decoded
    )


def size_spaces(seconds: float) -> list[Space]:
    """Number of ranges to try under some assumptions, with the time at `seconds` per range."""
    named = {
        "written by a person, up to three digits": math.log2(sum(1 for _ in list_ranges(1, False))),
        "negotiated (steps of 2^-20), symmetric, up to 1": 20.0,
        "negotiated (steps of 2^-20), two bounds up to 1": 40.0,
        "symmetric, any double from 0.5 to 1": float(_DOUBLES),
        "the paper's 2^104: two bounds, any double from 0.5 to 1": 2.0 * _DOUBLES,
        "the paper's 2^106: two bounds, any double from 0.25 to 1": 2.0 * (_DOUBLES + 1),
        "any of these under a random secret of 128 bits": 128.0,
    }
    return [
        Space(assumption=name, log2=bits, years=2.0**bits * seconds / _YEAR)
        for name, bits in named.items()
    ]


def _decimals(digits: int, powers: tuple[int, ...]) -> list[float]:
    """List the decimals with `digits` digits just below powers of ten."""
    return [
        float(f"{number}e{power - digits}")
        for power in powers
        for number in range(10 ** (digits - 1), 10**digits)
    ]


def _near_zero(quantiser: Quantiser, kind: Hash) -> set[int]:
    """Tokens, without a secret, of the channel that contains zero and the one below it."""
    (zero,) = quantiser.channels(_ZERO, np.array([quantiser.levels], np.uint8)).tolist()
    return {
        hash_name(b"", quantiser.node(quantiser.levels, channel), kind=kind)
        for channel in (max(0, zero - 1), zero)
    }
