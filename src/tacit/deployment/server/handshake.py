"""Before round one: the server offers a run to every site, and those that take part agree on its
terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec.structs import replace

from tacit import features, secure_aggregation, training
from tacit.column_statistics.number_format import find_conflicts
from tacit.column_statistics.statistics import merge_statistics
from tacit.deployment import bodies
from tacit.deployment.agenda import COUNTS, needs_counts
from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    ClassVectors,
    Member,
    Offer,
    OfferResponse,
    StatisticsBody,
    Terms,
)
from tacit.deployment.confirmation import needs_confirmation
from tacit.deployment.server.absence.missing_replies import build_quorum_error, list_reasons
from tacit.deployment.server.compare_sites import check_sites_agree
from tacit.deployment.server.messenger import Messenger
from tacit.deployment.server.open_exchange import Replies
from tacit.deployment.server.public_rows import fit_own_projection
from tacit.deployment.server.sent_plan import SentPlan
from tacit.deployment.shared_projection import ProjectionBody
from tacit.errors import RunError, WireError
from tacit.plan import Plan
from tacit.plan.codec import readable
from tacit.protocol.agreement import MOST_WEIGHT
from tacit.protocol.messages.signed_message import Kind
from tacit.protocol.round import Names
from tacit.randomness import Draws
from tacit.secure_aggregation.site_sum import SealedVector, SumPart


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Settings fixed at the start of a run: its name in ledgers, a test file of the server, helpers
    of secure aggregation by name (by default the first sites), the sites it is offered to (by
    default all), and, to compare with a simulation, that noise comes from the plan's seed under the
    simulation's identity.
    """

    run: str
    test: str | None = None
    helpers: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    simulated_noise: bool = False
    identity: str | None = None

    def measures(self, plan: Plan) -> bool:
        """Whether sites are asked to measure: if the server has no test rows, or lacks the secret by
        which the model is decoded or rows are encoded.
        """
        hides = not readable(plan.codec) or features.needs_secret(plan.features)
        return self.test is None or plan.personal or hides

    def offer(self, plan: Plan, sent: SentPlan) -> Offer:
        """The offer that sites receive."""
        return Offer(
            plan=sent.text,
            settings=sent.settings,
            tacit=sent.version,
            simulated_noise=self.simulated_noise,
            measures=self.measures(plan),
        )


@dataclass(frozen=True)
class Handshake:
    """A run that is offered: its plan, the plan as it is sent, and the server's own randomness."""

    messenger: Messenger
    plan: Plan
    sent: SentPlan
    deployment: Deployment
    draws: Draws
    read_record_key: bytes = b""

    def agree_on_terms(self, name: str) -> tuple[bytes, Names]:
        """Offer the run; return the agreed terms with all confirmations, as the bytes of a
        `BeginRequest`, and the clients that have rows to train on. `name` is the run's name.
        """
        offered = self.deployment.sites or tuple(self.messenger.keys)
        replies = self.messenger.request(
            "open",
            0,
            "open",
            dict.fromkeys(offered, bodies.pack(self.offer)),
            least=max(1, self.messenger.settings.min_sites),
        )
        opened = replies.bodies(OfferResponse)
        check_quorum(self.messenger, "takes part", opened, replies)
        terms = bodies.pack(self._terms(name, opened))
        least = max(1, self.messenger.settings.min_sites)
        sent = dict.fromkeys(opened, bodies.pack(BeginRequest(terms=terms)))
        replied = self.messenger.request("begin", 0, "begin", sent, least=least)
        begun = replied.bodies(BeginResponse)
        if replied.missing and not self._can_begin_without(replied, len(begun) >= least):
            message = (
                f"{self.plan.name}: a site that takes part cannot begin"
                f" ({list_reasons(replied.missing)}); {_remedy(opened)}"
            )
            raise build_quorum_error(message, len(opened), len(begun), replied.missing)
        confirmations = {site: one.confirmation for site, one in begun.items()}
        begin = BeginRequest(terms=terms, confirmations=confirmations)
        if needs_counts(self.plan):
            begin = replace(begin, parts=self._add_counts(begin))
            begun = self._request_all("begin", "begin", begin, begin.read()).bodies(BeginResponse)
        return bodies.pack(begin), list_clients_with_rows(begin.read(), begun)

    def _add_counts(self, begin: BeginRequest) -> list[SumPart]:
        """Have the sites count equivalence classes together; return the helpers' parts of the sum."""
        terms = begin.read()
        vectors = self._request_all("counts", COUNTS, begin, terms).bodies(SealedVector)
        self._require(vectors, [member.site for member in terms.members])
        body = ClassVectors(vectors=vectors)
        parts = self._request_all("tally", COUNTS, body, terms, terms.helps).bodies(SumPart)
        self._require(parts, terms.helps)
        return [parts[site] for site in terms.helps]

    def _request_all(
        self,
        kind: Kind,
        exchange: str,
        body: msgspec.Struct,
        terms: Terms,
        sites: Sequence[str] | None = None,
    ) -> Replies:
        """Send one request to all members, or to some sites; raise RunError unless all respond."""
        asked = sites or [member.site for member in terms.members]
        replies = self.messenger.request(
            kind, 0, exchange, dict.fromkeys(asked, bodies.pack(body)), least=len(asked)
        )
        if replies.missing:
            message = (
                f"{self.plan.name}: sites count equal rows together, so all of them are needed"
                f" ({list_reasons(replies.missing)}); start the plan anew"
            )
            raise build_quorum_error(message, len(asked), len(replies.messages), replies.missing)
        return replies

    def _require(self, found: Mapping[str, object], sites: Sequence[str]) -> None:
        lacking = [site for site in sites if site not in found]
        if lacking:
            raise RunError(
                f"{self.plan.name}: the class counts of {', '.join(lacking)} are malformed; revoke"
                " the site, or ask its owner"
            )

    def _can_begin_without(self, replied: Replies, is_quorum: bool) -> bool:
        """Whether the missing sites only left after they had agreed, and the run needs no signature
        of theirs. Their clients are members that have no rows, so nobody asks them.
        """
        return (
            is_quorum
            and not needs_confirmation(self.plan)
            and all(one.cause == "absent" for one in replied.missing.values())
        )

    @property
    def offer(self) -> Offer:
        """The offer that sites receive."""
        return self.deployment.offer(self.plan, self.sent)

    def _terms(self, name: str, opened: dict[str, OfferResponse]) -> Terms:
        members, first, most = [], 0, max(opened, key=lambda site: opened[site].clients)
        if sum(one.clients for one in opened.values()) > bodies.MAX_CLIENTS:
            raise RunError(
                f"{self.plan.name}: a run has at most {bodies.MAX_CLIENTS:,} clients, and the sites"
                f" say they have more, site {most!r} alone {opened[most].clients:,}; revoke it, or"
                " ask its owner"
            )
        for site, one in opened.items():
            counts = {
                "first": first,
                "clients": one.clients,
                "rows": one.rows,
                "test_rows": one.test_rows,
            }
            members.append(Member(site=site, nonce=one.nonce, measures=one.measures, **counts))
            first += one.clients
        check_sites_agree(self.plan.name, {site: one.seen for site, one in opened.items()})
        seen = merge_statistics([one.seen.statistics() for one in opened.values()])
        projection = fit_own_projection(self.plan, seen, self.draws)
        helps = self._helpers(list(opened))
        for site in helps:
            self._check_helper_key(site, opened[site].helper_key)
        return Terms(
            run=name,
            identity=self.deployment.identity if self.deployment.simulated_noise else None,
            public=self.draws.publish("public").key,
            largest_weight=max(1, self._largest_weight(opened)),
            seen=StatisticsBody.of(seen),
            members=members,
            helpers=[opened[site].helper_key for site in helps],
            helps=helps,
            read_record_key=self.read_record_key,
            projection=ProjectionBody.of(projection) if projection else None,
        )

    def _largest_weight(self, opened: dict[str, OfferResponse]) -> int:
        """The largest weight a client may have: set by the plan, whatever a site says; where rows
        count, the largest that a site reports.

        Raise RunError naming the site whose word no run could use: otherwise every other site would
        refuse the terms and seem to be at fault.
        """
        said = np.array([one.largest_weight for one in opened.values()])
        weights = training.compute_weights(self.plan.server, said)
        most, clients = int(weights.max()), sum(one.clients for one in opened.values())
        site = list(opened)[int(weights.argmax())]
        if most > max(1, opened[site].rows) or clients * most >= MOST_WEIGHT:
            raise RunError(
                f"{self.plan.name}: site {site!r} says that one of its clients has {most:,} rows and"
                f" all together have {opened[site].rows:,}, which cannot be or cannot be counted;"
                " revoke it, or ask its owner"
            )
        return most

    def _check_helper_key(self, site: str, key: bytes) -> None:
        """Raise RunError naming the site: otherwise every other site would refuse the terms later
        and seem to be at fault.
        """
        try:
            secure_aggregation.build_sealer(key)
        except WireError as error:
            raise RunError(
                f"{self.plan.name}: site {site!r} cannot help: {error}; choose other helpers"
                " (--helper)"
            ) from None
        assert self.plan.secure_aggregation is not None
        if secure_aggregation.is_post_quantum(key) != self.plan.secure_aggregation.post_quantum:
            wanted = str(self.plan.secure_aggregation.post_quantum).lower()
            raise RunError(
                f"{self.plan.name}: site {site!r} cannot help: its key is not of the kind that"
                f" secure_aggregation.post_quantum = {wanted} needs; choose other helpers"
                " (--helper)"
            )

    def _helpers(self, sites: list[str]) -> list[str]:
        if self.plan.secure_aggregation is None:
            return []
        wanted = self.deployment.helpers or tuple(sites[: self.plan.secure_aggregation.helpers])
        if len(wanted) != self.plan.secure_aggregation.helpers or any(
            site not in sites for site in wanted
        ):
            count, got = self.plan.secure_aggregation.helpers, ", ".join(wanted) or "none"
            raise RunError(
                f"secure_aggregation.helpers = {count}: name {count} of the sites as helpers;"
                f" the deployment names {got}"
            )
        return list(wanted)


def _remedy(opened: dict[str, OfferResponse]) -> str:
    """What to do about a site that cannot begin, given the sites' responses."""
    columns = find_conflicts([one.seen.statistics().formats for one in opened.values()])
    if not columns:
        return "start the plan anew"
    return (
        f"sites write the numbers of {', '.join(map(repr, columns))} differently, some with a"
        " decimal point, some with a decimal comma: each owner sets decimal in site.toml, then"
        " start the plan anew"
    )


def list_clients_with_rows(terms: Terms, begun: Mapping[str, BeginResponse]) -> Names:
    """The clients that have rows to train on, as their own sites say."""
    found = [np.empty(0, np.int64)]
    for site, one in begun.items():
        own, names = terms.find_member(site), bodies.read_names(one.with_rows)
        found.append(names[(names >= own.first) & (names < own.first + own.clients)])
    return np.concatenate(found)


def begin_at_sites(messenger: Messenger, begin: BeginRequest) -> None:
    """Begin the run at all sites, with each other's confirmations. A site that is absent hears of
    it before it is asked.
    """
    body = bodies.pack(begin)
    sent = {member.site: body for member in begin.read().members}
    least = max(1, messenger.settings.min_sites)
    replies = messenger.request("begin", 0, "begin", sent, least=least)
    check_quorum(messenger, "is ready", replies.messages, replies)
    for site in replies.missing:
        messenger.missed.add_beginning(site, body)


def check_quorum(
    messenger: Messenger, what: str, got: Mapping[str, object], replies: Replies
) -> None:
    """Raise an error, with the reasons of the other sites, if too few sites responded."""
    least = max(1, messenger.settings.min_sites)
    if len(got) < least:
        reasons = list_reasons(replies.missing) or "no site is registered"
        message = f"run {messenger.run}: needs {least} sites, and {len(got)} {what} ({reasons})"
        raise build_quorum_error(message, least, len(got), replies.missing)
