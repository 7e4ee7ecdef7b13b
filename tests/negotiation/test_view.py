"""What a single party gets to see tells it nothing of the others' ranges beyond the result.

Two sets of inputs give the same result and the same input of party 0. Over many runs, everything party 0 receives and
everything it can put together from it must look the same for both. Randomness is the operating system's, which no seed can
repeat; the tests together fail by chance with a probability below 1e-6.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip(
    "tacit.negotiation.shares", reason="mpyc is not installed", exc_type=ImportError
)

from tacit.negotiation import PartyPlace, shares
from tacit.negotiation.circle import Circle, _Meeting
from tacit.negotiation.link import Kind
from tests.negotiation.parties import Work, terms, together

RUNS = 20
FALSE_ALARM = 1e-7
"""Of each figure; there are seven."""
_LARGE = 1 << (shares.BITS + 2)
OWN = (-300_000, 200_000)
ONE_WAY = [OWN, (-1_000_000, 250_000), (-200_000, 900_000)]
OTHER_WAY = [OWN, (-200_000, 900_000), (-1_000_000, 250_000)]


def watched(runs: int, notes: Path, *, fixed_sign: bool = False) -> Work:
    """Return the work of a party that negotiates often, each time with the next of the two inputs, and notes what it sees."""

    def work(place: PartyPlace) -> dict[str, Any]:
        seen: list[dict[str, Any]] = []
        _note_openings(seen)
        if fixed_sign:
            _fix_sign()
        asyncio.run(asyncio.wait_for(_often(place, runs, seen), 60))
        if place.party == 0:
            labels = sorted(seen[0]["frames"])
            # Field elements of 15 bytes, as numbers between 0 and 1; words of 17 bytes are of another field.
            frames = [
                [value for label in labels for value in _numbers(one["frames"][label])]
                for one in seen
            ]
            masked = [[value for one in seen[way::2] for value in one["masked"]] for way in (0, 1)]
            np.savez(
                notes,
                frames=frames,
                one=masked[0],
                other=masked[1],
                zeros=[one["zeros"] for one in seen],
            )
        return {
            "points": sorted({points for one in seen for points in one["points"]}),
            "results": [one["result"] for one in seen],
        }

    return work


async def _often(place: PartyPlace, runs: int, seen: list[dict[str, Any]]) -> None:
    def note(peer: int, kind: Kind, label: int, payload: bytes) -> None:
        if kind is Kind.SHARE and len(payload) % 15 == 0:
            early.setdefault((peer, label), []).append(payload)

    early: dict[tuple[int, int], list[bytes]] = {}
    circle = Circle(place, terms(), note)
    await circle.gather()
    for number in range(runs):
        seen.append({"masked": [], "zeros": 0, "points": []})
        computation = shares.Computation(circle.me, circle.links)
        await computation.share(
            *(ONE_WAY, OTHER_WAY)[number % 2][place.party], secrets.randbits(128)
        )
        await circle.meet(Kind.READY)
        seen[-1]["result"] = (await computation.open())[:2]
        await circle.meet(Kind.CONFIRM)
        circle._meetings = {kind: _Meeting(circle.others) for kind in circle._meetings}
    for number, one in enumerate(seen):
        one["frames"] = {key: payloads[number] for key, payloads in early.items()}
    await circle.close_links()


def _note_openings(seen: list[dict[str, Any]]) -> None:
    """Note what is opened: from t + 1 points; shares made afresh from shares have 2t + 1."""
    really_recombine = shares._mpyc.thresha.recombine

    def recombine(field: Any, points: Any, x_rs: Any = 0) -> Any:
        values = really_recombine(field, points, x_rs)
        if sys._getframe(1).f_code.co_name == "output" and field.byte_length == 15:
            seen[-1]["points"].append(len(points))
            for value in values:
                number = int(getattr(value, "value", value)) % field.modulus
                seen[-1]["zeros"] += number == 0
                if _LARGE < number < field.modulus - _LARGE:  # neither zero nor the result
                    seen[-1]["masked"].append(number % (1 << shares.BITS) / (1 << shares.BITS))
        return values

    shares._mpyc.thresha.recombine = recombine


def _fix_sign() -> None:
    """Take one mask away, the random sign that hides which of two numbers is smaller."""
    really_draw = shares.Runtime.random_bits

    @shares.asyncoro.mpc_coro
    async def random_bits(
        self: Any, field: Any, count: int, signed: bool = False
    ) -> asyncio.Future:  # type: ignore[type-arg]
        drawn = await really_draw(self, field, count, signed)
        return [field(1)] * count if signed else drawn  # type: ignore[return-value]

    shares.Runtime.random_bits = random_bits


def _numbers(payload: bytes) -> list[float]:
    return [
        int.from_bytes(payload[at : at + 15], "little") / 2**120
        for at in range(0, len(payload), 15)
    ]


def views(
    tmp_path: Path, runs: int, *, fixed_sign: bool = False
) -> tuple[Any, list[dict[str, Any]]]:
    notes = tmp_path / "view.npz"
    said = together([watched(runs, notes, fixed_sign=fixed_sign)] * 3)
    assert all(said), "a party failed"
    (result,) = {tuple(pair) for one in said for pair in one["results"]}
    assert result == (
        -1_000_000,
        900_000,
    ), "both inputs have one result, or they could be told apart by it"
    return np.load(notes), said


def zeros_differ(zeros: Any) -> float:
    """Return the exact p-value of: zero tests, four in a run, come out zero equally often for both inputs."""
    ways = [zeros[way::2] for way in (0, 1)]
    return float(
        stats.fisher_exact([[int(way.sum()), int(4 * len(way) - way.sum())] for way in ways]).pvalue
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[dict[str, Any]]]:
    return views(tmp_path_factory.mktemp("views"), 2 * RUNS)


@pytest.mark.slow
@pytest.mark.statistical
def test_what_is_received_has_one_law_for_both_inputs(seen: Any) -> None:
    frames = seen[0]["frames"]
    assert frames.shape[0] == 2 * RUNS
    assert frames.shape[1] > 500
    apart = [
        stats.ks_2samp(column[0::2], column[1::2], method="asymp").pvalue for column in frames.T
    ]
    assert min(apart) > FALSE_ALARM / frames.shape[1], "some share tells the two inputs apart"
    assert stats.kstest(frames.ravel(), "uniform").pvalue > FALSE_ALARM, "shares are not uniform"


@pytest.mark.statistical
def test_what_is_opened_has_one_law_for_both_inputs(seen: Any) -> None:
    one, other = seen[0]["one"], seen[0]["other"]
    assert min(len(one), len(other)) > 4 * RUNS
    assert stats.ks_2samp(one, other).pvalue > FALSE_ALARM
    for masked in (one, other):
        assert stats.kstest(masked, "uniform").pvalue > FALSE_ALARM, "a masked number shows through"
    assert zeros_differ(seen[0]["zeros"]) > FALSE_ALARM, "zero tests tell who is larger"


def test_nothing_is_opened_at_a_higher_degree(seen: Any) -> None:
    assert [one["points"] for one in seen[1]] == [[2]] * 3, (
        "t + 1 = 2 points, never the 2t + 1 = 3 of a bare product"
    )


@pytest.mark.slow
@pytest.mark.statistical
def test_a_protocol_with_a_mask_taken_away_is_caught(tmp_path: Path) -> None:
    noted, _ = views(tmp_path, 32, fixed_sign=True)
    assert zeros_differ(noted["zeros"]) < FALSE_ALARM


def test_a_bare_product_would_give_a_secret_away() -> None:
    """The reason for the rule above: with three parties, one of them is left with two candidates for the secret."""
    finfields, split = shares.sectypes.finfields, shares._mpyc.thresha.random_split
    field = finfields.GF(finfields.find_prime_root(120))
    for _ in range(20):
        secret, mask = (
            field(secrets.randbelow(field.modulus)),
            field(secrets.randbelow(field.modulus)),
        )
        of_secret, of_mask = (
            [field(row[0]) for row in split(field, [one], 1, 3)] for one in (secret, mask)
        )
        product = [a * r for a, r in zip(of_secret, of_mask, strict=True)]
        assert secret in _candidates(of_secret[0], of_mask[0], product)


def _candidates(own: Any, own_mask: Any, product: list[Any]) -> list[Any]:
    """Return what a secret can be, seen by party 0: it knows its shares u of it and v of the mask, and all of the product.

    The product is (a + αx)(r + ρx) with a + α = u and r + ρ = v, so v·a² - (u·r + v·a)·a + u·(a·r) = 0.
    """
    one, two, three = product
    constant = 3 * one - 3 * two + three
    leading = (one - 2 * two + three) / 2
    middle = own * own_mask + constant - leading
    root = (middle * middle - 4 * own * own_mask * constant).sqrt()
    return [(middle + root) / (2 * own_mask), (middle - root) / (2 * own_mask)]
