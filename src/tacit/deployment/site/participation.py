"""A run that a site takes part in: the offer, the site's rows and randomness, and its side of the
run once the terms are known.

Everything is stored in the folder of the run (`stored_runs`), so that a restarted site continues
where it was.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit import features, training
from tacit.assembly.feature_sources import gather_feature_sources
from tacit.assembly.negotiated import NegotiatedCodec, apply_agreed
from tacit.assembly.rows import fit_features
from tacit.assembly.secure_sums import draw_helper_key
from tacit.column_statistics.number_format import check_formats
from tacit.deployment import bodies
from tacit.deployment.agenda import Agenda, needs_counts
from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    Offer,
    OfferResponse,
    StatisticsBody,
    Terms,
)
from tacit.deployment.confirmation import (
    check_confirmations,
    needs_confirmation,
    run_digest,
    sign_digest,
)
from tacit.deployment.shared_projection import check_encoder, check_projection
from tacit.deployment.site import client_parts
from tacit.deployment.site.approval.approvals import is_still_approved
from tacit.deployment.site.approval.permission import (
    refuse_too_large,
    refuse_unless_allowed,
)
from tacit.deployment.site.approval.run_approval import require_run_approval
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.changed_rows import RowsWatch
from tacit.deployment.site.rows.class_counts import CountingSite
from tacit.deployment.site.rows.disclosed_statistics import (
    compute_disclosed_statistics,
    select_disclosed_formats,
)
from tacit.deployment.site.rows.row_release import release_rows
from tacit.deployment.site.rows.site_rows import SiteRows
from tacit.deployment.site.site_negotiation import (
    SiteNegotiation,
    load_negotiated,
    refuse_strangers,
)
from tacit.deployment.site.site_side import SiteSide, build
from tacit.deployment.site.stored_runs import (
    AGENDA,
    CONFIRMED,
    TERMS,
    check_stored_confirmations,
    load_offer,
    load_root,
    refuse_other_plan,
)
from tacit.deployment.site.terms_checks import (
    SiteKnowledge,
    check_sites,
    check_terms,
    describe_trust,
)
from tacit.errors import RequestError, RunError, WireError
from tacit.files import replace_file
from tacit.plan import Plan
from tacit.privacy.policy import Policy
from tacit.randomness import Draws
from tacit.runs.client_numbers import store_clients


@dataclass
class Participation:
    """One run at a site. `watch` notices rows that changed since the run was opened. `no_counts`
    says why the policy's limits leave no budget for noisy counts; empty if they do. `approved` is the
    hash of what the owner approved; empty if the policy does not ask.
    """

    owner: Owner
    plan: Plan
    plan_hash: bytes
    offer: Offer
    folder: Path
    rows: SiteRows
    watch: RowsWatch
    built: SiteSide | None = None
    agenda: Agenda = field(init=False)
    no_counts: str = ""
    approved: str = ""
    allowed_by: Policy | None = field(default=None, repr=False)
    _erased: frozenset[bytes] = frozenset()
    _unapproved: dict[bytes, SiteSide] = field(default_factory=dict, repr=False)

    def check_plan(self, plan_hash: bytes) -> None:
        """Raise WireError if a request names another plan than the one the run was opened with."""
        refuse_other_plan(self.folder.name, self.plan_hash, plan_hash)

    def check_policy(self) -> None:
        """Raise PolicyError if the current policy does not allow the run, or its owner refused it;
        RequestError if the owner has yet to decide. Called before every response.

        The plan is checked again only if the policy or the owner's decision has changed.
        """
        policy = self.owner.require_policy()
        if policy != self.allowed_by or not self._is_still_approved(policy):
            self._allow(policy, self.built)

    def _is_still_approved(self, policy: Policy) -> bool:
        return policy.approve != "ask" or is_still_approved(
            self.owner, self.folder.name, self.approved
        )

    def _allow(self, policy: Policy, built: SiteSide | None) -> None:
        """Check the run against a policy, and that its owner approved it if the policy asks."""
        self.no_counts = self._judge(policy, built)
        if policy.approve == "ask":
            body = load_offer(self.owner, self.folder.name) or b""
            self.approved = require_run_approval(
                self.owner, policy, self.folder.name, body, self.plan, built
            )
        self.allowed_by = policy

    def _judge(self, policy: Policy, built: SiteSide | None) -> str:
        """Raise PolicyError if the policy does not allow the run; return why it leaves no budget
        for noisy counts, or an empty string.
        """
        unit, measured = self.owner.unit, self.offer.measures
        return refuse_unless_allowed(
            policy, self.plan, self.simulated_noise, built, unit=unit, measured=measured
        )

    @property
    def simulated_noise(self) -> bool:
        """Whether noise comes from the plan's seed, as in a simulation."""
        return self.offer.simulated_noise

    def respond_to_offer(self) -> OfferResponse:
        """The site's response to an offer. The number of held-out rows is exact only where the
        policy allows exact counts.
        """
        plan, rows, sizes = self.plan, self.rows, self.rows.clients.sizes()
        answer = (
            self.owner.require_policy().measures.counts
            if self.offer.measures and not self.no_counts
            else "off"
        )
        held = rows.table.test.height or round(plan.data.local_test * len(rows.clients.order))
        if answer != "exact":
            held = round(
                len(rows.clients.order)
                * (plan.data.test / (1 - plan.data.test) or plan.data.local_test)
            )
        return OfferResponse(
            clients=len(sizes),
            rows=len(rows.clients.order),
            test_rows=held,
            measures=answer,
            largest_weight=max(1, int(training.compute_weights(plan.server, sizes).max(initial=1))),
            seen=StatisticsBody.of(
                compute_disclosed_statistics(plan, rows, self.owner.require_policy())
            ),
            nonce=self._known().nonce,
            helper_key=self._known().helper_key,
        )

    def begin(self, body: bytes) -> BeginResponse:
        """Store the terms of the run, once and for all, and respond to them with a signature on the
        digest of plan and terms.

        Under secure aggregation the site sends nothing else until it has seen the same signature of
        every member it knows. Raises RequestError if it does not accept the terms.
        """
        self.watch.check()
        try:
            return self._begin(bodies.unpack(body, BeginRequest))
        except RequestError:
            raise
        except WireError as error:
            raise RequestError("terms", str(error)) from None

    def _begin(self, begin: BeginRequest) -> BeginResponse:
        before = self.folder / TERMS
        if before.exists() and before.read_bytes() != begin.terms:
            raise WireError(
                f"run {self.folder.name} began here with other terms; start the plan as a new run"
            )
        if needs_counts(self.plan) and not self._has_counts(begin):
            return self._accept_terms(begin.terms)
        if self.built is None:
            built = self._build(begin.terms, self._load_negotiated())
            # The response below reveals which clients keep rows, so the release is decided here.
            if built.encoded.offer is not None:
                with closing(
                    self.owner.open_ledger(self.owner.require_policy(), self.plan)
                ) as book:
                    release_rows(self.owner, self.folder.name, built, book)
            self.built = built
            replace_file(before, begin.terms)
        digest, site = self._digest(begin.terms), self.built.site
        if needs_confirmation(self.plan) and begin.confirmations:
            check_confirmations(self.built.terms, digest, begin.confirmations, self.owner.peers())
            is_new = not (self.folder / CONFIRMED).exists()
            if is_new and self.plan.secure_aggregation is not None:
                trust = describe_trust(
                    self.built.terms, self.built.describe_aggregation(), self.owner.name
                )
                self.owner.tell(f"run {self.folder.name}: {trust}")
            kept = BeginRequest(terms=begin.terms, confirmations=begin.confirmations)
            replace_file(self.folder / CONFIRMED, bodies.pack(kept))
        with_rows = [name for name in site.names if site.weight(site.slot(name))]
        return BeginResponse(
            dim=self.built.learner.size,
            with_rows=np.array(with_rows, "<i8").tobytes(),
            confirmation=sign_digest(self.owner.signs_with, self.owner.name, digest),
        )

    def _has_counts(self, begin: BeginRequest) -> bool:
        """Take over the class counts of all sites, if the request has them; whether there are any."""
        if self.built is None and begin.parts:
            self.rows = self.rows._replace(sums=self.build_counting().accept(begin.parts))
        return self.built is not None or bool(begin.parts)

    def _accept_terms(self, terms: bytes) -> BeginResponse:
        """Store terms under which sites first count classes together, and confirm them; nothing is
        built or disclosed yet.
        """
        self._check_terms(terms)
        self.build_counting(terms).check_members()
        replace_file(self.folder / TERMS, terms)
        confirmation = sign_digest(self.owner.signs_with, self.owner.name, self._digest(terms))
        return BeginResponse(dim=0, with_rows=b"", confirmation=confirmation)

    def build_counting(self, terms: bytes | None = None) -> CountingSite:
        """This site's part in counting classes over all sites, under the terms of the run."""
        if not needs_counts(self.plan):
            raise WireError("request refused: the plan counts no classes over all sites")
        if terms is None and not (self.folder / TERMS).exists():
            raise RunError(f"run {self.folder.name} has not begun here")
        body = (self.folder / TERMS).read_bytes() if terms is None else terms
        return CountingSite(
            owner=self.owner,
            plan=self.plan,
            terms=BeginRequest(terms=body).read(),
            digest=self._digest(body),
            rows=self.rows,
            root=self.root(),
            folder=self.folder,
        )

    def load_side(self, *, negotiated: bool = True) -> SiteSide:
        """The site's side of the run; built again after a restart. Raise RequestError if the sites
        have not negotiated what the plan says, unless `negotiated` is false.
        """
        terms = self.folder / TERMS
        if not terms.exists():
            raise RunError(f"run {self.folder.name} has not begun here")
        agreed = self._load_negotiated()
        if negotiated and self.plan.negotiation is not None and agreed is None:
            raise RequestError(
                "order", f"run {self.folder.name}: the sites have not negotiated yet"
            )
        if self.built is None:
            if needs_counts(self.plan):
                sums = self.build_counting().load()
                self.rows = self.rows._replace(sums=sums)
            self.built = self._build(terms.read_bytes(), agreed)
        if needs_confirmation(self.plan):
            self._check_sites(self.built, terms.read_bytes())
        return self.built

    def negotiate(self, step: str, received: list[bytes]) -> bytes:
        """This site's message in a step of the negotiation."""
        message = self.build_negotiation().answer(step, received)
        if self._load_negotiated() is not None:
            self.built = None  # built again with what was agreed
        return message

    def build_negotiation(self) -> SiteNegotiation:
        """This site's part in the negotiation, under the terms of the run."""
        body = (self.folder / TERMS).read_bytes()
        return SiteNegotiation(
            plan=self.plan,
            owner=self.owner,
            terms=BeginRequest(terms=body).read(),
            digest=self._digest(body),
            folder=self.folder,
            root=self.root(),
            simulated=self.simulated_noise,
            build_side=lambda negotiated: self._build(body, negotiated),
            select_present=self.load_side(negotiated=False).select_present,
        )

    def _load_negotiated(self) -> NegotiatedCodec | None:
        agreed = load_negotiated(self.folder)
        return None if agreed is None else apply_agreed(self.plan, agreed)

    def leave_out(self, erased: frozenset[bytes]) -> None:
        """Delete what this run keeps of erased clients, which do not respond from now on."""
        if erased != self._erased:
            self.load_side(negotiated=False).leave_out(
                lambda name: self.owner.pseudonym(name) in erased
            )
            client_parts.delete_parts(self.folder, erased)
            self._erased = erased

    def _check_sites(self, built: SiteSide, body: bytes) -> None:
        """Raise WireError or PolicyError unless all helpers and members are current peers of the
        owner and have confirmed the terms.
        """
        known = self._known()
        if self.plan.secure_aggregation is not None:
            policy, sums = self.owner.require_policy(), built.describe_aggregation()
            check_sites(policy, self.plan, built.terms, sums, known)
        if self.plan.negotiation is not None:
            refuse_strangers(built.terms, [*known.peers])
        check_stored_confirmations(self.folder, built.terms, self._digest(body), known.peers)

    def root(self) -> Draws:
        """The root of the run's randomness at this site."""
        return load_root(self.plan, self.simulated_noise, self.folder)

    def _digest(self, terms: bytes) -> str:
        return run_digest(self.folder.name, self.offer, terms)

    def _known(self) -> SiteKnowledge:
        """What the site knows without the server."""
        root, owner = self.root(), self.owner
        return SiteKnowledge(
            site=owner.name,
            nonce=root.sealed("nonce", owner.name).key,
            helper_key=draw_helper_key(self.plan, root, owner.name).public(),
            peers=owner.peers(),
            helpers=owner.helpers(),
        )

    def _check_terms(self, body: bytes) -> Terms:
        """Read a run's terms; raise WireError or PolicyError unless they match what the site knows,
        before anything is built.
        """
        terms, known = BeginRequest(terms=body).read(), self._known()
        own, here = terms.find_member(self.owner.name), len(self.rows.owners)
        if own.clients != here:
            raise WireError(
                f"terms refused: this site has {here:,} clients, but the terms say {own.clients:,}"
            )
        check_terms(self.plan, terms, known, self.simulated_noise)
        # Compare with what was disclosed: a refusal must not reveal how cells of fewer clients
        # are written.
        check_formats(
            select_disclosed_formats(
                self.plan, self.rows.table.habits, self.owner.require_policy().limits
            ),
            terms.seen.statistics().formats,
        )
        self._refuse_too_large(terms)
        return terms

    def _build(self, body: bytes, negotiated: NegotiatedCodec | None) -> SiteSide:
        terms, known = self._check_terms(body), self._known()
        built = self._unapproved.get(body) or build(
            self.plan,
            self.rows,
            terms,
            self._digest(body),
            self.owner.name,
            self.root(),
            self.folder,
            self.owner.peers,
            self.simulated_noise,
            negotiated,
        )
        self._unapproved = {body: built}  # the server asks again and again while the owner decides
        if self.plan.negotiation is not None:
            refuse_strangers(terms, [*known.peers])
        if self.plan.secure_aggregation is not None:
            check_sites(
                self.owner.require_policy(), self.plan, terms, built.describe_aggregation(), known
            )
        built.site.key = self.owner.signs_with
        first = terms.find_member(self.owner.name).first
        people = [*map(self.owner.pseudonym, self.rows.owners)]
        store_clients(self.folder, first, people)
        self._erased = frozenset()
        self._allow(self.owner.require_policy(), built)
        self._unapproved.clear()
        self.agenda = Agenda(
            self.plan,
            list(built.exchanges),
            self.offer.measures,
            self.folder / AGENDA,
            lambda name, round_no: built.exchanges[name].takes_place(round_no),
        )
        return built

    def _refuse_too_large(self, terms: Terms) -> None:
        """Raise PolicyError if the model implied by plan and terms exceeds the owner's limits,
        before it is built.
        """
        plan, columns = self.plan, self.rows.table.columns
        if plan.statistics is not None:
            return  # their size follows from the plan alone, which the policy was asked about
        projection = terms.read_projection()
        sources = gather_feature_sources(columns, plan.features, projection=projection)
        image_reader, text_reader = features.split_reader(sources.reader)
        check_encoder(terms.seen.encoder, text_reader.digest if text_reader else "")
        width = image_reader.width if image_reader else terms.seen.pixels
        check_projection(plan, projection, width)
        fitted = fit_features(plan, terms.seen.statistics(), columns, sources)
        inputs = (
            features.count_inputs(columns, plan.features, fitted)
            if plan.features.text not in ("words", "pieces")
            else 0
        )
        largest = int(self.rows.clients.sizes().max(initial=0))
        refuse_too_large(self.owner.require_policy(), plan, inputs, len(fitted.classes), largest)
