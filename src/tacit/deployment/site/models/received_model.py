"""A site receives the final model of a run it took part in, and keeps it as a run's folder in
`models/RUN`, where `tacit predict` and `tacit export` find it.

The site builds `model.json` itself, from the plan and the terms it agreed to. Of the server's bytes
it uses the parameters and the signed record alone.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tacit import features
from tacit import plan as plans
from tacit.assembly.rowless_model import RowlessModel, build_rowless_model
from tacit.deployment import bodies
from tacit.deployment.bodies import BeginRequest, Offer
from tacit.deployment.model_delivery import ModelDelivery
from tacit.deployment.site.models.delivery_checks import (
    DeliveredRecord,
    check_agreement,
    check_shape,
    read_delivered_record,
    read_parameters,
)
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_negotiation import load_negotiated
from tacit.deployment.site.site_side import SiteSide
from tacit.deployment.site.stored_runs import (
    TERMS,
    find_offer_hash,
    find_run_folder,
    hash_plan,
    read_plan,
    refuse_other_plan,
)
from tacit.errors import PolicyError, RunError, WireError
from tacit.files import replace_file, sync_folder
from tacit.plan import HashComb, Plan
from tacit.plan.codec import readable
from tacit.privacy.policy import Policy
from tacit.privacy.policy.user_code import find_user_code, refuse_user_code
from tacit.protocol.messages.signed_message import SignedMessage
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.runs import record, run_folder
from tacit.runs.facts import collect_model_facts

MODELS = "models"
"""The folder of a site's models, one folder each."""
_UNFINISHED = ".new-"


def receive_model(owner: Owner, message: SignedMessage, load_side: Callable[[], SiteSide]) -> bytes:
    """Verify a delivered model and store it; return the empty body of the reply.

    Raise WireError, RunError or PolicyError, and write nothing, unless the model is the one of a
    run that this site took part in. `load_side` gives the site's side of the run, where clients
    decoded the model.
    """
    policy, run = owner.policy() or Policy(), message.subject.run
    most = policy.limits.max_message_bytes
    if len(message.body) > most:
        raise PolicyError(
            f"limits.max_message_bytes = {most:,}: the model's message has"
            f" {len(message.body):,} bytes"
        )
    delivery = bodies.unpack(message.body, ModelDelivery)
    plan = _read_bound_plan(owner, message, delivery)
    _refuse_code(policy, plan)
    packed_terms = (find_run_folder(owner, run) / TERMS).read_bytes()
    terms = BeginRequest(terms=packed_terms).read()
    found = read_delivered_record(delivery.record, terms)
    check_agreement(found, plan, terms, packed_terms)
    agreed = load_negotiated(find_run_folder(owner, run))
    built = build_rowless_model(
        plan,
        terms.seen.statistics(),
        Draws.seeded(0),
        find_run_folder(owner, run) / "none",
        terms.read_projection(),
        b"" if agreed is None else agreed.secret,
    )
    if built.learner.size > policy.limits.max_parameters:
        raise PolicyError(
            f"limits.max_parameters = {policy.limits.max_parameters:,}: the model has"
            f" {built.learner.size:,}"
        )
    check_shape(found, built)
    if not readable(plan.codec):
        model = _read_decoded(delivery, found, load_side())
    else:
        model = read_parameters(delivery.model, found, built.learner)
    _store(owner, run, _with_own_secret(owner, plan), delivery, built, model)
    return b""


def _read_bound_plan(owner: Owner, message: SignedMessage, delivery: ModelDelivery) -> Plan:
    """The plan of a delivery; raise RunError if this site took no part in the run, WireError if
    the run has another plan.
    """
    subject = message.subject
    bound = find_offer_hash(owner, subject.run)
    if not bound or not (find_run_folder(owner, subject.run) / TERMS).exists():
        raise RunError(f"run {subject.run} never began here, so its model is not accepted")
    if hashlib.sha256(delivery.offer).hexdigest() != bound:
        raise WireError(
            f"model refused: run {subject.run} was opened here with another offer than the"
            " delivered one"
        )
    offer = bodies.unpack(delivery.offer, Offer)
    refuse_other_plan(subject.run, hash_plan(offer), subject.plan)
    plan = read_plan(offer, subject.plan)
    if not plan.server.delivers_model:
        raise WireError("model refused: the plan says server.deliver_to = 'nobody'")
    return plan


def _refuse_code(policy: Policy, plan: Plan) -> None:
    refused = refuse_user_code(policy, find_user_code(plan))
    if refused:
        raise PolicyError("\n".join(refused))


def _read_decoded(delivery: ModelDelivery, found: DeliveredRecord, side: SiteSide) -> Vector:
    """The model as this site's clients decoded it from the last sum; raise WireError if it is not
    the one that the other sites decoded.
    """
    if delivery.model:
        raise WireError("model refused: only clients can decode the model, but the server sent one")
    model = side.site.read_decoded_model(found.finished.rounds)
    stated = found.finished.parameters_sha256
    if model is None or side.site.compute_model_digest(model).hex() != stated:
        raise WireError(
            "model refused: the clients here have not decoded the run's last sum; copy the model"
            " from another site of the run"
        )
    return model


def _with_own_secret(owner: Owner, plan: Plan) -> Plan:
    """The plan with the place of the negotiated file here, if new rows are quantised with its
    secret.
    """
    if isinstance(plan.codec, HashComb) and plan.codec.agreed and plan.features.quantise:
        return replace(plan, codec=replace(plan.codec, agreed=owner.agreed or plan.codec.agreed))
    return plan


def _store(
    owner: Owner, run: str, plan: Plan, delivery: ModelDelivery, built: RowlessModel, model: Vector
) -> None:
    """Write the folder of a model, complete or not at all. A model that is there stays: raise
    WireError if another one was delivered.
    """
    home = owner.folder / MODELS
    target = home / run
    if home.is_symlink() or target.is_symlink():
        raise RunError(f"{target}: is or lies behind a symbolic link; remove the link")
    if target.exists():
        if not (target / run_folder.RECORD).read_bytes().startswith(delivery.record):
            raise WireError(
                f"model refused: {target} holds another model of run {run}, which stays"
            )
        return
    home.mkdir(mode=0o700, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=home))
    try:
        _write_files(fresh, plan, delivery, built, model)
        agreed = load_negotiated(find_run_folder(owner, run))
        if agreed is not None and features.needs_secret(plan.features):
            agreed.save(fresh / run_folder.NEGOTIATED)
        fresh.rename(target)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    sync_folder(home)
    owner.tell(
        f"run {run}: received the model, SHA-256 {run_folder.hash_file(target / run_folder.MODEL)};"
        f" it is in {target}"
    )
    owner.on_model(target)


def _write_files(
    folder: Path, plan: Plan, delivery: ModelDelivery, built: RowlessModel, model: Vector
) -> None:
    stored = built.stored_features
    facts = collect_model_facts(plan, stored.inputs, stored.columns, stored.fitted, stored.formats)
    replace_file(folder / run_folder.PLAN, plans.to_toml(plan).encode())
    replace_file(folder / run_folder.RECORD, delivery.record)
    record.add(
        folder / run_folder.RECORD, run_folder.write_model(folder, built.learner, model, facts)
    )
