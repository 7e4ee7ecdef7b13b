"""Quantised updates under keyed tokens: clients can read the sum, the server counts tokens that it
cannot read.

A value becomes a channel of a quantiser (`tacit/quantisation/quantiser.py`) at some level
(`tacit/quantisation/levels.py`), and the channel becomes a token (`tokens.py`). The server counts
equal tokens per coordinate and sends the histogram back. Every client decodes it with the clients'
secret: the weighted mean of the channels' midpoints.

Guarantees: confidentiality only. With keyed tokens a server without the secret sees, per coordinate
and round, which clients sent equal channels, and their weights. No differential privacy: quantising
is deterministic, so every holder of the secret can distinguish two updates in different channels
with certainty, and all clients hold it. Decoding has an error of at most half a channel per
coordinate, plus the effect of clamping. Source: Colombo et al., A Quantization-based Technique for
Privacy Preserving Distributed Learning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn, assert_never

import numpy as np

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.hashcomb.tokens import KeyedTokens, PaperTokens, Tokens, derive_round_key
from tacit.codecs.sums.joined import JoinedTally
from tacit.codecs.sums.tokens import TokenTally, count_packed_bytes, pack_integers
from tacit.errors import PlanError, RunError
from tacit.privacy.claim import Claim, Open
from tacit.quantisation.levels import compute_mean_level, draw_levels, find_head_probability
from tacit.quantisation.quantiser import Levels, Quantiser
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

__all__ = [
    "KeyedTokens",
    "PaperTokens",
    "Quantiser",
    "build_quantiser",
    "compute_mean_level",
    "derive_round_key",
    "draw_levels",
    "find_head_probability",
    "make",
]


def make(settings: plan.HashComb, layers: tuple[int, ...] = ()) -> Codec:
    """Build the public codec, which counts tokens and builds the clients' codec from their secret.

    `layers` are the sizes of the model's layers, needed if each has a range of its own.
    """
    _check(settings, layers)
    widths = [_count_token_bits(settings, place) for place in _list_places(settings)]

    def empty(dim: int) -> TokenTally | JoinedTally:
        named = settings.token_bits if settings.tokens == "paper" else None
        tallies = tuple(TokenTally(dim, 1 << place, named) for place in _list_places(settings))
        return JoinedTally(tallies) if settings.path else tallies[0]

    return Codec(
        name="hashcomb",
        payload_size=lambda dim: sum(count_packed_bytes(dim, bits) for bits in widths),
        encoder=_refuse_without_secret,
        empty=empty,
        decoder=_refuse_without_secret,
        clip_update=lambda update: build_quantiser(settings, layers).clamped(update),
        variance=lambda update: np.zeros(len(update)),
        claims=lambda dim, cohort: (_claim(settings),),
        decoded_by="clients",
        of=settings.of,
        keyed=lambda secret, round_no: _build_client_codec(settings, layers, secret, round_no),
        unbiased=False,
        at_ends=lambda total: total.at_ends,
    )


def _list_places(settings: plan.HashComb) -> range:
    """Finest level of each token of a parameter: all levels in turn for a path, else only the
    finest.
    """
    return range(1 if settings.path else settings.levels, settings.levels + 1)


def _count_token_bits(settings: plan.HashComb, place: int) -> int:
    match settings.tokens:
        case "keyed":
            return place
        case "paper":
            return settings.token_bits
        case _:
            assert_never(settings.tokens)


def _build_client_codec(
    settings: plan.HashComb, layers: tuple[int, ...], secret: bytes, round_no: int
) -> Codec:
    """Build the codec that clients hold in one round."""
    quantiser, chance = build_quantiser(settings, layers), 1.0
    key = derive_round_key(secret, round_no, settings.hash)
    if settings.mean_level is not None:
        chance = find_head_probability(settings.selection, settings.levels, settings.mean_level)

    def levels(dim: int) -> Levels:
        return draw_levels(settings.selection, settings.levels, chance, dim, key.at("levels"))

    def tokens(place: int) -> Tokens:
        match settings.tokens:
            case "keyed":
                return KeyedTokens(key.at("path", place) if settings.path else key, place)
            case "paper":
                return PaperTokens(quantiser, secret, settings.token_bits, settings.hash)
            case _:
                assert_never(settings.tokens)

    def level_at(place: int, level: Levels) -> Levels:
        """Level of each parameter's token: on a path the place, and the uninformative level 0 after
        its end.
        """
        return np.where(level >= place, place, 0).astype(np.uint8) if settings.path else level

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        level, pieces = levels(len(update)), []
        for place in _list_places(settings):
            here = level_at(place, level)
            hidden = tokens(place).hide(quantiser.channels(update, here), here)
            pieces.append(
                pack_integers(hidden, _count_token_bits(settings, place))
                if hidden.ndim == 1
                else hidden.view(np.uint8).ravel()
            )
        return wrap_payload(pieces[0] if len(pieces) == 1 else np.concatenate(pieces))

    def decode(total: TokenTally | JoinedTally, *, public: PublicDraws, own: ServerDraws) -> Vector:
        tallies = total.parts if isinstance(total, JoinedTally) else (total,)
        level = levels(tallies[0].dim)
        mean = quantiser.middles(
            np.zeros(len(level), np.uint32), np.zeros(len(level), np.uint8)
        ).astype(np.float32)
        at_ends = 0.0
        for place, tally in zip(_list_places(settings), tallies, strict=True):
            sent, at_place = tally.build_histogram(), level_at(place, level)
            for here, channels in tokens(place).reveal(sent, at_place):
                weights, deepest = sent.select_weights(here), at_place[here] == level[here]
                values = quantiser.at(here).middles(channels, at_place[here]) * weights
                mean[here][deepest] = (values.sum(axis=0) / total.weight)[deepest]
                ends = (channels == 0) | (channels == (1 << at_place[here].astype(np.int64)) - 1)
                at_ends += float(
                    ((ends * weights).sum(axis=0) / total.weight)[deepest & (level[here] > 0)].sum()
                )
        total.at_ends = at_ends / max(1, int((level > 0).sum()))
        return mean

    return replace(make(settings, layers), encoder=encode, decoder=decode, keyed=None)


def _check(settings: plan.HashComb, layers: tuple[int, ...]) -> None:
    """Raise PlanError unless a range per layer has as many values as the model has layers."""
    for key in ("x_min", "x_max"):
        bounds = getattr(settings, key)
        if isinstance(bounds, tuple) and len(bounds) != len(layers):
            sizes = ", ".join(f"{size:,}" for size in layers) or "unknown sizes"
            raise PlanError(
                f"codec.{key} must have one value for each of {len(layers)} layers ({sizes}"
                f" parameters), got {len(bounds)}"
            )


def build_quantiser(settings: plan.HashComb, layers: tuple[int, ...] = ()) -> Quantiser:
    """Build the quantiser of weights, as published, or of updates, for which zero must stay exactly
    zero.

    A range per layer applies to all parameters of the layer. Raise RunError if only the parties to
    a negotiation know the range.
    """
    if settings.x_min is None or settings.x_max is None:
        raise RunError(
            "hashcomb cannot encode or decode without the negotiated range; use the codec that a"
            " site holds"
        )
    centred = settings.of == "updates"
    x_min, x_max = (
        np.repeat(ends, layers) if isinstance(ends, tuple) else ends
        for ends in (settings.x_min, settings.x_max)
    )
    if centred and (np.greater(x_min, 0).any() or np.less(x_max, 0).any()):
        raise RunError("hashcomb: the range of updates does not contain 0; negotiate again")
    return Quantiser.enlarged(x_min, x_max, settings.enlargement, settings.levels, centred)


def _refuse_without_secret(*given: object, **draws: object) -> NoReturn:
    raise RunError(
        "hashcomb cannot encode or decode without the clients' secret; use the codec that a site"
        " holds"
    )


def _claim(settings: plan.HashComb) -> Claim:
    bits = _count_token_bits(settings, settings.levels)
    kind = (
        "a new permutation for each round and parameter"
        if settings.tokens == "keyed"
        else "the same in all rounds"
    )
    return Claim(
        mechanism=(
            f"obfuscated weights ({bits}-bit keyed quantisation tokens, {kind}); not differentially"
            " private"
        ),
        event=Open(),
        unit="update",
        relation="replace all rows of one client",
        view=(
            "peers" if settings.tokens == "keyed" else "server"
        ),  # static tokens reveal their order over time
        trust=(
            "all other participants, who can decode",
            "that nobody gives the clients' secret to the server",
        ),
        rests_on="clients",
        source="none: quantisation is deterministic, so no epsilon is finite; after Colombo et al.",
    )
