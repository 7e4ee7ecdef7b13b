"""Clients for tests: client n has block n and draws at address n below one seeded root."""

from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws


def slot(number: int, seed: int = 0) -> ClientSlot:
    return ClientSlot(number, number, ClientRandomness(Draws.seeded(seed), number))
