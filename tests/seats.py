"""Seats for tests: client n sits at block n and draws at address n below one seeded root."""

from tacit.randomness import Draws
from tacit.seat import ClientRandomness, Seat


def seat(number: int, seed: int = 0) -> Seat:
    return Seat(number, number, ClientRandomness(Draws.seeded(seed), number))
