"""Seats for tests: client n sits at block n and draws at address n below one seeded root."""

from tacit.draws import Draws
from tacit.seat import Own, Seat


def seat(number: int, seed: int = 0) -> Seat:
    return Seat(number, number, Own(Draws.seeded(seed), number))
