"""Stages before a codec: what they make sure of is checked when the chain is built, before any data
is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.contract import Bound, Codec, Encoded, Encoder, Memory
from tacit.errors import ChainError
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What happens to an update before it is encoded: a function, and how it changes the bound on
    one client's update.
    """

    name: str
    apply: Callable[[Vector], Vector]
    bound: Callable[[Bound], Bound]


@dataclass(frozen=True, kw_only=True)
class Last:
    """The codec at the end of a chain: made once it is known what the stages before it make sure
    of.

    `needs` names what must be finite in the bound, as a field of Bound, or is empty.
    """

    name: str
    make: Callable[[Bound], Codec]
    needs: tuple[str, ...] = ()


def chain(*stages: Stage, last: Last) -> Codec:
    """Return a codec that applies the stages in order and then encodes; raise ChainError if a bound
    is missing.

    >>> from tacit.codecs.stages.clip import clip_l1
    >>> from tacit.codecs import rr
    >>> chain(clip_l1(2.0), last=rr.one_bit(flips=1 << 30, clip=0.5)).bound.l1
    2.0
    """
    bound = Bound()
    for stage in stages:
        bound = stage.bound(bound)
    for name in last.needs:
        if not np.isfinite(getattr(bound, name)):
            got = " then ".join(stage.name for stage in stages) or "no stage"
            raise ChainError(
                f"{last.name} needs a finite {name} bound on one client's update, got {got}; put"
                f" clip_{name} before it"
            )
    codec = last.make(bound)
    return replace(
        codec,
        encoder=_before(stages, codec),
        clipped=_applied(stages, codec),
        variance=_varied(stages, codec),
        bound=bound,
    )


def _through(stages: tuple[Stage, ...], update: Vector) -> Vector:
    for stage in stages:
        update = stage.apply(update)
    return update


def _before(stages: tuple[Stage, ...], codec: Codec) -> Encoder:
    def encode(update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws) -> Encoded:
        return codec.encode(_through(stages, update), memory, own=own, public=public)

    return encode


def _applied(stages: tuple[Stage, ...], codec: Codec) -> Callable[[Vector], Vector]:
    return lambda update: codec.clipped(_through(stages, update))


def _varied(stages: tuple[Stage, ...], codec: Codec) -> Callable[[Vector], NDArray[np.float64]]:
    return lambda update: codec.variance(_through(stages, update))
