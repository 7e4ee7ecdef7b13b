"""All parties end with the same range, to 2^-20, and the same secret."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip(
    "tacit.negotiation.shares", reason="mpyc is not installed", exc_type=ImportError
)

from tacit.negotiation import Negotiated, simulate
from tacit.negotiation.terms import LIMIT, STEP
from tests.negotiation.parties import agreed_by, party, terms, together

Ranges = list[tuple[float, float]]


def random_ranges(parties: int, scale: float, seed: int) -> Ranges:
    draws = np.random.default_rng(seed).normal(0, scale, (parties, 2))
    return [(float(low), float(high)) for low, high in np.sort(draws, axis=1)]


def check(ranges: Ranges, results: list[Negotiated]) -> None:
    x_min, x_max = min(low for low, _ in ranges), max(high for _, high in ranges)
    for agreed in results:
        assert x_min - STEP < agreed.x_min <= x_min, (
            "within 2^-20, and no value falls out of the range"
        )
        assert x_max <= agreed.x_max < x_max + STEP
        assert agreed == results[0]
    assert len(results) == len(ranges)


@pytest.mark.parametrize(
    "ranges",
    [
        random_ranges(3, 0.3, seed=1),
        random_ranges(4, 0.3, seed=2),
        random_ranges(7, 100.0, seed=3),
        [(-0.25, 0.5)] * 3,
        [(0.0, 0.0)] * 3,
        [(-3.0, -2.0), (-5.0, -4.0), (-1.5, -1.25)],
        [(-LIMIT, -LIMIT), (LIMIT, LIMIT), (STEP / 3, STEP / 2)],
        [(-0.1, 1e-9), (-1e-9, 1e-9), (0.0, 0.0)],
    ],
    ids=["3", "4", "7", "equal", "zero", "negative", "extreme", "below a step"],
)
def test_correct(ranges: Ranges) -> None:
    agreed = terms(len(ranges))
    check(ranges, [agreed_by(said) for said in together([party(one, agreed) for one in ranges])])


def test_five_processes_each_with_its_own_input(capsys: pytest.CaptureFixture[str]) -> None:
    ranges = random_ranges(5, 0.3, seed=4)
    began = time.perf_counter()
    results = simulate(terms(5), ranges)
    with capsys.disabled():
        print(
            f"\n5 processes on loopback: {time.perf_counter() - began:.1f} s, starting them"
            " included (bar: 5 s on a free machine)"
        )
    check(ranges, results)


def test_every_negotiation_has_a_secret_of_its_own() -> None:
    agreed = terms(3)
    first, second = (agreed_by(together([party((-1.0, 1.0), agreed)] * 3)[0]) for _ in range(2))
    assert first.secret != second.secret
    assert first.transcript_hash != second.transcript_hash
    for one in (first, second):
        # Every 32-bit piece of a 128-bit secret is drawn: one is zero, or the same twice, with a probability below 2^-28.
        pieces = [one.secret[start : start + 4] for start in range(0, len(one.secret), 4)]
        assert len(one.secret) == 16
        assert bytes(4) not in pieces
        assert len(set(pieces)) == 4
    assert all(
        a != b
        for a, b in zip(
            *([one.secret[n : n + 4] for n in range(0, 16, 4)] for one in (first, second)),
            strict=True,
        )
    )
    assert (first.x_min, first.x_max) == (second.x_min, second.x_max) == (-1.0, 1.0)
