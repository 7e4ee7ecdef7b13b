"""Calls that hand one party's randomness to another. Mypy checks this file and must refuse each of them, and so must the call.

Every line below has a `type: ignore` that mypy reports as unused, and so fails, should a mix-up pass unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.client import ClientRandomness
from tacit.codecs import Codec, Sum
from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.codecs.distributions.skellam_noise import draw_skellam
from tacit.randomness import ClientDraws, Draws, ServerDraws
from tacit.rows import Vector


def swapped(codec: Codec, update: Vector, total: Sum) -> dict[str, Callable[[], object]]:
    """Return every mix-up by name; each raises TypeError or AttributeError when it is called."""
    root = Draws(bytes(32))
    own, server, public = root.for_client(), root.for_server(), root.publish()
    return {
        "encode, swapped": lambda: codec.encode(update, {}, own=public, public=own),  # type: ignore[arg-type]
        "encode, both public": lambda: codec.encode(update, {}, own=public, public=public),  # type: ignore[arg-type]
        "encode, both the client's": lambda: codec.encode(update, {}, own=own, public=own),  # type: ignore[arg-type]
        "encode, the server's": lambda: codec.encode(update, {}, own=server, public=public),  # type: ignore[arg-type]
        "encode, nobody's": lambda: codec.encode(update, {}, own=root, public=public),  # type: ignore[arg-type]
        "encode, by place": lambda: codec.encode(update, {}, own, public),  # type: ignore[call-arg]
        "decode, swapped": lambda: codec.decode(total, public=server, own=public),  # type: ignore[arg-type]
        "decode, the client's": lambda: codec.decode(total, public=public, own=own),  # type: ignore[arg-type]
        "decode, by place": lambda: codec.decode(total, public, server),  # type: ignore[call-arg]
        "Gaussian noise": lambda: draw_gaussian(public, 3),  # type: ignore[arg-type]
        "Skellam noise": lambda: draw_skellam(1024, public, 3),  # type: ignore[arg-type]
        "a client's root": lambda: ClientRandomness(public, 1).noise("run", 1, "train", "asked"),  # type: ignore[arg-type]
        "public as a client's": lambda: public.for_client(),  # type: ignore[attr-defined]
        "the server's as a client's": lambda: _as_client(server),
        "a client's as the server's": lambda: _as_server(own),
    }


def _as_client(draws: ServerDraws) -> ClientDraws:
    return draws.for_client()  # refused when it is called: the type alone does not say so


def _as_server(draws: ClientDraws) -> ServerDraws:
    return draws.for_server()
