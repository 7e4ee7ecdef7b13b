"""What a site's clients committed to sending later in the round, so that they need not train for it twice.

A commitment comes before the vote and the update after it. Whoever was voted down never sends one. What does not fit is made
again when it is asked for; since its randomness has an address, it comes out the same.
"""

from __future__ import annotations

from threading import Lock

from tacit.codec import Encoded

_MOST_BYTES = 1 << 28
"""A client keeps one update; this is for a simulation, whose one site has everybody."""


class Promised:
    """Encoded updates of one round, by client."""

    def __init__(self) -> None:
        self._round_no, self._bytes = 0, 0
        self._lock = Lock()  # clients of a simulation are trained in threads
        self._made: dict[int, Encoded] = {}

    def keep(self, name: int, round_no: int, made: Encoded) -> None:
        """Keep what a client will send in a round; what was kept of other rounds goes."""
        with self._lock:
            if round_no != self._round_no:
                self._round_no, self._bytes, self._made = round_no, 0, {}
            if self._bytes + made.payload.nbytes <= _MOST_BYTES:
                self._bytes += made.payload.nbytes
                self._made[name] = made

    def of(self, name: int, round_no: int) -> Encoded | None:
        """Return what a client committed to in a round; None if nothing is kept of it."""
        return self._made.get(name) if round_no == self._round_no else None
