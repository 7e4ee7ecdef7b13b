"""What a site keeps of its runs, a folder for each: the offer, the terms, its randomness, and a
tombstone after the end.

The folder binds the name of a run to one offer and one set of terms for ever. After the run has
ended the name is never used again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tacit import plan as plans
from tacit.deployment import bodies
from tacit.deployment.bodies import BeginRequest, Offer, RecordHead, Terms
from tacit.deployment.confirmation import check_confirmations
from tacit.deployment.deployable_plan import refuse_undeployable
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_negotiation import NEGOTIATION
from tacit.deployment.site.site_side import PROMISED
from tacit.deployment.versions import parse_offered
from tacit.errors import PlanError, RequestError, RunError, WireError
from tacit.files import UNFINISHED, replace_file, sync_folder
from tacit.plan import Plan
from tacit.plan.toml import tree_of
from tacit.privacy.policy import Policy, SiteLedger
from tacit.randomness import Draws

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
OFFER, TERMS, ROOT, CONFIRMED, AGENDA = "offer", "terms", "root", "confirmed", "agenda"
ROWS = "rows"
"""Files in the folder of a run."""
ENDED = "ended"
"""The tombstone of a run."""
MOST_OPEN = 200
"""Runs that may be open at a site at once. A server may offer without end, and each offer is kept."""


def find_run_folder(owner: Owner, run: str) -> Path:
    """Find the folder of a run; raise WireError if the name is not plain ASCII."""
    if not _NAME.fullmatch(run):
        raise WireError(
            f"the run name {run!a} must start with an ASCII letter or digit and contain only ASCII"
            " letters, digits, dashes and underscores"
        )
    return owner.folder / "runs" / run


def load_offer(owner: Owner, run: str) -> bytes | None:
    """Load the offer that a run's name is bound to; None if there is none. Raise RequestError if
    the run has ended here.
    """
    folder = find_run_folder(owner, run)
    if (folder / ENDED).exists():
        raise RequestError(
            "ended",
            f"run {run} has ended here and its name is not used again; start the plan as a new run",
        )
    return (folder / OFFER).read_bytes() if (folder / OFFER).exists() else None


def find_offer_hash(owner: Owner, run: str) -> str:
    """SHA-256 of the offer that a run's name is bound to, also after the run has ended; empty if
    the run was never opened here.
    """
    folder = find_run_folder(owner, run)
    if (folder / OFFER).exists():
        return hashlib.sha256((folder / OFFER).read_bytes()).hexdigest()
    if (folder / ENDED).exists():
        return str(json.loads((folder / ENDED).read_bytes()).get(OFFER, ""))
    return ""


def read_plan(offer: Offer, digest: bytes) -> Plan:
    """Read the plan in an offer; raise WireError if its hash is not `digest`, PlanError if sites
    cannot run it.
    """
    if hash_plan(offer) != digest:
        raise WireError("offer refused: the plan does not match its hash")
    try:
        tree = tree_of(offer.plan)
    except ValueError as error:
        raise PlanError(f"offer refused: the plan is not valid TOML ({error})") from None
    plan = parse_offered(offer, tree)
    plans.check(plan)
    refuse_undeployable(plan, offer.simulated_noise)
    return plan


def check_stored_confirmations(
    folder: Path, terms: Terms, digest: str, peers: Mapping[str, bytes]
) -> None:
    """Raise RequestError or WireError unless all members that are peers have confirmed a run's terms
    to this site.
    """
    confirmed = folder / CONFIRMED
    if not confirmed.exists():
        raise RequestError(
            "terms",
            "the other sites have not confirmed the plan and terms to this site, so it sends"
            " neither updates nor helper sums, and negotiates nothing",
        )
    confirmations = bodies.unpack(confirmed.read_bytes(), BeginRequest).confirmations
    check_confirmations(terms, digest, confirmations, peers)


def hash_plan(offer: Offer) -> bytes:
    """SHA-256 of the text of the offered plan."""
    return hashlib.sha256(offer.plan.encode()).digest()


def refuse_other_plan(run: str, bound: bytes, asked: bytes) -> None:
    """Raise WireError if a request is about another plan than the run's."""
    if asked != bound:
        raise WireError(
            f"run {run} was opened here with plan {bound.hex()[:16]}, but this request is about"
            f" plan {asked.hex()[:16]}; start the other plan as a new run"
        )


def refuse_further_runs(owner: Owner) -> None:
    """Raise RunError if too many runs are open here."""
    count = len(list_open_runs(owner))
    if count >= MOST_OPEN:
        raise RunError(
            f"{count:,} runs are open here, and no more are opened; end some of them with `tacit site"
            " forget`, or ask the server's operator to end them"
        )


def load_root(plan: Plan, simulated_noise: bool, folder: Path) -> Draws:
    """Load or draw the root of a run's randomness. It comes from the operating system and is
    stored, so that a restart changes nothing.
    """
    if simulated_noise:
        return Draws.seeded(plan.seed)
    path = folder / ROOT
    if not path.exists():
        replace_file(path, os.urandom(32))
        path.chmod(0o600)
    key = path.read_bytes()
    if len(key) != 32:
        raise RunError(
            f"{path} is damaged: it must have 32 bytes, got {len(key)}; this run cannot continue"
            " here"
        )
    return Draws(key)


def has_ended(owner: Owner, run: str) -> bool:
    """Whether a run has ended here."""
    return (find_run_folder(owner, run) / ENDED).exists()


def list_open_runs(owner: Owner) -> list[str]:
    """List the runs that have not ended here: the site holds a key for each and responds if its
    policy allows.
    """
    folders = sorted((owner.folder / "runs").glob("*"))
    return [
        folder.name
        for folder in folders
        if not folder.is_symlink()
        and not (folder / ENDED).exists()
        and _holds_any(folder, OFFER, ROOT)
    ]


def list_ended_runs(owner: Owner) -> dict[str, dict[str, object]]:
    """For each ended run, how the server's record ended, if the server said so: its key, length and
    head.
    """
    found = {}
    for path in sorted((owner.folder / "runs").glob(f"*/{ENDED}")):
        kept = json.loads(path.read_bytes())
        if "record" in kept:
            found[path.parent.name] = kept["record"]
    return found


def _holds_any(folder: Path, *names: str) -> bool:
    return any((folder / name).exists() for name in names)


def forget_run(owner: Owner, run: str) -> None:
    """End a run because its owner asks for it, as if the server had ended it. Its charges remain.
    Raise RunError if the run is not open here.
    """
    if run not in list_open_runs(owner):
        raise RunError(f"run {run} is not open here; `tacit site status` lists the open runs")
    with closing(open_ledger_to_end(owner)) as book:
        book.drop_responses(run)
    end_run(owner, run)


def open_ledger_to_end(owner: Owner) -> SiteLedger:
    """Open the ledger to drop responses. Nothing is charged, so the plan does not matter: it may be
    one that this version of Tacit cannot read.
    """
    return owner.open_ledger(owner.policy() or Policy(), Plan())


def end_run(owner: Owner, run: str, record: dict[str, object] | None = None) -> None:
    """End a run: the site sends no more responses, and nobody can repeat its noise. Private parts
    of models stay.

    A tombstone stays too, written before anything is removed: the hashes of the run's offer and
    terms, and how the server's record ended, if the server said so.
    """
    folder = find_run_folder(owner, run)
    replace_file(folder / ENDED, build_tombstone(folder, record))
    for path in (folder / OFFER, folder / ROOT, folder / ROWS, *folder.glob(f".*{UNFINISHED}")):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / PROMISED, ignore_errors=True)
    shutil.rmtree(folder / NEGOTIATION, ignore_errors=True)
    sync_folder(folder)


def build_tombstone(folder: Path, record: dict[str, object] | None = None) -> bytes:
    """What stays of a run for ever: the hashes of its offer and terms, and the end of the server's
    record if it is known.
    """
    kept = {name: folder / name for name in (OFFER, TERMS)}
    hashes = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in kept.items()
        if path.exists()
    }
    return json.dumps({**hashes, **({"record": record} if record else {})}).encode()


def check_record_head(owner: Owner, run: str, body: bytes) -> tuple[dict[str, object] | None, str]:
    """Check the head of the server's record; return what to keep of it and a sentence for the
    owner.

    `body` comes from the server's request to end the run: the record's head, signed with the key in
    the run's terms.
    """
    terms = find_run_folder(owner, run) / TERMS
    key = (
        BeginRequest(terms=terms.read_bytes()).read().read_record_key.hex()
        if terms.exists()
        else ""
    )
    if not body or not key:
        return None, "the server sent no head of its record"
    try:
        head = bodies.unpack(body, RecordHead).signed()
    except WireError:
        return None, "the server sent a malformed head of its record"
    if not head.is_by(key):
        return (
            None,
            f"the head of the server's record is NOT signed with the key in the terms, {key}",
        )
    kept: dict[str, object] = {"key": key, "length": head.length, "head": head.head}
    return (
        kept,
        (
            f"the server's record ends in {head.head} after {head.length:,} bytes, signed with key"
            f" {key}"
        ),
    )
