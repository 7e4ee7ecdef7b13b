"""Votes under a secure sum: the server sees how many testers say that a contributor helps, with
noise, and no single vote.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import Codec, Payload
from tacit.codecs.votes import summed_votes
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.heads import COMMITMENTS, HEADS, SENDERS, Heads
from tacit.protocol.exchanges.sharing import Shares, Sharing
from tacit.protocol.exchanges.votes import Cast, Votes
from tacit.protocol.messages import Frame
from tacit.protocol.round import Outcome, State
from tacit.protocol.site import Client
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.server import Ballots


class SummedVotes(Votes):
    """A vector of votes per tester, sent as a share. Who is rejected is decided after the helpers
    have added up.
    """

    def __init__(
        self, heads: Heads, clients: int, arm: str, codec: Codec, sharing: Sharing
    ) -> None:
        super().__init__(heads, clients, arm)
        self.codec, self.sharing = codec, sharing

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return what a tester's votes cost it, all together."""
        return self.codec.claims(self.clients, clients)

    def _payload(
        self,
        client: Client,
        on: NDArray[np.int64],
        helped: NDArray[np.bool_],
        asked: list[bytes],
        round_no: int,
    ) -> Payload:
        """Return a tester's share of its votes; one that cheats says what it likes, but still only
        one vote each.
        """
        cheated = client.site.behaviour.votes(client.slot, helped, on, round_no)
        said = helped if cheated is None else cheated
        vector = summed_votes.build_vote_vector(said, on, self.clients)
        message = self.codec.encode(
            vector, {}, own=ClientDraws(b""), public=PublicDraws(b"")
        ).payload  # clients draw nothing
        return self.sharing.payload(client, message, round_no)

    def empty(self) -> Shares:  # type: ignore[override]
        """Return no shares."""
        return Shares(self.sharing.terms)

    def receive(self, intake: Intake, total: Shares, frame: Frame) -> None:  # type: ignore[override]
        """Check one tester's message as far as it can be read, and add its share."""
        terms, message = self.agreement, messages.parse(*frame)
        size = self.sharing.payload_size
        header = messages.expect(
            message, run=terms.run, codec=self.name, dim=terms.dim, payload_size=size
        ).header
        intake.check(header.sender, header.round_no, header.weight)
        self.sharing.add(total, header.sender, message.payload)
        intake.note(header.sender)

    def close(self, state: State, total: Shares | Cast) -> Outcome:
        """Return the state with the server's part of the sum, for the helpers to complete; with the
        sum itself, decide.
        """
        return (
            super().close(state, total)
            if isinstance(total, Cast)
            else Outcome(state=replace(state, pending=total))
        )

    def summed(self, state: State, numbers: NDArray[np.int64], clients: int) -> Outcome:
        """Return who is accepted, from the noisy sum of so many testers' votes."""
        testers, senders = (
            np.array(sorted(state.pending.envelopes), np.int64),
            state.arrays[SENDERS],
        )
        count = np.zeros(self.clients)
        for on in self._assigned(senders, state.round_no)[np.searchsorted(senders, testers)]:
            count[on] += 1
        total = self.sharing.integers.build_sum(numbers, clients)
        votes = self.codec.decode(total, public=PublicDraws(b""), own=ServerDraws(b"")).astype(
            np.float64
        )
        assert self.codec.sum_noise is not None
        noise = np.full(self.clients, self.codec.sum_noise(self.clients) ** 2)
        cast = Cast(self.clients)
        cast.ballots = Ballots(votes=votes, squares=count, fourths=count, count=count, noise=noise)
        return self.close(replace(state, pending=None), cast)

    def lost(self, state: State) -> Outcome:
        """Return what a round without votes leaves: nobody is averaged, for nobody knows
        who harms.
        """
        arrays = {
            key: value
            for key, value in state.arrays.items()
            if key not in (HEADS, SENDERS, COMMITMENTS)
        }
        return Outcome(
            state=replace(state, pending=None, cohort=np.empty(0, np.int64), arrays=arrays)
        )
