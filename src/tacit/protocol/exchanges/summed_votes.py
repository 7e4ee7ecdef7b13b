"""Votes under secure aggregation: the server sees a noisy count of testers who say that a
contributor helps, and no single vote.
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
from tacit.protocol.exchanges.sharing import SecretSharing, Shares
from tacit.protocol.exchanges.votes import VoteExchange
from tacit.protocol.messages import Frame
from tacit.protocol.round import ExchangeOutcome, State
from tacit.protocol.site import Client
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.server import Ballots


class SummedVotes(VoteExchange):
    """A vector of votes per tester, sent as a secret share. Contributors are rejected after the
    helpers have completed the sum.
    """

    def __init__(
        self, heads: Heads, clients: int, arm: str, codec: Codec, sharing: SecretSharing
    ) -> None:
        super().__init__(heads, clients, arm)
        self.codec, self.sharing = codec, sharing

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The claim of a tester's votes, all together."""
        return self.codec.claims(self.clients, clients)

    def _payload(
        self,
        client: Client,
        on: NDArray[np.int64],
        helped: NDArray[np.bool_],
        asked: list[bytes],
        round_no: int,
    ) -> Payload:
        """A tester's share of its votes; a cheating tester can lie, but still has only one vote per
        contributor.
        """
        cheated = client.site.behaviour.votes(client.slot, helped, on, round_no)
        said = helped if cheated is None else cheated
        vector = summed_votes.build_vote_vector(said, on, self.clients)
        message = self.codec.encode(
            vector, {}, own=ClientDraws(b""), public=PublicDraws(b"")
        ).payload  # clients draw nothing
        return self.sharing.payload(client, message, round_no)

    def empty(self) -> Shares:
        """No shares."""
        return Shares(self.sharing.terms)

    def receive(self, intake: Intake, total: Shares, frame: Frame) -> None:
        """Check one tester's message as far as the server can read it, and add its share."""
        terms, message = self.agreement, messages.parse(*frame)
        size = self.sharing.payload_size
        header = messages.expect(
            message, run=terms.run, codec=self.name, dim=terms.dim, payload_size=size
        ).header
        intake.check(header.sender, header.round_no, header.weight)
        self.sharing.add(total, header.sender, message.payload)
        intake.note(header.sender)

    def close(self, state: State, total: Shares) -> ExchangeOutcome:
        """Keep the server's part of the sum until the helpers have sent theirs."""
        return ExchangeOutcome(state=replace(state, pending=total))

    def finish_with_sum(
        self, state: State, numbers: NDArray[np.int64], clients: int
    ) -> ExchangeOutcome:
        """Decide who is accepted, given the noisy sum of the testers' votes."""
        testers, senders = (
            np.array(sorted(state.pending.envelopes), np.int64),
            state.arrays[SENDERS],
        )
        count = np.zeros(self.clients)
        for on in self._assign(senders, state.round_no)[np.searchsorted(senders, testers)]:
            count[on] += 1
        total = self.sharing.integers.build_sum(numbers, clients)
        votes = self.codec.decode(total, public=PublicDraws(b""), own=ServerDraws(b"")).astype(
            np.float64
        )
        assert self.codec.sum_noise is not None
        noise = np.full(self.clients, self.codec.sum_noise(self.clients) ** 2)
        ballots = Ballots(votes=votes, squares=count, fourths=count, count=count, noise=noise)
        return self.decide(replace(state, pending=None), ballots)

    def finish_without_sum(self, state: State) -> ExchangeOutcome:
        """The state after a round without votes: no update is averaged, since nobody knows who
        harms.
        """
        arrays = {
            key: value
            for key, value in state.arrays.items()
            if key not in (HEADS, SENDERS, COMMITMENTS)
        }
        return ExchangeOutcome(
            state=replace(state, pending=None, cohort=np.empty(0, np.int64), arrays=arrays)
        )
