"""A site's side of a run once the terms are known: its clients and their rows, its exchanges, and
its helper if it is one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit import server, training
from tacit.assembly.agreement import build_agreement
from tacit.assembly.client_side import PrivateParts, SiteClients, build_learner, build_site
from tacit.assembly.exchanges import build_exchanges, build_train
from tacit.assembly.negotiated import NegotiatedCodec
from tacit.assembly.secure_sums import HelperParty, draw_helper_key
from tacit.data import k_anonymity
from tacit.deployment.agenda import MEASURE
from tacit.deployment.bodies import SiteRequest, SiteResponse, Terms
from tacit.deployment.site.rows.site_rows import EncodedSiteRows, SiteRows, encode_rows
from tacit.deployment.site.terms_checks import AggregationFacts
from tacit.deployment.site.work_clock import WorkClock
from tacit.errors import PolicyError, WireError
from tacit.plan import Plan
from tacit.privacy.claim import Claim
from tacit.protocol.aggregation import split_into_chunks
from tacit.protocol.exchanges.disclose_rows import Discloser, DiscloseRows, describe_offer
from tacit.protocol.exchanges.helper_sums import HelperSums
from tacit.protocol.exchanges.site_sums import build_site_sum
from tacit.protocol.messages import Frame
from tacit.protocol.promised_updates import PromisedUpdates
from tacit.protocol.round import Exchange, Gathered, Request
from tacit.protocol.round_claims import list_round_claims
from tacit.protocol.site import OwnRows, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Vector
from tacit.runs.record import DisclosedRows
from tacit.secure_aggregation import Helper

Piece = tuple[bytes, bytes]
PROMISED, PRIVATE, CODEC = "promised", "private", "codec"
"""Folders of a run: updates that clients committed to sending later in a round, private parameters
of clients, and memory of their codec.
"""
Peers = Callable[[], Mapping[str, bytes]]
"""The public signing keys of sites by name, as this site's owner knows them now."""

_PAID = "purse.safetensors"
"""The file with the charges of clients. A run that was begun under this name must find it again, so
the name stays.
"""


class KnownSites:
    """The signing keys by which clients' envelopes are checked; read again before each response of
    a helper.
    """

    def __init__(self, terms: Terms, peers: Peers) -> None:
        self._terms, self._peers = terms, peers
        self._now: Mapping[str, bytes] = {}

    def read(self) -> None:
        """Read the current keys."""
        self._now = self._peers()

    def find_key(self, client: int) -> bytes | None:
        """The key of a client's site; None for an unknown client."""
        return self._now.get(self._terms.find_site(client) or "")


@dataclass
class SiteSide:
    """Everything a site needs to respond. `erased` are people who were erased after the run was
    opened: their clients keep their numbers and do not respond.
    """

    plan: Plan
    terms: Terms
    rows: SiteRows
    encoded: EncodedSiteRows
    learner: training.Learner
    site: Site
    exchanges: dict[str, Exchange]
    helpers: dict[str, Helper]
    names: set[int]
    known: KnownSites
    worker: training.Worker = field(init=False)
    erased: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.worker = self.learner.worker()

    def owner_of(self, name: int) -> str:
        """The person behind a client, as the site knows them."""
        return self.rows.owners[self.site.slot(name).block]

    def leave_out(self, is_erased: Callable[[str], bool]) -> None:
        """From now on, no client responds and no held-out row counts whose person was erased."""
        known = {*self.rows.owners, *self.encoded.measured.owners.tolist()}
        self.erased = frozenset(filter(is_erased, known))

    def select_present(self, names: Sequence[int]) -> list[int]:
        """Those of some clients that were not erased."""
        return [name for name in names if not self.erased or self.owner_of(name) not in self.erased]

    def refuse_erased_rows(self) -> None:
        """Raise PolicyError if the run would disclose rows of an erased client: without them, too
        few people may share the rows of the others.
        """
        offer = self.encoded.offer
        gone = [name for name in self.names if self.owner_of(name) in self.erased]
        if offer and any(offer.released_by(self.site.slot(name).block).height for name in gone):
            raise PolicyError(
                "the rows that this run discloses were chosen before a client was erased, and"
                " include that client's; start the plan as a new run"
            )

    def respond(
        self,
        exchange: Exchange,
        request: Request,
        claims: tuple[Claim, ...],
        refused: dict[int, str],
        clock: WorkClock,
    ) -> SiteResponse:
        """Responses of the clients, one by one, or summed where the plan says that the site does
        so.

        The clients' own ledgers are charged for the whole cohort, at every site. `clock` stops work
        that takes too long.
        """
        refused = {**refused, **dict.fromkeys(self.site.refusals(request, claims), "ledger")}
        here = [name for name in request.to.tolist() if name not in refused]
        if not here and self.site.agreement.codec.decoded_by == "clients":
            self.site.model(request)  # whoever reads the sums must read every one of them
        if self.site.agreement.sum_at_site and here:
            frames: list[Frame | None] = [self._summed(exchange, request, here, clock)]
        else:
            frames = [
                exchange.respond(self.site.client(name, self.worker), request)
                for name in clock.each(here)
            ]
        return SiteResponse(
            frames=[_sent(frame) for frame in frames if frame is not None],
            refused=sorted(refused.items()),
        )

    def _summed(
        self, train: Exchange, request: Request, names: list[int], clock: WorkClock
    ) -> Frame:
        """One message for all these clients, trained many in one call where that gives the same
        bits.
        """
        found = Gathered(total=train.empty(), clients=0, bytes_up=0)
        for chunk in clock.each(split_into_chunks(np.array(names))):
            found = found.merged(train.respond_many(self.site, self.worker, request.part(chunk)))
        if found.refused or found.clients != len(names):
            raise WireError(
                found.refused[0].reason if found.refused else "a client had nothing to send"
            )
        return build_site_sum(
            self.site.agreement, self.site.names[0], request.round_no, names, found.total
        )

    def help(self, exchange: Exchange, request: Request) -> Piece:
        """This site's part of a sum under secure aggregation."""
        helper = self.helpers.get(exchange.name)
        if helper is None:
            raise WireError("request refused: this site is not a helper of the run")
        self.known.read()
        frame = exchange.respond(helper, request)
        assert frame is not None, "a helper answers or refuses"
        return _sent(frame)

    def describe_aggregation(self) -> AggregationFacts:
        """What helpers sum in this run."""
        least = [
            one.terms.min_clients for one in self.exchanges.values() if isinstance(one, HelperSums)
        ]
        return AggregationFacts(min(least, default=0), self.site.agreement.codec.min_clients > 1)

    def claims(self) -> list[tuple[Claim, ...]]:
        """The claims a client is charged for in a round, one tuple per exchange, if everybody is
        asked.
        """
        return list_round_claims(self.plan, self.learner.size, self.terms.clients)

    def hash_of_model(self, exchange: Exchange | None, question: SiteRequest) -> str | None:
        """The hash of the model in a request, or of the sum that clients decode it from; None if
        the exchange carries no model.

        Without an exchange the request is a measure.
        """
        if exchange is not None and not exchange.carries_model:
            return None
        carried = (
            question.payload
            if self.site.agreement.codec.decoded_by == "clients"
            else question.payload[: 4 * self.learner.size]
        )
        return hashlib.sha256(carried).hexdigest()

    def counted_rows(self, rows_each: int | None) -> tuple[NDArray[np.int64], list[str]]:
        """Indices of the held-out rows that count, at most `rows_each` of each client, and their
        owners.
        """
        held = self.encoded.measured
        places = held.count_for(rows_each)
        if self.erased:
            places = places[[owner not in self.erased for owner in held.owners[places]]]
        if self.learner.personal:  # a client without train rows has no model
            known = set(self.rows.owners)
            places = places[[owner in known for owner in held.owners[places]]]
        return places, held.owners[places].tolist()

    def model_in(self, question: SiteRequest, round_no: int) -> Vector:
        """The model that a round begins with, as clients decode it from a request."""
        return self.site.model(question.request(MEASURE, round_no))

    def count_right(self, model: Vector, places: NDArray[np.int64], round_no: int) -> int:
        """How many of some held-out rows the model a round begins with predicts correctly."""
        held = self.encoded.measured
        if self.learner.personal:
            return self._count_right_of_clients(model, places, round_no)
        rows = held.rows.take(places)
        predicted = server.predict_classes(self.learner.predict(model, rows.inputs))
        return int((predicted == rows.labels).sum())

    def _count_right_of_clients(
        self, model: Vector, places: NDArray[np.int64], round_no: int
    ) -> int:
        """The same where each client has its own model: each predicts its own rows."""
        held, blocks = (
            self.encoded.measured,
            {owner: block for block, owner in enumerate(self.rows.owners)},
        )
        of_clients = np.array([blocks[owner] for owner in held.owners[places]], np.int64)
        order = np.argsort(of_clients, kind="stable")
        starts = np.searchsorted(of_clients[order], np.arange(len(blocks) + 1))
        own, right = held.rows.take(places[order]), 0
        clients = Clients(order=np.arange(len(order)), starts=starts)
        tests = training.Tests(common=own, own=own, own_clients=clients, measure=server.measure)
        for name in self.site.names:
            slot = self.site.slot(name)
            rows = len(tests.of(slot))
            if rows:
                figures = self.worker.evaluate_assembled(model, slot, round_no, tests)  # type: ignore[attr-defined]
                right += round(figures["local_accuracy"] * rows)
        return right

    def disclosed(self) -> DisclosedRows:
        """Facts about the rows that would be disclosed."""
        assert self.encoded.offer is not None
        return describe_offer(self.plan, k_anonymity.examine(self.encoded.offer), [])

    def rows_that_leave(self) -> list[Piece]:
        """One message per client with the rows it discloses."""
        offer = self.encoded.offer
        if offer is None:
            raise WireError("request refused: the plan discloses no rows")
        exchange, weights = DiscloseRows(self.plan.name, offer.rows.schema), self.site.weights
        slots = [self.site.slot(name) for name in self.select_present(self.site.names)]
        holders = [
            Discloser(slot, offer.released_by(slot.block), int(weights[slot.block]))
            for slot in slots
        ]
        return [_sent(exchange.respond(holder, None)) for holder in holders]  # type: ignore[arg-type]


def build(
    plan: Plan,
    rows: SiteRows,
    terms: Terms,
    digest: str,
    name: str,
    root: Draws,
    folder: Path,
    peers: Peers,
    simulated_noise: bool,
    negotiated: NegotiatedCodec | None = None,
) -> SiteSide:
    """Build a site's side of a run; `digest` is that of plan and terms, as the site computed it,
    `negotiated` what the sites agreed on, if it is known.
    """
    own = terms.find_member(name)
    secret = None if negotiated is None else negotiated.secret
    encoded = encode_rows(plan, rows, terms, root, own.first, secret)
    parts = PrivateParts(folder=folder / PRIVATE, draws=root, lexicon=encoded.lexicon)
    learner = build_learner(plan, encoded.train, encoded.train_clients, parts)
    facts = terms.facts(digest)
    agreement = build_agreement(plan, facts, learner)
    names = list(range(own.first, own.first + own.clients))
    site = build_site(
        plan,
        agreement,
        learner,
        SiteClients(
            names=names,
            sizes=encoded.train_clients.sizes(),
            root=root,
            rows=OwnRows(encoded.train, encoded.train_clients, encoded.held, encoded.held_clients),
            codec_folder=folder / CODEC,
            ledger_file=folder / _PAID,
            negotiated=negotiated,
        ),
    )
    if not simulated_noise:
        site.epoch, site.promised = os.urandom(16).hex(), PromisedUpdates(folder / PROMISED)
    train = build_train(plan, facts, agreement, root)
    exchanges = {one.name: one for one in build_exchanges(plan, facts, train, learner)}
    known = KnownSites(terms, peers)
    helpers = dict[str, Helper]()
    if plan.secure_aggregation is not None and name in terms.helps:
        party = HelperParty(
            number=terms.helps.index(name) + 1,
            key=draw_helper_key(plan, root, name),
            site_keys=known.find_key,
            root=root,
            folder=folder / "helper",
            simulated=simulated_noise,
        )
        helpers = party.build_helpers(agreement, exchanges.values())
    return SiteSide(
        plan, terms, rows, encoded, learner, site, exchanges, helpers, set(names), known
    )


def _sent(frame: Frame) -> Piece:
    return bytes(frame[0]), bytes(frame[1])
