"""Training under secure aggregation: each update is sent as a secret share, and only helpers and
server together can compute the sum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import EncodedUpdate, Payload
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.sharing import SecretSharing, Shares
from tacit.protocol.exchanges.train import Member, UpdateExchange, nobody
from tacit.protocol.messages import Frame
from tacit.protocol.round import ExchangeOutcome, Request, State
from tacit.protocol.site import Client
from tacit.randomness import Draws


class SecureTrain(UpdateExchange):
    """One secret share of an update per client and round. The helpers complete the sum afterwards."""

    def __init__(
        self, agreement: Agreement, draws: Draws, sharing: SecretSharing, member: Member = nobody
    ) -> None:
        super().__init__(agreement, draws, member)
        self.sharing = sharing

    @property
    def kind(self) -> str:
        """The codec name in a client's message."""
        return f"{self.agreement.codec.name}.share"

    def measure_response(self, request: Request) -> int:
        """Bytes of a share."""
        return self.sharing.payload_size

    def _build_payload(self, client: Client, made: EncodedUpdate, round_no: int) -> Payload:
        return self.sharing.payload(client, made.payload, round_no)

    def _get_committed_bytes(
        self, client: Client, made: EncodedUpdate, round_no: int
    ) -> memoryview:
        """The share, whose masks bind it to one update."""
        return self.sharing.share(client, made.payload, round_no).data.cast("B")

    def empty(self) -> Shares:
        """The sum of no shares."""
        return Shares(self.sharing.terms)

    def receive(self, intake: Intake, total: Shares, frame: Frame) -> None:
        """Check one client's message as far as the server can read it, and add its share."""
        terms, message = self.agreement, messages.parse(*frame)
        size = self.sharing.payload_size
        header = messages.expect(
            message, run=terms.run, codec=self.kind, dim=terms.dim, payload_size=size
        ).header
        intake.check(header.sender, header.round_no, header.weight)
        intake.check_commitment(header.sender, frame[1][: self.sharing.terms.share_size])
        self.sharing.add(total, header.sender, message.payload)
        intake.note(header.sender)

    def close(self, state: State, total: Shares) -> ExchangeOutcome:
        """Keep the server's part of the sum until the helpers have sent theirs."""
        return ExchangeOutcome(state=replace(state, pending=total))

    def finish_with_sum(
        self, state: State, numbers: NDArray[np.int64], clients: int
    ) -> ExchangeOutcome:
        """Take the server's step with the sum over `clients` clients."""
        return ExchangeOutcome(
            state=self.step(state, self.sharing.integers.build_sum(numbers, clients))
        )

    def finish_without_sum(self, state: State) -> ExchangeOutcome:
        """The state after a round without a sum: the model is unchanged."""
        return ExchangeOutcome(state=replace(state, pending=None))
