"""One client as it sits on its own machine: a name for others, a block of rows, and randomness of its own.

The three are different things. The name is public and stands on messages. The block says which of the site's rows are
the client's. The randomness is the client's alone: it is never part of what both sides know.
"""

from __future__ import annotations

from typing import NamedTuple

from tacit.draws import ClientDraws, Draws


class Own(NamedTuple):
    """A client's own randomness: a root nobody else holds in a deployment, and an address below it."""

    root: Draws
    address: int | str

    def train(self, round_no: int) -> Draws:
        """Return the draws of local training in a round: shuffles, dropout."""
        return self.root.at("rounds", round_no, self.address, "train")

    def noise(self, identity: str, round_no: int, exchange: str) -> ClientDraws:
        """Return the draws that protect an answer in a round.

        The run's identity is part of the address: two runs that differ in anything share no noise, for whoever saw the
        same noise twice could subtract it.
        """
        return self.root.at("noise", identity, round_no, exchange, self.address).for_client()

    def private(self, purpose: str) -> ClientDraws:
        """Return the draws behind what stays with the client: first word vectors, rotations, keys."""
        return self.root.at("private", self.address, purpose).for_client()


class Seat(NamedTuple):
    """One client: its public name, its block of the site's rows, its own randomness."""

    name: int
    block: int
    own: Own
