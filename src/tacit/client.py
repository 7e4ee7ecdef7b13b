"""A client on its own machine: a public name, a block of rows, and its own randomness.

The name is public and appears in messages. The block says which of the site's rows belong to the
client. The randomness is the client's secret and is never part of the agreement.
"""

from __future__ import annotations

from typing import NamedTuple

from tacit.randomness import ClientDraws, Draws


class ClientRandomness(NamedTuple):
    """A client's own randomness: a root that only its site holds, and an address below it.

    `epoch` is drawn whenever a deployed site starts. It is empty in a simulation, so that noise
    is reproducible.
    """

    root: Draws
    address: int | str
    epoch: str = ""

    def train(self, round_no: int) -> Draws:
        """Draws of local training in a round: shuffles, dropout."""
        return self.root.at("rounds", round_no, self.address, "train")

    def noise(self, identity: str, round_no: int, exchange: str, request: str) -> ClientDraws:
        """Draws of the noise in the response to a request, addressed by the request's digest.

        Noise that is used twice can be subtracted. So two runs or two requests that differ in
        anything share no noise, even if a site is restored to an earlier state in between. A
        restarted site draws new noise for the same request, because its rows may have changed.
        """
        return self.root.at(
            "noise", identity, round_no, exchange, request, *self._since, self.address
        ).for_client()

    def coins(self) -> ClientDraws:
        """Draws of the noise in a client's votes; the caller adds what a vote is about."""
        return self.root.at("private", self.address, "votes", *self._since).for_client()

    @property
    def _since(self) -> tuple[str, ...]:
        return (self.epoch,) if self.epoch else ()

    def private(self, purpose: str) -> ClientDraws:
        """Draws of what stays with the client: initial word vectors, rotations, keys."""
        return self.root.at("private", self.address, purpose).for_client()


class ClientSlot(NamedTuple):
    """A client's place at its site: public name, block of the site's rows, own randomness."""

    name: int
    block: int
    own: ClientRandomness
