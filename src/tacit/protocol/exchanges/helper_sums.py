"""The exchange that completes secure aggregation: the server names the clients that responded,
helpers send their parts of the sum.

Its requests go to helpers, not to clients. Everything a helper needs from a client is in the
envelope that the client signed, which the server forwards unread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import secure_aggregation
from tacit.errors import WireError
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.sharing import SecretSharing, Shares
from tacit.protocol.messages import Frame
from tacit.protocol.round import Exchange, ExchangeOutcome, Refusal, Request, State
from tacit.runs import record


class SharedExchange(Protocol):
    """An exchange whose responses are secret shares, and what follows from their sum, or from its
    absence.
    """

    name: str
    sharing: SecretSharing

    def takes_place(self, round_no: int) -> bool:
        """Whether a round has this exchange."""

    def finish_with_sum(
        self, state: State, numbers: NDArray[np.int64], clients: int
    ) -> ExchangeOutcome:
        """The outcome, given the sum over `clients` clients."""

    def finish_without_sum(self, state: State) -> ExchangeOutcome:
        """The outcome if there is no sum."""


class HelperParts:
    """Parts that helpers sent, by helper, with the tag of the set each is a part of, and the
    refusals.
    """

    def __init__(self) -> None:
        self.numbers: dict[int, NDArray[Any]] = {}
        self.tags: dict[int, bytes] = {}
        self.refused: list[Refusal] = []


class HelperSums(Exchange):
    """One part of the sum from each helper; if one is missing, there is no sum."""

    asks_helpers = True
    carries_model = False

    def __init__(self, shared: SharedExchange, arm: str) -> None:
        self.shared, self.arm, self.terms = shared, arm, shared.sharing.terms
        self.name = f"{shared.name}: helper sums"

    def takes_place(self, round_no: int) -> bool:
        """Whether the exchange whose shares are summed takes place."""
        return self.shared.takes_place(round_no)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """No claims: the claim of the preceding exchange is about the sum."""
        return ()

    def build_request(self, state: State) -> Request:
        """The set of clients that responded, with their envelopes; no helper is asked about a set
        that is too small.
        """
        names = np.array(sorted(state.pending.envelopes), np.int64)
        lines = np.frombuffer(
            b"".join(state.pending.envelopes[name] for name in names.tolist()), np.uint8
        )
        payload = np.concatenate([names.astype("<i8").view(np.uint8), lines])
        header = messages.Header(
            self.terms.run,
            state.round_no,
            0,
            self.name,
            self.terms.size,
            len(names),
            payload.nbytes,
        )
        enough = len(names) >= self.terms.min_clients
        helpers = np.arange(1, len(self.terms.helpers) + 1) if enough else np.empty(0, np.int64)
        return Request(
            exchange=self.name,
            round_no=state.round_no,
            to=helpers,
            frame=messages.frame(header, payload),
        )

    def respond(self, helper: secure_aggregation.Helper, request: Request) -> Frame:
        """The helper's part; runs at the helper, which raises WireError if it must not respond."""
        terms = helper.terms
        message = messages.expect(
            messages.parse(*request.frame),
            run=terms.run,
            round_no=request.round_no,
            codec=self.name,
            dim=terms.size,
        )
        header, line = message.header, 8 + terms.envelope_size
        if header.payload_size != header.weight * line:
            raise WireError(
                f"helper {helper.number} refused: {header.weight:,} clients need"
                f" {header.weight * line:,} bytes, got {header.payload_size:,}"
            )
        cut = 8 * header.weight
        names = message.payload[:cut].view("<i8").tolist()
        numbers = helper.respond(
            header.round_no,
            names,
            message.payload[cut:].reshape(header.weight, terms.envelope_size),
        )
        tag = np.frombuffer(terms.tag(header.round_no, names), np.uint8)
        payload = np.concatenate([numbers.view(np.uint8), tag])
        own = messages.Header(
            terms.run,
            header.round_no,
            helper.number,
            self.name,
            terms.size,
            header.weight,
            payload.nbytes,
        )
        return messages.frame(own, payload)

    def empty(self) -> HelperParts:
        """No parts."""
        return HelperParts()

    def receive(self, intake: Intake, total: HelperParts, frame: Frame) -> None:
        """Check one helper's part and keep it, with the tag of its set."""
        terms, message, size = self.terms, messages.parse(*frame), self.terms.share_size
        expected = {
            "run": terms.run,
            "codec": self.name,
            "dim": terms.size,
            "payload_size": size + secure_aggregation.TAG,
        }
        header = messages.expect(message, **expected).header
        intake.check(header.sender, header.round_no, header.weight)
        total.numbers[header.sender] = message.payload[:size].view(
            secure_aggregation.zeros(0, terms.bits).dtype
        )
        total.tags[header.sender] = message.payload[size:].tobytes()
        intake.note(header.sender)

    def close(self, state: State, total: HelperParts) -> ExchangeOutcome:
        """The outcome of the complete sum; if a part is missing, the outcome without a sum, and
        why.
        """
        shares: Shares = state.pending
        self._refuse_other_sets(total, self.terms.tag(state.round_no, sorted(shares.envelopes)))
        if len(total.numbers) == len(self.terms.helpers):
            whole = shares.sum.copy()
            for part in total.numbers.values():
                np.add(whole, part, out=whole)
            numbers = secure_aggregation.to_signed(whole)
            if self.shared.sharing.is_possible(numbers, shares.weight):
                return self.shared.finish_with_sum(state, numbers, shares.weight)
            total.refused.append(Refusal(sender=0, reason=self._impossible(shares.weight)))
        outcome, refused = self.shared.finish_without_sum(state), list(total.refused)
        if shares.weight < self.terms.min_clients:
            why = (
                f"round lost: {shares.weight:,} clients responded, and secure aggregation requires"
                f" at least {self.terms.min_clients:,}"
            )
            refused = [Refusal(sender=0, reason=why)]
        return replace(
            outcome, notes=(*outcome.notes, *(self._note(one, state.round_no) for one in refused))
        )

    def _impossible(self, clients: int) -> str:
        who = " or ".join(f"helper {number}" for number in range(1, len(self.terms.helpers) + 1))
        return (
            f"round lost: {clients:,} clients and the noise cannot add up to numbers this large; a"
            f" client's share or the part of {who} is wrong; ask the owners of the helpers to"
            " compare their logs"
        )

    def _refuse_other_sets(self, total: HelperParts, tag: bytes) -> None:
        """Drop parts for another set, plan or terms than the server's: they would not cancel the
        masks.
        """
        for helper in [helper for helper, said in total.tags.items() if said != tag]:
            del total.numbers[helper], total.tags[helper]
            why = (
                "its part is for another set of clients, or for a run with another plan or other"
                " terms"
            )
            total.refused.append(Refusal(sender=helper, reason=why))

    def _note(self, one: Refusal, round_no: int) -> record.Entry:
        who = f"helper {one.sender}" if one.sender else "server"
        return record.Refused(
            arm=self.arm, round_no=round_no, exchange=self.name, sender=who, reason=one.reason
        )
