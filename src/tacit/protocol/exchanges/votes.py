"""The exchange in which testers vote on contributors' last layers; the server sums the votes and
decides who is averaged.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit import plan, server, training
from tacit.codecs import Payload
from tacit.codecs.votes import single_vote
from tacit.errors import WireError
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.contributor_heads import (
    ContributorHeads,
    compute_gains,
    compute_part_gains,
    decide_votes,
    prepare_heads,
)
from tacit.protocol.exchanges.heads import COMMITMENTS, HEADS, SENDERS, Heads
from tacit.protocol.exchanges.vote_memory import decide_on, find_rejected
from tacit.protocol.messages import Frame
from tacit.protocol.round import Arrays, Exchange, ExchangeOutcome, Names, Request, State
from tacit.protocol.site import Client
from tacit.runs import record
from tacit.server import Ballots


class VoteTotals:
    """Sums of votes over testers, one entry per client of the run."""

    def __init__(self, clients: int) -> None:
        self.ballots = Ballots.none(clients)

    def merge(self, other: VoteTotals) -> None:
        """Add votes received elsewhere."""
        self.ballots = self.ballots.plus(other.ballots)

    def to_arrays(self) -> Arrays:
        """The sums as arrays."""
        return dict(vars(self.ballots))

    def add_arrays(self, arrays: Arrays) -> None:
        """Add sums from another process."""
        self.ballots = self.ballots.plus(Ballots(**arrays))


class VoteExchange(Exchange):
    """Votes of testers on the heads of contributors: subclasses say how they are sent and summed."""

    name = "votes"

    def __init__(self, heads: Heads, clients: int, arm: str) -> None:
        self.heads, self.clients, self.arm = heads, clients, arm
        self.agreement, self.settings = heads.agreement, heads.settings
        self._laid_out: tuple[memoryview, ContributorHeads] | None = None
        self._drawn: tuple[int, Names, NDArray[np.int64]] | None = None

    def takes_place(self, round_no: int) -> bool:
        """Whether clients vote in a round."""
        return self.settings.votes_in(round_no)

    def skip(self, state: State) -> ExchangeOutcome:
        """Keep the last decision; where none was reached, nobody is asked, since nobody knows who
        harms.
        """
        rejected = find_rejected(self.settings, state.arrays, state.cohort)
        if rejected is not None:
            return ExchangeOutcome(state=replace(state, cohort=state.cohort[~rejected]))
        note = record.Refused(
            arm=self.arm,
            round_no=state.round_no,
            exchange=self.name,
            sender="server",
            reason="round lost: no vote has led to a decision yet",
        )
        return ExchangeOutcome(state=replace(state, cohort=np.empty(0, np.int64)), notes=(note,))

    def build_request(self, state: State) -> Request:
        """The model, the contributors, and all heads, as one message to everybody."""
        assert state.model is not None
        terms, senders, heads = self.agreement, state.arrays[SENDERS], state.arrays[HEADS]
        payload = np.concatenate(
            [state.model.view(np.uint8), senders.view(np.uint8), heads.ravel().view(np.uint8)]
        )
        header = messages.Header(
            terms.run, state.round_no, 0, self.name, terms.dim, len(senders), payload.nbytes
        )
        return Request(
            exchange=self.name,
            round_no=state.round_no,
            to=senders,
            frame=messages.frame(header, payload),
        )

    def respond(self, client: Client, request: Request) -> Frame | None:
        """Evaluate the heads of the assigned contributors on the client's own test rows, and vote."""
        terms, site, slot = self.agreement, client.site, client.slot
        question = self._read_heads(request)
        chosen = self._choose_rows(client, request.round_no)
        if not len(chosen):
            return None
        senders = question.senders
        on = self._assign(senders, request.round_no)[np.searchsorted(senders, slot.name)]
        places = np.searchsorted(senders, on)
        gains = self._compute_gains(client, question, places, chosen, request.round_no)
        helped = decide_votes(gains, self.settings.vote)
        asked = [question.digests[place] for place in places.tolist()]
        payload = self._payload(client, on, helped, asked, request.round_no)
        header = messages.Header(
            terms.run,
            request.round_no,
            slot.name,
            self.name,
            terms.dim,
            site.weight(slot),
            payload.nbytes,
        )
        return messages.frame(header, payload)

    def _compute_gains(
        self,
        client: Client,
        question: ContributorHeads,
        places: NDArray[np.int64],
        chosen: NDArray[np.int64],
        round_no: int,
    ) -> NDArray[np.float32]:
        """By how much the heads at `places` lower the loss of each chosen row of the tester."""
        site, slot, part = client.site, client.slot, self.heads.place
        if isinstance(part, training.HeadPlace):
            rows, labels = site.compute_head_inputs(question.model, slot, round_no, chosen)
            return compute_gains(question, places, rows, labels)
        read = site.read_part(question.model, part.size, slot, round_no, chosen)
        return compute_part_gains(question, places, read)

    def _choose_rows(self, client: Client, round_no: int) -> NDArray[np.int64]:
        """The numbers of the tester's rows of a round: other rows each time, until all were used."""
        site, slot, few = client.site, client.slot, self.settings.test_rows
        have = site.count_tests(slot)
        places = np.arange(have)
        if few is not None and few < have:
            times = -(-round_no // self.settings.every) - 1
            each = have // few
            order = (
                slot.own.private("testers' rows").at(times // each).generator().permutation(have)
            )
            places = np.sort(order[times % each * few :][:few])
        return places

    def count_asked(self, request: Request, everyone: int) -> int:
        """The number of contributors to vote on, read from the message itself: what the server
        claims in addition changes no privacy loss.
        """
        return len(self._read_heads(request).senders)

    def _read_heads(self, request: Request) -> ContributorHeads:
        """The heads in a request; the same bytes are decoded once for all clients of a site."""
        kept, payload = self._laid_out, request.frame[1]
        if kept is None or kept[0] is not payload:
            self._laid_out = kept = (payload, self._read(request))
        return kept[1]

    def _read(self, request: Request) -> ContributorHeads:
        terms, place, few = self.agreement, self.heads.place, self.settings.testers
        message = messages.expect(
            messages.parse(*request.frame),
            run=terms.run,
            round_no=request.round_no,
            codec=self.name,
            dim=terms.dim,
        )
        count, ends = message.header.weight, 4 * terms.dim
        messages.expect(message, payload_size=ends + count * (8 + 4 * place.size))
        payload = message.payload
        model, senders = (
            payload[:ends].view(np.float32),
            payload[ends : ends + 8 * count].view(np.int64),
        )
        if count and (
            senders[0] < 0 or senders[-1] >= self.clients or (np.diff(senders) <= 0).any()
        ):
            raise WireError(
                "votes refused: contributors must be distinct clients of the run, from 0 to"
                f" {self.clients - 1:,}, in ascending order"
            )
        changes = payload[ends + 8 * count :].view(np.float32).reshape(count, *place.shape)
        return prepare_heads(
            model,
            self.heads.first(model),
            senders,
            changes,
            everybody=few is None or few >= count - 1,
        )

    def _assign(self, senders: Names, round_no: int) -> NDArray[np.int64]:
        kept = self._drawn
        if kept is None or kept[0] != round_no or not np.array_equal(kept[1], senders):
            random = self.agreement.public.at(round_no, "testers").generator()
            self._drawn = kept = (
                round_no,
                senders.copy(),
                server.assign_testers(senders, self.settings.testers, random),
            )
        return kept[2]

    @abstractmethod
    def _payload(
        self,
        client: Client,
        on: NDArray[np.int64],
        helped: NDArray[np.bool_],
        asked: list[bytes],
        round_no: int,
    ) -> Payload:
        """Encode a tester's votes on the contributors `on`."""

    def decide(self, state: State, new: Ballots) -> ExchangeOutcome:
        """Keep the accepted contributors in the cohort, and record all scores."""
        senders, settings = state.arrays[SENDERS], self.settings
        votes = settings.count_votes(self.agreement.server.rounds)
        decision, here, kept = decide_on(settings, votes, state.arrays, senders, new)
        accepted = senders[~decision.rejected]
        note = record.Voted(
            arm=self.arm,
            round_no=state.round_no,
            clients=senders.tolist(),
            scores=[round(float(score), 4) for score in here.scores()],
            errors=[round(float(min(error, 9.0)), 4) for error in here.errors()],
            rejected=senders[decision.rejected].tolist(),
            threshold=round(decision.threshold, 4),
        )
        arrays = {
            key: value
            for key, value in state.arrays.items()
            if key not in (HEADS, SENDERS, COMMITMENTS)
        }
        after = replace(state, cohort=accepted, arrays={**arrays, **kept})
        if self.settings.aggregate == "heads":
            return ExchangeOutcome(
                state=self._average_heads(after, state.arrays[HEADS][~decision.rejected]),
                notes=(note,),
            )
        bound = dict(zip(senders.tolist(), map(bytes, state.arrays[COMMITMENTS]), strict=True))
        return ExchangeOutcome(state=replace(after, commitments=bound), notes=(note,))

    def _average_heads(self, state: State, heads: NDArray[np.float32]) -> State:
        """Take the server's step with the mean of the accepted heads, and nothing else."""
        if not len(heads):
            return state
        assert state.model is not None
        place = self.heads.place
        mean = heads.mean(axis=0, dtype=np.float64).astype(np.float32).reshape(place.shape)
        update = place.update(mean, self.agreement.dim)
        step = self.agreement.optimizer.update
        model, optimizer = step(state.model, update, state.optimizer)
        return replace(state, model=model, optimizer=optimizer)


class Votes(VoteExchange):
    """One randomised bit per tester and assigned contributor."""

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The claim of a tester's votes, at most."""
        return (claim(self.settings, clients),)

    def _payload(
        self,
        client: Client,
        on: NDArray[np.int64],
        helped: NDArray[np.bool_],
        asked: list[bytes],
        round_no: int,
    ) -> Payload:
        """A tester's votes, randomised unless it cheats."""
        slot = client.slot
        epsilon, cheated = (
            self._epsilon(slot.name),
            client.site.behaviour.votes(slot, helped, on, round_no),
        )
        if cheated is None:
            return single_vote.encode_votes(helped, asked, epsilon, slot.own.coins())
        return single_vote.encode_true_votes(cheated, epsilon)

    def _epsilon(self, name: int) -> float | None:
        """The epsilon per vote that a tester chose; in a simulation testers take turns."""
        choice = self.settings.vote_epsilon
        return choice[name % len(choice)] if isinstance(choice, tuple) else choice

    def empty(self) -> VoteTotals:
        """No votes."""
        return VoteTotals(self.clients)

    def receive(self, intake: Intake, total: VoteTotals, frame: Frame) -> None:
        """Check one tester's votes and add them."""
        terms, message = self.agreement, messages.parse(*frame)
        header = messages.expect(message, run=terms.run, codec=self.name, dim=terms.dim).header
        intake.check(header.sender, header.round_no, header.weight)
        on = self._assign(intake.everyone, header.round_no)[
            np.searchsorted(intake.everyone, header.sender)
        ]
        votes, kept = single_vote.decode_votes(message.payload, len(on))
        about = np.zeros(self.clients)
        about[on] = 1
        said = np.zeros(self.clients)
        said[on] = kept * votes
        more = Ballots(votes=said, squares=kept**2 * about, fourths=kept**4 * about, count=about)
        total.ballots = total.ballots.plus(more)
        intake.note(header.sender)

    def close(self, state: State, total: VoteTotals) -> ExchangeOutcome:
        """Decide by the votes of this round and of earlier ones."""
        return self.decide(state, total.ballots)


def claim(settings: plan.Filter, clients: int) -> Claim:
    """The claim of a tester's votes in a round with `clients` clients, at most."""
    count = clients - 1 if settings.testers is None else min(settings.testers, clients - 1)
    return single_vote.build_vote_claim(count, _largest(settings.vote_epsilon))


def _largest(epsilon: float | tuple[float, ...] | None) -> float | None:
    return max(epsilon) if isinstance(epsilon, tuple) else epsilon
