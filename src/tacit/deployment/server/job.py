"""A whole run between sites: offered, begun, continued from the last checkpoint, and ended."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from tacit import features
from tacit import plan as plans
from tacit.assembly.own_parts import check_own_parts
from tacit.assembly.run_files import open_desk, store_model, write_beginning
from tacit.deployment import bodies
from tacit.deployment.bodies import BeginRequest, RecordHead, Terms
from tacit.deployment.confirmation import run_digest
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.server.absence.missed_requests import MissedRequests
from tacit.deployment.server.absence.missing_replies import ApprovalOutcome, MissingReply
from tacit.deployment.server.delivery import deliver, prepare_delivery
from tacit.deployment.server.disclosed_rows import collect_rows
from tacit.deployment.server.handshake import Deployment, Handshake, begin_at_sites
from tacit.deployment.server.messenger import Messenger, RequestSettings, SiteTransport
from tacit.deployment.server.negotiation_relay import relay_negotiation
from tacit.deployment.server.receipts import Receipts
from tacit.deployment.server.sent_plan import load_sent_plan, store_sent_plan
from tacit.deployment.server.server_side import ServerInputs, ServerSide
from tacit.errors import RunError, TacitError, UndecidedError
from tacit.files import replace_file
from tacit.plan import Plan
from tacit.privacy.statement.prose_rows import describe_class_names
from tacit.protocol import loop
from tacit.protocol.loop import Desk
from tacit.protocol.observer import Observer, Silence
from tacit.randomness import Draws
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.fingerprint import Fingerprints, fingerprint_plan
from tacit.runs.record import RUN
from tacit.runs.recovery import build_abandoned_error, recover
from tacit.runs.run_keys import ROOT, delete_keys, make_key, read_key, read_record_key

DEPLOYMENT, TERMS, WITH_ROWS = "deployment.json", "terms.bin", "clients_with_rows.bin"
_SECONDS_TO_END = 30.0


@dataclass(frozen=True, kw_only=True)
class Sites:
    """How sites are reached, and the public keys they sign with."""

    transport: SiteTransport
    keys: Mapping[str, EllipticCurvePublicKey]
    settings: RequestSettings


def deploy(
    plan: Plan,
    sites: Sites,
    root: Path = Path("runs"),
    observer: Observer | None = None,
    **settings: object,
) -> Path:
    """Run a plan between sites to its end in a new folder and return the folder; `settings` are
    those of `Deployment`.
    """
    place = prepare(plan, root, **settings)
    try:
        return resume(place, sites, observer)
    except UndecidedError:
        raise
    except TacitError:
        forget_unbegun(place)
        raise


def prepare(plan: Plan, root: Path, **settings: object) -> Path:
    """Create the folder of a run between sites; `resume` begins it."""
    plans.check(plan)
    plan = plans.pin_own_parts(prepare_for_sites(plan, bool(settings.get("simulated_noise"))))
    check_own_parts(plan)
    place = run_folder.create(plan, root)
    stem = (
        re.sub(r"[^A-Za-z0-9_-]", "", place.name).lstrip("-_") or "run"
    )  # sites take no other letters
    deployment = Deployment(run=f"{stem}-{os.urandom(4).hex()}", **settings)  # type: ignore[arg-type]
    store_sent_plan(place, run_folder.read_plan(place))
    replace_file(place / DEPLOYMENT, json.dumps(asdict(deployment)).encode())
    return place


def has_begun(place: Path) -> bool:
    """Whether removing a run's folder would lose something: a model, or a record of what sites
    disclosed.
    """
    try:
        return (place / checkpoint.NAME).exists() or bool(
            record.select_entries(list(run_folder.entries(place)), record.Released)
        )
    except RunError:
        return True  # a damaged record is an account too


def forget_unbegun(place: Path) -> None:
    """Remove the folder of a run in which nothing was trained."""
    if not has_begun(place):
        run_folder.remove(place)


def is_deployed(place: Path) -> bool:
    """Whether a folder is that of a run between sites."""
    return (place / DEPLOYMENT).exists()


def resume(place: Path, sites: Sites, observer: Observer | None = None) -> Path:
    """Continue a run from its last checkpoint to its end; a finished run is left as it is."""
    run_folder.refuse_links(place)
    if not is_deployed(place):
        raise RunError(
            f"{place}: is no run between sites (no {DEPLOYMENT}); `tacit resume` goes on with a"
            " simulation"
        )
    tree = json.loads((place / DEPLOYMENT).read_bytes())
    named = {name: tuple(tree[name]) for name in ("helpers", "sites")}
    deployment = Deployment(**{**tree, **named})
    observer = observer or Silence()
    with run_folder.lock(place):
        run_folder.remove_unfinished(place)
        observer.opened(place)
        return DeployedJob(place, run_folder.read_plan(place), sites, deployment, observer).run()


class DeployedJob:
    """One run between sites, in one folder of the server."""

    def __init__(
        self, place: Path, plan: Plan, sites: Sites, deployment: Deployment, observer: Observer
    ) -> None:
        self.place, self.plan, self.deployment, self.observer = place, plan, deployment, observer
        self.sent = load_sent_plan(place)
        hashed = hashlib.sha256(self.sent.text.encode()).digest()
        self.messenger = Messenger(
            sites.transport,
            sites.settings,
            deployment.run,
            hashed,
            sites.keys,
            Receipts(place),
            MissedRequests(place),
        )
        self.messenger.on_state = observer.site
        self.messenger.on_missing = self._note_missing
        self.messenger.on_decided = self._note_decision
        self.messenger.on_rejected = lambda site, why: self._note(_refused(f"site {site}", why))
        self._desk: Desk | None = None
        self._unwritten = list[record.Entry]()

    @cached_property
    def draws(self) -> Draws:
        """The server's own randomness; its root is kept only while the run can go on."""
        if self.deployment.simulated_noise:
            return Draws.seeded(self.plan.seed)
        begun = (self.place / TERMS).exists()
        return Draws(
            read_key(self.place, ROOT)
            if begun or (self.place / ROOT).exists()
            else make_key(self.place, ROOT)
        )

    def run(self) -> Path:
        """Run what remains."""
        found = recover(self.place, self.plan, [RUN])
        if found.is_abandoned or found.is_finished:
            if found.is_finished:
                self._prepare_delivery()
            delete_keys(self.place)  # a kill may have come between
            if (self.place / TERMS).exists():
                self._end(bodies.unpack((self.place / TERMS).read_bytes(), BeginRequest).read())
            if found.is_abandoned:
                raise build_abandoned_error(self.place)
            return self.place
        key = read_record_key(self.place)
        handshake = Handshake(
            self.messenger,
            self.plan,
            self.sent,
            self.deployment,
            self.draws,
            key.public_key().public_bytes_raw(),
        )
        is_resumed = (self.place / TERMS).exists()
        if not is_resumed:
            body, with_rows = handshake.agree_on_terms(self.place.name)
            replace_file(self.place / WITH_ROWS, with_rows.astype("<i8").tobytes())
            replace_file(self.place / TERMS, body)
        begin = bodies.unpack((self.place / TERMS).read_bytes(), BeginRequest)
        digest = run_digest(self.deployment.run, handshake.offer, begin.terms)
        prints = Fingerprints(
            plan=fingerprint_plan(self.plan),
            data=hashlib.sha256(begin.terms).hexdigest(),
            identity=begin.read().identity or digest,
        )
        with open_desk(self.place, found, prints, self.observer) as desk:
            self._run(desk, begin, digest, found.last, is_resumed)
        return self.place

    def _note(self, *entries: record.Entry) -> None:
        """Add entries to the record, or keep them until its beginning is written."""
        if self._desk is None:
            self._unwritten += entries
        else:
            self._desk.note(*entries)

    def _note_missing(self, round_no: int, exchange: str, site: str, why: MissingReply) -> None:
        entry = record.SiteMissing(
            arm=RUN,
            round_no=round_no,
            exchange=exchange,
            site=site,
            cause=why.cause,
            reason=why.reason,
            seconds=round(why.seconds, 3),
        )
        self._note(entry)

    def _note_decision(
        self, exchange: str, site: str, outcome: ApprovalOutcome, seconds: float
    ) -> None:
        self._note(
            record.OwnerDecided(
                arm=RUN,
                round_no=0,
                exchange=exchange,
                site=site,
                outcome=outcome,
                seconds=round(seconds, 3),
            )
        )

    def _use_record(self, desk: Desk) -> None:
        """Write the entries that were kept, and write further ones at once."""
        self._desk, kept, self._unwritten = desk, self._unwritten, []
        desk.note(*kept)
        desk.writer.sync()

    def _run(
        self,
        desk: Desk,
        begin: BeginRequest,
        digest: str,
        last: Checkpoint | None,
        is_resumed: bool,
    ) -> None:
        if last is not None:
            self._use_record(desk)
        terms = begin.read()
        begin_at_sites(self.messenger, begin)
        relay_negotiation(self.messenger, self.plan, terms, self.place)
        with_rows = bodies.read_names((self.place / WITH_ROWS).read_bytes())
        side = ServerSide(self.plan, terms, digest, self.messenger, with_rows, self._given(terms))
        if is_resumed:  # the round under way, and the next one if its model was measured
            side.carrier.asked_before = (last.progress.round_no if last else 0) + 2
        if last is None:
            self._open(desk, side)
            self._use_record(desk)
            now = loop.start_arm(side.arm, desk, terms.clients)
            if side.warm_started:
                desk.note(side.warm_started)
        else:
            now = last
        now = loop.run_rounds(side.arm, desk, side.carrier, now)
        self._finish(desk, side, now)
        self._prepare_delivery()
        delete_keys(self.place)
        self._end(terms)

    def _prepare_delivery(self) -> None:
        prepare_delivery(self.place, self.plan, self.deployment.offer(self.plan, self.sent))

    def _end(self, terms: Terms) -> None:
        """Send sites the model, and inform them that the run has ended, with the head of its
        record. A site that is offline keeps its key until its owner ends the run there (`tacit site
        forget`).
        """
        self.messenger.on_missing = lambda *_: None  # the record is signed and closed
        self.messenger.missed.clear()
        deliver(self.messenger, self.place, terms)
        self.messenger.settings = replace(
            self.messenger.settings, deadline=min(_SECONDS_TO_END, self.messenger.settings.deadline)
        )
        signed = record.read_signed_heads(self.place / run_folder.RECORD)[-1:]
        body = b"".join(bodies.pack(RecordHead.of(one)) for one in signed)
        sent = {member.site: body for member in terms.members}
        self.messenger.request("end", 0, "end", sent, least=0)

    def _given(self, terms: Terms) -> ServerInputs:
        rows, weight = collect_rows(self.messenger, self.plan, terms, self.place)
        return ServerInputs(
            folder=self.place,
            draws=self.draws,
            test=self.deployment.test,
            disclosed=rows,
            clients_weight=weight,
        )

    def _open(self, desk: Desk, side: ServerSide) -> None:
        """Record what the run starts from, who takes part, and what was disclosed before round one."""
        terms = side.terms
        tested = (
            len(side.test)
            if side.test is not None
            else sum(member.test_rows for member in terms.members)
        )
        source = "; ".join(
            f"site {member.site} with {member.clients:,} clients" for member in terms.members
        )
        prepared = record.Prepared(
            source=f"Rows of {len(terms.members)} sites, which stay there: {source}.",
            clients=terms.clients,
            rows_train=sum(member.rows for member in terms.members),
            rows_test=tested,
            rows_per_client=[],
            parameters=side.learner.size,
            inputs=side.rows.inputs.width,
            classes=list(side.fitted.classes),
            text=""
            if self.plan.statistics
            else features.text_form(side.columns, self.plan.features),
            sites=len(terms.members),
            seeded=self.deployment.simulated_noise,
        )
        clear = [
            "how many clients and rows each site has",
            *_describe_classes(self.plan, side),
            *side.fitted.released,
        ]
        exact = [f"site {member.site}" for member in terms.members if member.measures == "exact"]
        if exact:
            clear.append(
                f"how many held-out rows the model gets right, without noise, at {', '.join(exact)}"
            )
        write_beginning(desk, self.plan, side.learner, prepared, clear)

    def _finish(self, desk: Desk, side: ServerSide, now: Checkpoint) -> None:
        if now.model is not None:
            model = side.arm.release(now.model, now.state, now.progress.round_no)
            if self.plan.statistics is None:
                store_model(desk, self.plan, side.learner, model, side.stored_features)
            loop.finish(side.arm, desk, now, model, checkpoint.ALL_DONE)
            return
        # Only clients can read the model. Their sites say how good it is, and the hash of what they
        # read.
        request = side.arm.build_request_after(now.progress.round_no, None, now.arrays)
        found, hashes = side.evaluator.evaluation(request, now.progress.round_no)
        models = set(hashes.values())
        if len(models) != 1:
            said = ", ".join(f"{site}: {one.hex()[:16]}" for site, one in sorted(hashes.items()))
            raise RunError(
                f"{self.plan.name}: sites read {len(models)} different models from the last sum"
                f" ({said or 'none replied'}); nothing was kept; ask the owners of the sites that"
                " differ"
            )
        loop.finish_measured(side.arm, desk, now, models.pop().hex(), found, checkpoint.ALL_DONE)


def _describe_classes(plan: Plan, side: ServerSide) -> list[str]:
    """The names of classes, unless the plan states them or there are none."""
    known = side.fitted.classes
    return [] if plan.features.classes or not known else [describe_class_names(known)]


def _refused(sender: str, why: str) -> record.Refused:
    return record.Refused(arm=RUN, round_no=0, exchange="letters", sender=sender, reason=why)
