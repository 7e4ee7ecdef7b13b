"""One client as it sits on its own machine: a name for others, a block of rows, and randomness of
its own.

The three are different things. The name is public and stands on messages. The block says which of
the site's rows are the client's. The randomness is the client's alone: it is never part of what
both sides know.
"""

from __future__ import annotations

from typing import NamedTuple

from tacit.randomness import ClientDraws, Draws


class ClientRandomness(NamedTuple):
    """A client's own randomness: a root nobody else holds in a deployment, and an address below it.

    `epoch` is drawn anew whenever a real site starts; it is empty in a simulation, whose noise can
    be repeated.
    """

    root: Draws
    address: int | str
    epoch: str = ""

    def train(self, round_no: int) -> Draws:
        """Return the draws of local training in a round: shuffles, dropout."""
        return self.root.at("rounds", round_no, self.address, "train")

    def noise(self, identity: str, round_no: int, exchange: str, request: str) -> ClientDraws:
        """Return the draws that protect the answer to a request, by the request's digest.

        Whoever sees two answers with the same noise can subtract it. So two runs that differ in
        anything share no noise, nor do two requests that differ in anything, even if a site is set
        back to an earlier state in between; and the same request to a site that was started again
        gets new noise, for its rows may have changed.
        """
        return self.root.at(
            "noise", identity, round_no, exchange, request, *self._since, self.address
        ).for_client()

    def coins(self) -> ClientDraws:
        """Return the draws behind a client's votes; what they are about is added by whoever draws
        (`codec.vote`).
        """
        return self.root.at("private", self.address, "votes", *self._since).for_client()

    @property
    def _since(self) -> tuple[str, ...]:
        return (self.epoch,) if self.epoch else ()

    def private(self, purpose: str) -> ClientDraws:
        """Return the draws behind what stays with the client: first word vectors,
        rotations, keys.
        """
        return self.root.at("private", self.address, purpose).for_client()


class Seat(NamedTuple):
    """One client: its public name, its block of the site's rows, its own randomness."""

    name: int
    block: int
    own: ClientRandomness
