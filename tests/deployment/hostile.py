"""A server that says what it likes to one site: it chooses names, rounds, plans, models and order. Used by tests of attacks."""

from __future__ import annotations

import hashlib
import os
from typing import Any, TypeVar

import msgspec
import numpy as np

from tacit import plan
from tacit.column_statistics.statistics import merge_statistics
from tacit.deployment import bodies
from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    MeasureResponse,
    Member,
    Offer,
    OfferResponse,
    SiteRequest,
    SiteResponse,
    StatisticsBody,
    Terms,
)
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.versions import write_settings
from tacit.protocol import messages
from tacit.protocol.messages.signed_message import MessageSubject, SignedMessage, read, write

Body = TypeVar("Body", bound=msgspec.Struct)


class HostileServer:
    """Asks one site under one run and plan, unless a request says otherwise; `status` and `rule` are those of its last reply."""

    def __init__(self, site: OwnerSite, job: plan.Plan, run: str = "job-1") -> None:
        self.site, self.run, self.text = site, run, plan.to_toml(job)
        self._stated = {self.text: write_settings(job)}
        self.status, self.rule, self.measures = "", "", True
        self.terms: Terms | None = None
        self.dim = 0

    def send(
        self, kind: str, exchange: str, body: bytes, round_no: int = 0, **changes: Any
    ) -> SignedMessage:
        given = {
            "kind": kind, "run": self.run, "plan": hashlib.sha256(self.text.encode()).digest(), "site": self.site.owner.name,
            "round_no": round_no, "exchange": exchange, "nonce": os.urandom(16), **changes,
        }  # fmt: skip
        reply = read(self.site.handle(write(MessageSubject(**given), body)))
        self.status, self.rule = reply.subject.status, reply.subject.rule
        return reply

    def open(self, text: str | None = None, **changes: Any) -> OfferResponse | None:
        offered = text or self.text
        settings = self._stated.get(offered, "")
        offer = bodies.pack(Offer(plan=offered, settings=settings, measures=self.measures))
        return self._body(self.send("open", "open", offer, **changes), OfferResponse)

    def begin(self, opened: OfferResponse, **changes: Any) -> BeginResponse | None:
        seen = StatisticsBody.of(merge_statistics([opened.seen.statistics()]))
        one = {"clients": opened.clients, "rows": opened.rows, "test_rows": opened.test_rows}
        members = [
            Member(site=self.site.owner.name, first=0, nonce=opened.nonce, **one),
            Member(site="b", first=opened.clients, nonce=bytes(32), **one),
        ]
        given = {
            "run": "job",
            "public": b"p" * 32,
            "largest_weight": 1,
            "seen": seen,
            "members": members,
        }
        self.terms = Terms(**{**given, **changes})
        begun = self._body(
            self.send("begin", "begin", bodies.pack(BeginRequest(terms=bodies.pack(self.terms)))),
            BeginResponse,
        )
        self.dim = begun.dim if begun else self.dim
        return begun

    def start(self) -> HostileServer:
        opened = self.open()
        assert opened, (self.status, self.rule)
        assert self.begin(opened), (self.status, self.rule)
        return self

    def train(
        self,
        model: Any = 0.0,
        round_no: int = 1,
        to: Any = None,
        exchange: str = "train",
        **changes: Any,
    ) -> SiteResponse | None:
        assert self.terms is not None
        names = np.arange(self.terms.members[0].clients) if to is None else np.array(to)
        question = self.question(model, round_no, names.astype("<i8").tobytes(), 2 * len(names))
        return self._body(
            self.send("ask", exchange, bodies.pack(question), round_no, **changes), SiteResponse
        )

    def measure(
        self, model: Any = 0.0, round_no: int = 1, exchange: str = "measure", **changes: Any
    ) -> MeasureResponse | None:
        """Ask for the model after a round, which is the one the next round begins with."""
        question = self.question(model, round_no + 1)
        return self._body(
            self.send("measure", exchange, bodies.pack(question), round_no, **changes),
            MeasureResponse,
        )

    def question(
        self, model: Any, round_no: int, to: bytes = b"", everyone: int = 0
    ) -> SiteRequest:
        assert self.terms is not None
        vector = np.broadcast_to(np.asarray(model, np.float32), (self.dim,)).copy()
        head, payload = messages.frame(
            messages.Header(self.terms.run, round_no, 0, "model", self.dim, 0, vector.nbytes),
            vector.view(np.uint8),
        )
        return SiteRequest(to=to, everyone=everyone, head=bytes(head), payload=bytes(payload))

    def _body(self, reply: SignedMessage, kind: type[Body]) -> Body | None:
        return bodies.unpack(reply.body, kind) if reply.subject.status == "ok" else None


def payloads(answers: SiteResponse) -> dict[int, bytes]:
    """Return what each client sent."""
    return {
        messages.parse(head, memoryview(body)).header.sender: body for head, body in answers.frames
    }
