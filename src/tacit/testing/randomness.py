"""Checks of randomness: noise must come from the party that keeps the guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.codecs import Codec
from tacit.randomness import Draws, PublicDraws
from tacit.testing.subject import Subject, encode, has_client_noise, require

_UPDATE = np.linspace(-1e-3, 1e-3, 50, dtype=np.float32)
_MESSAGES = 40


def check_draws_are_typed(subject: Subject) -> None:
    """Randomness of another party is refused by `encode` and `decode`."""
    codec = subject.at_client()
    for name, call in _mix_up(codec).items():
        require(
            _raises_type_error(call),
            f"{name}: randomness of the wrong party was taken; build the codec with `encoder` and"
            " `decoder`, so that `Codec.encode` and `Codec.decode` check its type",
        )


def _mix_up(codec: Codec) -> dict[str, Callable[[], object]]:
    root: Any = Draws(bytes(32))
    own, server, public = root.for_client(), root.for_server(), root.publish()
    total: Any = codec.empty(len(_UPDATE))
    return {
        "encode, swapped": lambda: codec.encode(_UPDATE, {}, own=public, public=own),
        "encode, both public": lambda: codec.encode(_UPDATE, {}, own=public, public=public),
        "encode, both the client's": lambda: codec.encode(_UPDATE, {}, own=own, public=own),
        "encode, the server's": lambda: codec.encode(_UPDATE, {}, own=server, public=public),
        "decode, swapped": lambda: codec.decode(total, public=server, own=public),
        "decode, the client's": lambda: codec.decode(total, public=public, own=own),
    }


def _raises_type_error(call: Callable[[], object]) -> bool:
    try:
        call()
    except TypeError:
        return True
    return False


def check_client_noise_is_secret(subject: Subject) -> None:
    """No message can be rebuilt from public draws: with other draws of the client, 40 messages
    differ exactly if the codec says that it adds noise.

    Two independent messages of one bit agree with probability below 0.6, so 40 agree with
    probability below 2^-29.
    """
    codec = subject.at_client()
    public = PublicDraws(Draws.seeded(3).key)

    def messages(root: Draws) -> bytes:
        made = (encode(codec, _UPDATE, root.at(n), public.at(n)) for n in range(_MESSAGES))
        return b"".join(one.tobytes() for one in made)

    differ = messages(Draws.seeded(4)) != messages(Draws.seeded(5))
    noisy = has_client_noise(codec, _UPDATE)
    require(
        differ or not noisy,
        "noise comes from public randomness, so the server can subtract it: draw from `own`",
    )
    require(noisy or not differ, "messages are randomised although `variance` says 0")


def check_decoder_noise_is_secret(subject: Subject) -> None:
    """What decoding adds depends on the decoder's own draws exactly if `sum_noise` says that it
    adds noise.
    """
    codec = subject.at_client()
    if codec.decoded_by == "clients":
        return
    public = Draws.seeded(3).publish()
    decoded = [
        codec.decode(
            codec.empty(len(_UPDATE)) if codec.sum_noise else _sum_one(codec),
            public=public,
            own=Draws.seeded(seed).for_server(),
        ).tobytes()
        for seed in (6, 7)
    ]
    require(
        (decoded[0] != decoded[1]) == (codec.sum_noise is not None),
        "decoding must draw noise from `own` if there is `sum_noise`, and none if there is not",
    )


def _sum_one(codec: Codec) -> Any:
    public = Draws.seeded(3).publish()
    total = codec.empty(len(_UPDATE))
    total.add(encode(codec, _UPDATE, Draws.seeded(4), public), 1, public)
    return total
