"""A change of the policy: what differs, what it gives away, what it means for the runs of the site, and
the file replaced at once.
"""

from __future__ import annotations

import difflib
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.deployment.site.approval.approvals import JudgedRequest
from tacit.deployment.site.approval.permission import refuse_unless_allowed
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_folder import POLICY
from tacit.deployment.site.stored_runs import hash_plan, read_plan
from tacit.errors import PlanError, TacitError
from tacit.files import replace_file
from tacit.privacy.policy import Policy, parse_policy
from tacit.privacy.policy.giveaways import find_giveaways
from tacit.privacy.policy.starter import render_policy
from tacit.ui.records.safe_files import read_text_inside

LONGEST_POLICY = 20_000
"""Most characters of a policy that the page edits; a form has a limited size."""
LineKind = Literal["added", "removed", "place", "same"]


@dataclass(frozen=True, kw_only=True)
class PolicyEffect:
    """What a policy says about a run that is open or waits; `refusal` is empty if it allows it."""

    run: str
    refusal: str


@dataclass(frozen=True, kw_only=True)
class PolicyChange:
    """A new text of the policy: the lines that differ, what it newly gives away, and its effects.

    `shown` is the hash of the file that it was compared with; `problem` says why it is no policy.
    """

    text: str
    shown: str
    lines: tuple[tuple[LineKind, str], ...]
    problem: str = ""
    gives: tuple[str, ...] = ()
    effects: tuple[PolicyEffect, ...] = ()


def read_policy_text(folder: Path) -> str:
    """The file of a policy; empty if there is none. Raise PlanError for a symbolic link, and for a file
    that is too long for a page.
    """
    path = folder / POLICY
    if path.is_symlink():
        raise PlanError(f"{path} is a symbolic link; edit the file that it names")
    text = read_text_inside(folder, POLICY) if path.exists() else ""
    if len(text) > LONGEST_POLICY or (path.exists() and not text and path.stat().st_size):
        raise PlanError(f"{path} is too long for this page; edit the file itself")
    return text


def suggest_policy_text(folder: Path) -> str:
    """The strict policy that `tacit site policy init` writes."""
    return render_policy(str(folder / POLICY), None)


def hash_policy(text: str) -> str:
    """What a form carries to say which file it was shown with."""
    return hashlib.sha256(text.encode()).hexdigest()


def review_change(
    owner: Owner, before: str, after: str, known: list[JudgedRequest]
) -> PolicyChange:
    """Compare a new text with the file, and check it as `tacit site policy check` does."""
    shown, lines = hash_policy(before), tuple(_compare(before, after))
    if len(after) > LONGEST_POLICY:
        problem = f"the policy has {len(after):,} characters, and a page edits {LONGEST_POLICY:,}"
        return PolicyChange(text=after, shown=shown, lines=lines, problem=problem)
    try:
        policy = parse_policy(after, POLICY)
    except PlanError as error:
        return PolicyChange(text=after, shown=shown, lines=lines, problem=str(error))
    return PolicyChange(
        text=after,
        shown=shown,
        lines=lines,
        gives=tuple(_list_new_giveaways(before, policy)),
        effects=tuple(check_run(owner, policy, one) for one in known),
    )


def save_policy(folder: Path, text: str, shown: str) -> None:
    """Replace the policy file at once; raise PlanError if the text is no policy, or if the file is no
    longer the one that was shown.
    """
    if len(text) > LONGEST_POLICY:
        raise PlanError(f"a page saves at most {LONGEST_POLICY:,} characters; edit the file itself")
    parse_policy(text, POLICY)
    if hash_policy(read_policy_text(folder)) != shown:
        raise PlanError(
            f"{folder / POLICY} changed after it was shown, and nothing was saved; read it again"
        )
    replace_file(folder / POLICY, text.encode())


def check_run(owner: Owner, policy: Policy, judged: JudgedRequest) -> PolicyEffect:
    """What a policy says about the plan of a run, as the site itself decides it before it reads rows."""
    run = judged.request.run
    try:
        offer = judged.request.offer
        plan = read_plan(offer, hash_plan(offer))
        refuse_unless_allowed(
            policy, plan, offer.simulated_noise, unit=owner.unit, measured=offer.measures
        )
    except TacitError as error:
        return PolicyEffect(run=run, refusal=str(error))
    return PolicyEffect(run=run, refusal="")


def _list_new_giveaways(before: str, policy: Policy) -> list[str]:
    known, asked = dict[str, str](), False
    with suppress(PlanError):
        old = parse_policy(before, POLICY)
        known, asked = find_giveaways(old), old.approve == "ask"
    found = [
        f"{key}: {words}"
        for key, words in find_giveaways(policy).items()
        if known.get(key) != words
    ]
    if asked and policy.approve != "ask":
        found.insert(0, "approve: every run that the rules allow begins, and you are not asked")
    return found


def _compare(before: str, after: str) -> list[tuple[LineKind, str]]:
    kinds: dict[str, LineKind] = {"+": "added", "-": "removed", "@": "place"}
    found = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[
        2:
    ]
    return [
        (kinds.get(line[:1], "same"), line if line.startswith("@") else line[1:]) for line in found
    ]
