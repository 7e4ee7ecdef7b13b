"""Opens a run that a server offers, or one from before a restart, if policy and owner allow it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tacit.deployment import bodies
from tacit.deployment.bodies import Offer
from tacit.deployment.site import client_parts
from tacit.deployment.site.approval.permission import refuse_unless_allowed
from tacit.deployment.site.approval.run_approval import require_run_approval
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.participation import Participation
from tacit.deployment.site.rows.changed_rows import RowsWatch
from tacit.deployment.site.rows.held_out import HeldOut
from tacit.deployment.site.rows.site_rows import read_rows
from tacit.deployment.site.stored_runs import (
    OFFER,
    ROOT,
    ROWS,
    find_run_folder,
    hash_plan,
    load_offer,
    load_root,
    read_plan,
    refuse_further_runs,
    refuse_other_plan,
)
from tacit.deployment.site.terms_checks import refuse_without_peers
from tacit.deployment.versions import read_offer
from tacit.errors import RunError, WireError
from tacit.files import replace_file
from tacit.plan import HashComb


def open_run(owner: Owner, run: str, body: bytes, plan_hash: bytes) -> Participation:
    """Open a run that is offered, if the policy allows it; rows are read only then.

    The offer is stored and binds the run's name: raise WireError if the name was offered with other
    bytes before, RequestError if the run has ended here.
    """
    kept = load_offer(owner, run)
    if kept is not None and kept != body:
        refuse_other_plan(run, hash_plan(bodies.unpack(kept, Offer)), plan_hash)
        raise WireError(
            f"run {run} was opened here with another offer; start the plan as a new run"
        )
    offer = read_offer(body)
    plan = read_plan(offer, plan_hash)
    policy = owner.require_policy()
    no_counts = refuse_unless_allowed(
        policy, plan, offer.simulated_noise, unit=owner.unit, measured=offer.measures
    )
    refuse_without_peers(plan, owner.name, owner.peers())
    folder = find_run_folder(owner, run)
    if kept is None:
        refuse_further_runs(owner)
    approved = (
        require_run_approval(owner, policy, run, body, plan, is_open=kept is not None)
        if policy.approve == "ask"
        else ""
    )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if isinstance(plan.codec, HashComb) and plan.codec.agreed is not None:
        plan = replace(plan, codec=replace(plan.codec, agreed=owner.agreed or plan.codec.agreed))
    held_out = None if offer.simulated_noise else HeldOut(owner.folder, owner.secret)
    watch = RowsWatch(folder / ROWS, owner.source, owner.secret)
    erased = (
        client_parts.find_erased(owner, policy, plan)
        if kept is None
        else client_parts.load_left_out(folder)
    )
    try:
        watch.check()
        root = load_root(plan, offer.simulated_noise, folder)
        rows = read_rows(plan, owner, policy.limits, root, held_out, erased)
        watch.check()  # the rows that were read are those of the fingerprint
    except BaseException:
        if kept is None:  # the run was not opened
            (folder / ROOT).unlink(missing_ok=True)
            (folder / ROWS).unlink(missing_ok=True)
            with suppress(OSError):  # it holds something else
                folder.rmdir()
        raise
    if kept is None:
        client_parts.store_left_out(folder, erased)
        replace_file(folder / OFFER, body)
    return Participation(
        owner,
        plan,
        plan_hash,
        offer,
        folder,
        rows,
        watch,
        no_counts=no_counts,
        approved=approved,
        allowed_by=policy,
    )


def reopen_run(owner: Owner, run: str, plan_hash: bytes) -> Participation:
    """Open a run from before a restart, if the policy still allows it."""
    body = load_offer(owner, run)
    if body is None:
        raise RunError(f"run {run} was never opened here")
    refuse_other_plan(run, hash_plan(bodies.unpack(body, Offer)), plan_hash)
    return open_run(owner, run, body, plan_hash)
