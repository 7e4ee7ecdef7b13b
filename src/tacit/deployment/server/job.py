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

import polars as pl
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from tacit import features
from tacit import plan as plans
from tacit.assembly.own_parts import check_own_parts
from tacit.assembly.run_files import open_desk, store_model, write_beginning
from tacit.deployment import bodies
from tacit.deployment.bodies import BeginRequest, RecordHead, SiteResponse, Terms
from tacit.deployment.confirmation import run_digest
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.server.delivery import deliver, prepare_delivery
from tacit.deployment.server.handshake import Deployment, Handshake, begin_at_sites, check_quorum
from tacit.deployment.server.messenger import Messenger, RequestSettings, SiteTransport
from tacit.deployment.server.receipts import Receipts
from tacit.deployment.server.server_side import ServerInputs, ServerSide, build_release_schema
from tacit.errors import RunError, TacitError
from tacit.files import replace_file
from tacit.plan import Plan
from tacit.privacy.statement.prose_rows import describe_class_names
from tacit.protocol import loop
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.disclose_rows import DiscloseRows
from tacit.protocol.loop import Desk
from tacit.protocol.observer import Observer, Silence
from tacit.protocol.round import gather
from tacit.randomness import Draws
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.fingerprint import Fingerprints, fingerprint_plan
from tacit.runs.record import RUN
from tacit.runs.recovery import build_abandoned_error, recover
from tacit.runs.run_keys import ROOT, delete_keys, make_key, read_key, read_record_key

DEPLOYMENT, TERMS = "deployment.json", "terms.bin"
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
    deployment = Deployment(**{**tree, "helpers": tuple(tree["helpers"])})
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
        self.text = plans.to_toml(plan)
        hashed = hashlib.sha256(self.text.encode()).digest()
        self.messenger = Messenger(
            sites.transport, sites.settings, deployment.run, hashed, sites.keys, Receipts(place)
        )

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
        told = dict[str, str]()
        handshake = Handshake(
            self.messenger,
            self.plan,
            self.text,
            self.deployment,
            self.draws,
            key.public_key().public_bytes_raw(),
        )
        if not (self.place / TERMS).exists():
            body, told = handshake.agree_on_terms(self.place.name)
            replace_file(self.place / TERMS, body)
        begin = bodies.unpack((self.place / TERMS).read_bytes(), BeginRequest)
        digest = run_digest(self.deployment.run, handshake.offer, begin.terms)
        prints = Fingerprints(
            plan=fingerprint_plan(self.plan),
            data=hashlib.sha256(begin.terms).hexdigest(),
            identity=begin.read().identity or digest,
        )
        with open_desk(self.place, found, prints, self.observer) as desk:
            self.messenger.on_rejected = lambda site, why: desk.note(_refused(f"site {site}", why))
            self._run(desk, begin, digest, found.last, told)
        return self.place

    def _run(
        self,
        desk: Desk,
        begin: BeginRequest,
        digest: str,
        last: Checkpoint | None,
        told: dict[str, str],
    ) -> None:
        terms, with_rows = begin.read(), begin_at_sites(self.messenger, begin)
        side = ServerSide(self.plan, terms, digest, self.messenger, with_rows, self._given(terms))
        if last is None:
            self._open(desk, side, told)
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
        prepare_delivery(self.place, self.plan, self.deployment.offer(self.plan, self.text))

    def _end(self, terms: Terms) -> None:
        """Send sites the model, and inform them that the run has ended, with the head of its
        record. A site that is offline keeps its key until its owner ends the run there (`tacit site
        forget`).
        """
        deliver(self.messenger, self.place, terms)
        self.messenger.settings = replace(
            self.messenger.settings, deadline=min(_SECONDS_TO_END, self.messenger.settings.deadline)
        )
        signed = record.read_signed_heads(self.place / run_folder.RECORD)[-1:]
        body = b"".join(bodies.pack(RecordHead.of(one)) for one in signed)
        self.messenger.request("end", 0, "end", {member.site: body for member in terms.members})

    def _given(self, terms: Terms) -> ServerInputs:
        rows, weight = self._disclosed(terms) if self.plan.data.share else (None, 0)
        return ServerInputs(
            folder=self.place,
            draws=self.draws,
            test=self.deployment.test,
            disclosed=rows,
            clients_weight=weight,
        )

    def _disclosed(self, terms: Terms) -> tuple[pl.DataFrame, int]:
        """The rows that sites disclose, and the total weight of all clients with the rows they
        keep.
        """
        replies = self.messenger.request(
            "rows", 0, DiscloseRows.name, {member.site: b"" for member in terms.members}
        )
        check_quorum(self.messenger, "hands over what it may", replies.messages, replies)
        assert self.plan.data.share is not None
        exchange = DiscloseRows(self.plan.name, build_release_schema(self.plan, terms))
        found = exchange.empty()
        for site, answers in replies.bodies(SiteResponse).items():
            own = terms.find_member(site)
            intake = Intake(
                range(own.first, own.first + own.clients), 0, terms.largest_weight, least_weight=0
            )
            found.merge(
                gather(
                    exchange, intake, [(head, memoryview(body)) for head, body in answers.frames]
                ).total
            )
        empty = pl.DataFrame(schema=exchange.schema)
        rows = pl.concat([empty, *found.arrived], how="diagonal_relaxed")
        rows.write_parquet(self.place / run_folder.DISCLOSED)
        return rows, found.weight * (self.plan.data.share.rows_per_client or 1)

    def _open(self, desk: Desk, side: ServerSide, told: dict[str, str]) -> None:
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
            text=features.text_form(side.columns, self.plan.features),
            sites=len(terms.members),
            seeded=self.deployment.simulated_noise,
        )
        clear = [
            "how many clients and rows each site has",
            describe_class_names(side.fitted.classes),
            *side.fitted.released,
        ]
        exact = [f"site {member.site}" for member in terms.members if member.measures == "exact"]
        if exact:
            clear.append(
                f"how many held-out rows the model gets right, without noise, at {', '.join(exact)}"
            )
        write_beginning(desk, self.plan, side.learner, prepared, clear)
        desk.note(*(_refused(f"site {site}", why) for site, why in sorted(told.items())))
        desk.writer.sync()

    def _finish(self, desk: Desk, side: ServerSide, now: Checkpoint) -> None:
        if now.model is not None:
            model = side.arm.release(now.model, now.state, now.progress.round_no)
            store_model(desk, self.plan, side.learner, model, side.stored_features)
            loop.finish(side.arm, desk, now, model, checkpoint.ALL_DONE)
            return
        # Only clients can read the model. Their sites say how good it is, and the hash of what they
        # read.
        request = side.arm.build_request_after(now.progress.round_no, None, now.arrays)
        found, hashes = side.evaluator.evaluation(request, now.progress.round_no)
        if len(hashes) != 1:
            raise RunError(
                f"{self.plan.name}: sites read {len(hashes)} different models from the last sum;"
                " nothing was kept"
            )
        loop.finish_measured(side.arm, desk, now, hashes.pop().hex(), found, checkpoint.ALL_DONE)


def _refused(sender: str, why: str) -> record.Refused:
    return record.Refused(arm=RUN, round_no=0, exchange="letters", sender=sender, reason=why)
