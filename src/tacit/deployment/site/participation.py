"""A run that a site takes part in: what was offered, the site's rows and randomness for it, and its
half once terms are known.

All of it is in a folder of the run, so that a site that was restarted takes the run up where it
was. The folder binds the run's name to one offer and one set of terms for ever: after the run has
ended a tombstone stays, and the name is never used again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tacit import features, training
from tacit import plan as plans
from tacit.assembly.feature_sources import gather_feature_sources
from tacit.assembly.rows import fit_features
from tacit.assembly.secure_sums import draw_helper_key
from tacit.column_statistics.number_format import check_formats
from tacit.deployment import bodies
from tacit.deployment.agenda import Agenda
from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    Offer,
    OfferResponse,
    RecordHead,
    StatisticsBody,
    Terms,
)
from tacit.deployment.confirmation import check_confirmations, run_digest, sign_digest
from tacit.deployment.deployable_plan import refuse_undeployable
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.permission import refuse_too_large, refuse_unless_allowed
from tacit.deployment.site.rows.disclosed_statistics import (
    compute_disclosed_statistics,
    select_disclosed_formats,
)
from tacit.deployment.site.rows.held_out import HeldOut
from tacit.deployment.site.rows.row_release import release_rows
from tacit.deployment.site.rows.site_rows import SiteRows, read_rows
from tacit.deployment.site.site_side import PROMISED, SiteSide, build
from tacit.deployment.site.terms_checks import (
    SiteKnowledge,
    check_sites,
    check_terms,
    own_noise_share,
    refuse_without_peers,
)
from tacit.errors import PlanError, RunError, WireError
from tacit.files import UNFINISHED, replace_file, sync_folder
from tacit.plan import HashComb, Plan
from tacit.plan.toml import tree_of
from tacit.privacy.policy import Policy
from tacit.randomness import Draws

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_OFFER, _TERMS, _ROOT, _ENDED, _CONFIRMED, _AGENDA = (
    "offer",
    "terms",
    "root",
    "ended",
    "confirmed",
    "agenda",
)


@dataclass
class Participation:
    """One run, as far as the site has come with it; `no_counts` says why the limits leave no room
    for noisy counts, if so.
    """

    owner: Owner
    plan: Plan
    plan_hash: bytes
    offer: Offer
    folder: Path
    rows: SiteRows
    built: SiteSide | None = None
    agenda: Agenda = field(init=False)
    no_counts: str = ""
    _allowed_by: Policy | None = field(default=None, repr=False)

    def check_plan(self, plan_hash: bytes) -> None:
        """Raise WireError if a request names another plan than the one the run was opened with."""
        _refuse_other_plan(self.folder.name, self.plan_hash, plan_hash)

    def check_policy(self) -> None:
        """Raise PolicyError if the policy as it is now does not allow the run; asked before every
        answer.

        The plan is judged again only when the policy has changed since it was last judged.
        """
        policy = self.owner.require_policy()
        if policy != self._allowed_by:
            self.no_counts = self._judge(policy, self.built)
            self._allowed_by = policy

    def _judge(self, policy: Policy, built: SiteSide | None) -> str:
        """Raise PolicyError if the policy does not allow the run; return why it leaves no room for
        noisy counts, or nothing.
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
        """Return what the site says to an offer. How many rows it holds out is told exactly only
        where counts are told exactly.
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
        """Take the terms of the run, once and for all, and return what the site says to them.

        It signs the digest of plan and terms. Under a secure aggregation it answers nothing until
        it has seen the same signature of every member it knows.
        """
        begin, before = bodies.unpack(body, BeginRequest), self.folder / _TERMS
        if before.exists() and before.read_bytes() != begin.terms:
            raise WireError(
                f"run {self.folder.name}: began here with other terms, and keeps them; start the"
                " plan as a new run"
            )
        if self.built is None:
            built = self._build(begin.terms)
            if (
                built.encoded.offer is not None
            ):  # which clients keep rows is told below, so what leaves is decided here
                with closing(
                    self.owner.open_ledger(self.owner.require_policy(), self.plan)
                ) as book:
                    release_rows(self.owner, self.folder.name, built, book)
            self.built = built
            replace_file(before, begin.terms)
        digest, site = self._digest(begin.terms), self.built.site
        if self.plan.secure_aggregation is not None and begin.confirmations:
            check_confirmations(self.built.terms, digest, begin.confirmations, self.owner.peers())
            if not (self.folder / _CONFIRMED).exists():
                self.owner.tell(f"run {self.folder.name}: {_trusted(self.built, self.owner.name)}")
            replace_file(self.folder / _CONFIRMED, bodies.pack(begin))
        with_rows = [name for name in site.names if site.weight(site.slot(name))]
        return BeginResponse(
            dim=self.built.learner.size,
            with_rows=np.array(with_rows, "<i8").tobytes(),
            confirmation=sign_digest(self.owner.signs_with, self.owner.name, digest),
        )

    def load_side(self) -> SiteSide:
        """Return the site's half of the run; after a restart it is built again."""
        terms = self.folder / _TERMS
        if not terms.exists():
            raise RunError(f"run {self.folder.name}: has not begun here")
        if self.built is None:
            self.built = self._build(terms.read_bytes())
        if self.plan.secure_aggregation is not None:
            self._check_sites(self.built, terms.read_bytes())
        return self.built

    def _check_sites(self, built: SiteSide, body: bytes) -> None:
        """Raise WireError or PolicyError unless helpers and members are peers, as the owner knows
        them now, and confirmed it.
        """
        confirmed, known = self.folder / _CONFIRMED, self._known()
        check_sites(
            self.owner.require_policy(), self.plan, built.terms, built.describe_aggregation(), known
        )
        if not confirmed.exists():
            raise WireError(
                "the other sites have not confirmed the plan and terms to this site, so it sends no"
                " update and helps nobody"
            )
        confirmations = bodies.unpack(confirmed.read_bytes(), BeginRequest).confirmations
        check_confirmations(built.terms, self._digest(body), confirmations, known.peers)

    def root(self) -> Draws:
        """Return the root of the run's randomness here."""
        return _root(self.plan, self.simulated_noise, self.folder)

    def _digest(self, terms: bytes) -> str:
        return run_digest(self.folder.name, self.offer, terms)

    def _known(self) -> SiteKnowledge:
        """Return what the site knows for itself, and has not from the server."""
        root, owner = self.root(), self.owner
        return SiteKnowledge(
            site=owner.name,
            nonce=root.sealed("nonce", owner.name).key,
            helper_key=draw_helper_key(self.plan, root, owner.name).public(),
            peers=owner.peers(),
            helpers=owner.helpers(),
        )

    def _build(self, body: bytes) -> SiteSide:
        terms, known = BeginRequest(terms=body).read(), self._known()
        own, here = terms.find_member(self.owner.name), len(self.rows.owners)
        if own.clients != here:
            raise WireError(
                f"terms refused: this site has {here:,} clients, the terms say {own.clients:,}"
            )
        check_terms(self.plan, terms, known, self.simulated_noise)
        # Against what was told: a refusal must not show how the cells of fewer clients are written.
        check_formats(
            select_disclosed_formats(
                self.plan, self.rows.table.habits, self.owner.require_policy().limits
            ),
            terms.seen.statistics().formats,
        )
        self._refuse_too_large(terms)
        built = build(
            self.plan,
            self.rows,
            terms,
            self._digest(body),
            self.owner.name,
            self.root(),
            self.folder,
            self.owner.peers,
            self.simulated_noise,
        )
        if self.plan.secure_aggregation is not None:
            check_sites(
                self.owner.require_policy(), self.plan, terms, built.describe_aggregation(), known
            )
        built.site.key = self.owner.signs_with
        policy = self.owner.require_policy()
        self.no_counts = self._judge(policy, built)
        self._allowed_by = policy
        self.agenda = Agenda(
            self.plan, list(built.exchanges), self.offer.measures, self.folder / _AGENDA
        )
        return built

    def _refuse_too_large(self, terms: Terms) -> None:
        """Raise PolicyError if the model that plan and terms imply exceeds the owner's limits,
        before it is built.
        """
        plan, columns = self.plan, self.rows.table.columns
        sources = gather_feature_sources(columns, plan.features)
        fitted = fit_features(terms.seen.statistics(), columns, plan.features, sources)
        inputs = (
            features.count_inputs(columns, plan.features, fitted)
            if plan.features.text not in ("words", "pieces")
            else 0
        )
        largest = int(self.rows.clients.sizes().max(initial=0))
        refuse_too_large(
            self.owner.require_policy(), plan, inputs, len(terms.seen.classes), largest
        )


def open_run(owner: Owner, run: str, body: bytes, plan_hash: bytes) -> Participation:
    """Return a run that is offered, if the policy allows it; only then are rows read.

    The offer is kept, and the run's name is bound to it: raise WireError if the name was offered
    with other bytes before, and RunError if the run has ended here.
    """
    kept = load_offer(owner, run)
    if kept is not None and kept != body:
        _refuse_other_plan(run, _hash_of(bodies.unpack(kept, Offer)), plan_hash)
        raise WireError(
            f"run {run}: was opened here with another offer, and keeps it; start the plan as a"
            " new run"
        )
    offer = bodies.unpack(body, Offer)
    plan = read_plan(offer, plan_hash)
    policy = owner.require_policy()
    no_counts = refuse_unless_allowed(
        policy, plan, offer.simulated_noise, unit=owner.unit, measured=offer.measures
    )
    refuse_without_peers(plan, owner.name, owner.peers())
    folder = find_run_folder(owner, run)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if isinstance(plan.codec, HashComb) and plan.codec.agreed is not None:
        plan = replace(plan, codec=replace(plan.codec, agreed=owner.agreed or plan.codec.agreed))
    held_out = None if offer.simulated_noise else HeldOut(owner.folder, owner.secret)
    try:
        rows = read_rows(
            plan, owner, policy.limits, _root(plan, offer.simulated_noise, folder), held_out
        )
    except BaseException:
        if kept is None:
            (folder / _ROOT).unlink(missing_ok=True)  # the run does not come to be here
        raise
    if kept is None:
        replace_file(folder / _OFFER, body)
    return Participation(
        owner, plan, plan_hash, offer, folder, rows, no_counts=no_counts, _allowed_by=policy
    )


def reopen_run(owner: Owner, run: str, plan_hash: bytes) -> Participation:
    """Return a run from before a restart, if the policy still allows it."""
    body = load_offer(owner, run)
    if body is None:
        raise RunError(f"run {run}: was never opened here")
    _refuse_other_plan(run, _hash_of(bodies.unpack(body, Offer)), plan_hash)
    return open_run(owner, run, body, plan_hash)


def load_plan(owner: Owner, run: str, plan_hash: bytes) -> Plan | None:
    """Return the plan a run was opened with; None if it never was. Raise WireError if a request
    names another plan.
    """
    body = load_offer(owner, run)
    if body is None:
        return None
    offer = bodies.unpack(body, Offer)
    _refuse_other_plan(run, _hash_of(offer), plan_hash)
    return read_plan(offer, plan_hash)


def load_offer(owner: Owner, run: str) -> bytes | None:
    """Return the offer that a run's name is bound to; None if there is none. Raise RunError if the
    run has ended here.
    """
    folder = find_run_folder(owner, run)
    if (folder / _ENDED).exists():
        raise RunError(
            f"run {run}: has ended here, and its name is not used again; start the plan as a"
            " new run"
        )
    return (folder / _OFFER).read_bytes() if (folder / _OFFER).exists() else None


def has_ended(owner: Owner, run: str) -> bool:
    """Return whether a run has ended here."""
    return (find_run_folder(owner, run) / _ENDED).exists()


def end(owner: Owner, run: str, record: dict[str, object] | None = None) -> None:
    """Let go of a run: nothing more is answered for it, and nobody can repeat its noise. Private
    parts of models stay.

    A tombstone stays too, on the disk before anything is removed: the hashes of the run's offer and
    terms, and how the server's record ended, if it said so.
    """
    folder = find_run_folder(owner, run)
    kept = {name: folder / name for name in (_OFFER, _TERMS)}
    hashes = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in kept.items()
        if path.exists()
    }
    replace_file(
        folder / _ENDED, json.dumps({**hashes, **({"record": record} if record else {})}).encode()
    )
    for path in (folder / _OFFER, folder / _ROOT, *folder.glob(f".*{UNFINISHED}")):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / PROMISED, ignore_errors=True)
    sync_folder(folder)


def forget(owner: Owner, run: str) -> None:
    """End a run at its owner's wish, as if the server had ended it; its charges stay. Raise
    RunError if it is not open here.
    """
    if run not in list_open_runs(owner):
        raise RunError(f"run {run}: is not open here; `tacit site status` lists the runs that are")
    body = load_offer(owner, run)
    if body is not None:
        offer = bodies.unpack(body, Offer)
        with closing(
            owner.open_ledger(owner.policy() or Policy(), read_plan(offer, _hash_of(offer)))
        ) as book:
            book.drop_responses(run)
    end(owner, run)


def list_open_runs(owner: Owner) -> list[str]:
    """Return the runs that have not ended here: the site has a key for each, and answers as its
    policy allows.
    """
    folders = sorted((owner.folder / "runs").glob("*"))
    return [
        folder.name
        for folder in folders
        if not (folder / _ENDED).exists() and _holds_any(folder, _OFFER, _ROOT)
    ]


def list_ended_runs(owner: Owner) -> dict[str, dict[str, object]]:
    """Return how the server's record of each ended run ended, where the server said so: its key,
    length and head.
    """
    found = {}
    for path in sorted((owner.folder / "runs").glob(f"*/{_ENDED}")):
        kept = json.loads(path.read_bytes())
        if "record" in kept:
            found[path.parent.name] = kept["record"]
    return found


def _holds_any(folder: Path, *names: str) -> bool:
    return any((folder / name).exists() for name in names)


def check_record_head(owner: Owner, run: str, body: bytes) -> tuple[dict[str, object] | None, str]:
    """Return what is kept of how the server's record ended, and a sentence about it for the owner.

    `body` is that of the server's request to end the run: the record's head, signed with the key in
    the run's terms.
    """
    terms = find_run_folder(owner, run) / _TERMS
    key = BeginRequest(terms=terms.read_bytes()).read().record_key.hex() if terms.exists() else ""
    if not body or not key:
        return None, "the server gave no head of its record"
    try:
        head = bodies.unpack(body, RecordHead).signed()
    except WireError:
        return None, "what the server gave as the head of its record is none"
    if not head.is_by(key):
        return (
            None,
            f"the head of the server's record is NOT signed with the key of its terms, {key}",
        )
    kept: dict[str, object] = {"key": key, "length": head.length, "head": head.head}
    return (
        kept,
        (
            f"the server's record ends in {head.head} after {head.length:,} bytes, signed with key"
            f" {key}"
        ),
    )


def read_plan(offer: Offer, digest: bytes) -> Plan:
    """Return the plan of an offer; raise WireError or PlanError if it is another, or one that sites
    cannot run.
    """
    if _hash_of(offer) != digest:
        raise WireError("offer refused: the plan in it does not match its hash")
    try:
        tree = tree_of(offer.plan)
    except ValueError as error:
        raise PlanError(f"offer refused: its plan is no valid TOML ({error})") from None
    plan = plans.parse(tree)
    plans.check(plan)
    refuse_undeployable(plan, offer.simulated_noise)
    return plan


def find_run_folder(owner: Owner, run: str) -> Path:
    """Return where a site keeps what belongs to a run."""
    if not _NAME.fullmatch(run):
        raise WireError(
            "letter refused: needs a run's name of ASCII letters, digits and dashes, so that no"
            f" two look alike, got {run!a}"
        )
    return owner.folder / "runs" / run


def _hash_of(offer: Offer) -> bytes:
    return hashlib.sha256(offer.plan.encode()).digest()


def _refuse_other_plan(run: str, bound: bytes, asked: bytes) -> None:
    if asked != bound:
        raise WireError(
            f"run {run}: was opened here with plan {bound.hex()[:16]}, and this request is about"
            f" plan {asked.hex()[:16]}; a run keeps its plan: start the other plan as a new run"
        )


def _trusted(built: SiteSide, site: str) -> str:
    """A sentence for the owner on who could read updates, and on whose noise hides them."""
    terms, sums, who = built.terms, built.describe_aggregation(), " and ".join(built.terms.helps)
    said = (
        "the sites confirmed its plan and terms; updates stay hidden unless the server and all its"
        f" helpers ({who}) collude"
    )
    if not sums.noise_by_clients and len(terms.helps) == 1 and site not in terms.helps:
        return (
            f"{said}; {who} alone can take its noise and its own clients' updates off the sum,"
            " which leaves the sum of the others"
        )
    if not sums.noise_by_clients:
        return said
    share = own_noise_share(terms, sums, site)
    return (
        f"{said}; your own clients make {share:.2g} of the noise, the rest is that of clients that"
        " other sites say they have"
    )


def _root(plan: Plan, simulated_noise: bool, folder: Path) -> Draws:
    """Return the root of a run's randomness: from the operating system, kept so that a restart
    changes nothing.
    """
    if simulated_noise:
        return Draws.seeded(plan.seed)
    path = folder / _ROOT
    if not path.exists():
        replace_file(path, os.urandom(32))
        path.chmod(0o600)
    key = path.read_bytes()
    if len(key) != 32:
        raise RunError(
            f"{path}: needs 32 bytes, got {len(key)}; it was damaged, and this run cannot go on"
            " here"
        )
    return Draws(key)
