"""Stages before a codec. Their guarantees are checked when the chain is built, before any data is
touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.contract import Bound, Codec, EncodedUpdate, Memory, UpdateEncoder
from tacit.errors import ChainError
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A function applied to an update before it is encoded, and its effect on the bound of one
    client's update.
    """

    name: str
    apply: Callable[[Vector], Vector]
    bound: Callable[[Bound], Bound]


@dataclass(frozen=True, kw_only=True)
class CodecStage:
    """The codec at the end of a chain, built once the guarantees of the stages before it are known.

    `needs` names the fields of Bound that must be finite.
    """

    name: str
    make: Callable[[Bound], Codec]
    needs: tuple[str, ...] = ()


def chain(*stages: Stage, last: CodecStage) -> Codec:
    """Build a codec that applies the stages in order and then encodes; raise ChainError if a bound
    is missing.

    >>> from tacit.codecs.stages.clip import clip_l1
    >>> from tacit.codecs import rr
    >>> chain(clip_l1(2.0), last=rr.build_one_bit(flips=1 << 30, clip=0.5)).bound.l1
    2.0
    """
    bound = Bound()
    for stage in stages:
        bound = stage.bound(bound)
    for name in last.needs:
        if not np.isfinite(getattr(bound, name)):
            got = " then ".join(stage.name for stage in stages) or "no stage"
            raise ChainError(
                f"{last.name}: {got} does not bound the {name} norm of a client's update; put"
                f" clip_{name} before it"
            )
    codec = last.make(bound)
    return replace(
        codec,
        encoder=_encode_after(stages, codec),
        clip_update=_clip_after(stages, codec),
        variance=_vary_after(stages, codec),
        bound=bound,
    )


def _apply_stages(stages: tuple[Stage, ...], update: Vector) -> Vector:
    for stage in stages:
        update = stage.apply(update)
    return update


def _encode_after(stages: tuple[Stage, ...], codec: Codec) -> UpdateEncoder:
    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        return codec.encode(_apply_stages(stages, update), memory, own=own, public=public)

    return encode


def _clip_after(stages: tuple[Stage, ...], codec: Codec) -> Callable[[Vector], Vector]:
    return lambda update: codec.clip_update(_apply_stages(stages, update))


def _vary_after(stages: tuple[Stage, ...], codec: Codec) -> Callable[[Vector], NDArray[np.float64]]:
    return lambda update: codec.variance(_apply_stages(stages, update))
