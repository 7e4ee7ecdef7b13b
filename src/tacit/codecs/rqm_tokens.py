"""Randomised levels under keyed tokens: clients can read the sum, the server counts tokens that it
cannot read.

The index of a level is hidden by a permutation of all levels, one for each round and coordinate, as
in `hashcomb/tokens.py`. That is post-processing of a randomised message: the claim of the codec
holds unchanged, against everybody. In addition, a party without the clients' secret sees only which
clients sent equal levels at a coordinate in a round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import numpy as np

from tacit.codecs.contract import Codec, EncodedUpdate, Memory
from tacit.codecs.distributions.rqm_output import count_index_bits
from tacit.codecs.hashcomb.tokens import KeyedTokens, derive_round_key
from tacit.codecs.sums import LevelSum, TokenTally
from tacit.codecs.sums.packing import pack_integers, unpack_integers
from tacit.errors import RunError
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector


def hide_under_tokens(made: Codec, levels: int) -> Codec:
    """Hide the indices of a codec that sends one of `levels` indices per coordinate under tokens."""

    def keyed(secret: bytes, round_no: int) -> Codec:
        return _build_client_codec(
            made,
            levels,
            KeyedTokens(
                derive_round_key(secret, round_no).at("rqm"), count_index_bits(levels), levels
            ),
        )

    return replace(
        made,
        encoder=_refuse_without_secret,
        empty=lambda dim: TokenTally(dim, levels),
        decoder=_refuse_without_secret,
        claims=lambda dim, cohort: tuple(
            replace(
                claim,
                mechanism=(
                    f"{claim.mechanism}, under keyed tokens: without the clients' secret only"
                    " equality is visible"
                ),
            )
            for claim in made.claims(dim, cohort)
        ),
        decoded_by="clients",
        keyed=keyed,
    )


def _build_client_codec(made: Codec, levels: int, tokens: KeyedTokens) -> Codec:
    """Build the codec that clients hold in one round."""
    bits = count_index_bits(levels)

    def every(dim: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.full(dim, bits, np.uint8)

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        plain = made.encode(update, memory, own=own, public=public)
        indices = unpack_integers(plain.payload, len(update), bits).astype(np.uint32)
        return replace(plain, payload=pack_integers(tokens.hide(indices, every(len(update))), bits))

    def decode(total: TokenTally, *, public: PublicDraws, own: ServerDraws) -> Vector:
        sent, plain = total.build_histogram(), LevelSum(total.dim, levels, bits)
        for here, indices in tokens.reveal(sent, every(total.dim)):
            plain.total[here] = (
                (2 * indices.astype(np.int64) - (levels - 1)) * sent.select_weights(here)
            ).sum(axis=0)
        plain.weight = total.weight
        return made.decode(plain, public=public, own=own)

    return replace(hide_under_tokens(made, levels), encoder=encode, decoder=decode, keyed=None)


def _refuse_without_secret(*given: object, **draws: object) -> NoReturn:
    raise RunError(
        "rqm with codec.tokens = true cannot encode or decode without the clients' secret; use the"
        " codec that a site holds"
    )
