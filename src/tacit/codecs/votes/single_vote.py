"""A one-bit vote by randomised response: helped or harmed, flipped at random before it leaves.

A vote is kept with probability 1 - p/2 and flipped with probability p/2. `flips` of 2^32 words flip
it, so its loss is exactly ln((2^32 - flips) / flips) and the mean of the true votes is that of the
sent ones divided by 1 - p. The coin of a vote follows from the tester's own key, the contributor
and the exact request. A tester repeats its response to a repeated request, so nobody learns more by
asking twice. A different request has a different coin, and is charged again. Source: Rokvic et al.;
their epsilon is twice this, a bound for two bits that differ where only one can.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.rr import WORD, compute_bit_epsilon, compute_flips, compute_kept_signal
from tacit.errors import WireError
from tacit.privacy.claim import Claim, Open, Pure, Repeated
from tacit.randomness import ClientDraws, require

_FLIPS = 4
"""Bytes of a message that state how many words flip a vote."""


def encode_votes(
    helped: NDArray[np.bool_], asked: list[bytes], epsilon: float | None, own: ClientDraws
) -> NDArray[np.uint8]:
    """Encode votes: the number of words that flip a vote, then one bit each. `asked` identifies the
    requests.
    """
    require(own, ClientDraws)
    flips = compute_flips(epsilon) if epsilon is not None else 0
    if flips:
        key = own.sealed("votes").key
        coins = [hashlib.blake2b(question, digest_size=4, key=key).digest() for question in asked]
        helped = helped ^ (np.frombuffer(b"".join(coins), "<u4") < flips)
    return _pack_votes(helped, flips)


def encode_true_votes(said: NDArray[np.bool_], epsilon: float | None) -> NDArray[np.uint8]:
    """Encode the votes of a tester that falsely claims to randomise, for experiments."""
    return _pack_votes(said, compute_flips(epsilon) if epsilon is not None else 0)


def _pack_votes(bits: NDArray[np.bool_], flips: int) -> NDArray[np.uint8]:
    return np.concatenate(
        [
            np.frombuffer(flips.to_bytes(_FLIPS, "little"), np.uint8),
            np.packbits(bits, bitorder="little"),
        ]
    )


def decode_votes(payload: NDArray[np.uint8], count: int) -> tuple[NDArray[np.float64], float]:
    """Decode `count` votes as ±1, and the part of the signal that is left in them on average: 1 -
    p.
    """
    if len(payload) != count_vote_bytes(count):
        raise WireError(
            f"votes refused: {count:,} votes take {count_vote_bytes(count)} bytes, got {len(payload)}"
        )
    flips = int.from_bytes(payload[:_FLIPS].tobytes(), "little")
    if flips >= WORD // 2:
        raise WireError(
            f"votes refused: {flips:,} of 2^32 words flip a vote, which leaves no signal"
        )
    bits = np.unpackbits(payload[_FLIPS:], count=count, bitorder="little")
    return 2 * bits.astype(np.float64) - 1, compute_kept_signal(flips)


def count_vote_bytes(count: int) -> int:
    """Size of `count` votes, in bytes."""
    return _FLIPS + (count + 7) // 8


def build_vote_claim(count: int, epsilon: float | None) -> Claim:
    """Claim about a tester's votes on `count` contributors."""
    lost = (
        Open()
        if epsilon is None
        else Repeated(Pure(compute_bit_epsilon(compute_flips(epsilon))), max(1, count))
    )
    kind = "unprotected votes" if epsilon is None else "randomised votes"
    return Claim(
        mechanism=f"{kind}, one bit on each of {count:,} contributors",
        event=lost,
        unit="vote",
        relation="replace all rows of one client",
        view="server",
        trust=(
            ("nobody, since each tester randomises before anything leaves",)
            if epsilon
            else ("the server",)
        ),
        rests_on="nobody",
        source="exact distribution of randomised response on one bit; after Rokvic et al.",
    )
