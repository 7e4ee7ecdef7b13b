"""Codecs called with draws of any kind: each is given the role its place in the call has."""

import numpy as np

from tacit.codecs import Codec, EncodedUpdate, Memory
from tacit.randomness import AddressedDraws, ClientDraws, PublicDraws, ServerDraws


def client(draws: AddressedDraws) -> ClientDraws:
    """Return draws at the same address as a client's own."""
    return draws if isinstance(draws, ClientDraws) else ClientDraws(draws.key, draws.path)


def server(draws: AddressedDraws) -> ServerDraws:
    """Return draws at the same address as those of the party that decodes."""
    return ServerDraws(draws.key, draws.path)


def public(draws: AddressedDraws) -> PublicDraws:
    """Return draws at the same address as public ones."""
    return PublicDraws(draws.key, draws.path)


def encode(
    codec: Codec,
    update: np.ndarray,
    own: AddressedDraws,
    both: AddressedDraws,
    memory: Memory | None = None,
) -> EncodedUpdate:
    """Return a client's message, from its own randomness and that which both sides know."""
    return codec.encode(update, memory or {}, own=client(own), public=public(both))


def decode(codec: Codec, total: object, both: AddressedDraws, own: AddressedDraws) -> np.ndarray:
    """Return the mean update of a sum, from the randomness which both sides know and the decoder's own."""
    return codec.decode(total, public=public(both), own=server(own))
