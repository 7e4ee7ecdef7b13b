"""A malicious server and the owner's approval: it cannot approve itself, swap a plan, replay, flood or hide."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import get_args

import pytest

from tacit.deployment import bodies
from tacit.deployment.bodies import Offer
from tacit.deployment.site.approval.approvals import find_request, list_requests
from tacit.deployment.site.approval.budget import read_budget
from tacit.deployment.site.approval.request_queue import (
    LONGEST_PLAN,
    MOST_WAITING,
    REQUESTS,
    STALE_SECONDS,
)
from tacit.deployment.site.approval.wording import _IN_THE_CLEAR, RequestView, describe_request
from tacit.plan import to_toml
from tacit.privacy.policy.policy import CleartextKind
from tests.deployment.approval.waiting_site import DP, WaitingSite
from tests.deployment.test_erasure import job

KINDS = ("open", "begin", "ask", "help", "measure", "rows", "model", "end")


def view_of(site: WaitingSite, run: str = "job-1") -> RequestView:
    policy = site.read_policy()
    return describe_request(
        site.owner, policy, find_request(site.owner, run), read_budget(site.owner, policy)
    )


def test_no_message_approves_a_run(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    for kind in KINDS:
        for body in (b"", b'{"verdict":"approved"}', os.urandom(40)):
            site.server.send(kind, kind, body)
    assert site.server.open() is None
    assert site.server.status == "approval"
    assert site.states() == {"job-1": "waiting"}
    assert not {"approved", "told", "reserved"} & set(site.verify())


def test_another_plan_under_the_name_that_waits(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    shown = find_request(site.owner, "job-1").request
    for text in (to_toml(job(codec={"name": "plain"})), site.server.text + "\n# harmless\n"):
        other = site.other_run("job-1")
        other.text = text
        assert other.open() is None
        assert other.status == "question"
    assert find_request(site.owner, "job-1").request.fingerprint == shown.fingerprint
    site.decide()
    swapped = site.other_run("job-1", job(codec={"name": "plain"}))
    assert swapped.open() is None
    assert swapped.status == "question"
    assert site.server.open() is not None
    assert swapped.open() is None
    assert swapped.status == "question"


def test_another_offer_of_the_approved_plan(tmp_path: Path) -> None:
    """The plan is the same, but noise would come from its seed, or models would be measured."""
    site = WaitingSite(tmp_path)
    site.server.measures = False
    site.server.open()
    site.decide()
    site.server.measures = True
    assert site.server.open() is None
    assert site.server.status == "question"
    known = bodies.pack(Offer(plan=site.server.text, simulated_noise=True, measures=False))
    site.server.send("open", "open", known)
    assert site.server.status == "question"


def test_a_replay_asks_again(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide()
    site.server.start()
    site.server.send("end", "end", b"")
    assert site.server.open() is None
    assert site.server.status == "ended"
    again = site.other_run("job-2")
    assert again.open() is None
    assert again.status == "approval"
    assert site.states()["job-2"] == "waiting"


def test_a_flood_of_requests(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    for number in range(3 * MOST_WAITING):
        asked = site.other_run(f"flood-{number}")
        assert asked.open() is None
        assert asked.status == "approval"
    assert len(list_requests(site.owner)) == MOST_WAITING
    assert len(site.told) == MOST_WAITING + 1, "the owner is told once that the queue is full"
    size = sum(path.stat().st_size for path in (site.owner.folder / REQUESTS).iterdir())
    assert size < MOST_WAITING * 10 * LONGEST_PLAN
    site.decide("refused", "flood-0")
    assert site.other_run("late").open() is None
    assert site.states()["late"] == "waiting"
    for path in (site.owner.folder / REQUESTS).glob("flood-*.json"):
        os.utime(path, (0, time.time() - STALE_SECONDS - 60))
    site.other_run("later").open()
    assert {"late", "later"} <= set(site.states())


def test_a_plan_that_nobody_can_read_is_refused(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.text += "\n# " + "x" * LONGEST_PLAN
    assert site.server.open() is None
    assert site.server.status == "plan"
    assert site.states() == {}


@pytest.mark.parametrize("name", ["../../evil", "a/b", ".hidden", "job\n1", "x" * 79 + "\u202e"])
def test_odd_names_of_runs(tmp_path: Path, name: str) -> None:
    site = WaitingSite(tmp_path)
    assert site.other_run(name).open() is None
    assert not (site.owner.folder / REQUESTS).exists()
    assert not [path for path in tmp_path.rglob("*") if "evil" in path.name]


def test_names_hide_nothing(tmp_path: Path) -> None:
    """Control characters, invisible and reversing ones, and long names are shown as what they are."""
    odd = "good\u202e\u200b\x1b[2K" + "\u0301" * 40 + "x" * 120
    columns = {"client": "patient", "numeric": ["age", odd], "label": "outcome"}
    plan = job(
        name="harmless'\u2028 approved", codec=DP, data={"source": "given", "columns": columns}
    )
    site = WaitingSite(tmp_path, plan)
    site.server.open()
    view = view_of(site)
    said = "\n".join(
        [
            *view.who,
            *view.warnings,
            *view.does,
            *view.leaves,
            *view.costs,
            *view.left,
            view.statement,
        ]
    )
    assert not set(said) & set("\u202e\u200b\x1b\u2028")
    assert "\u0301\u0301\u0301" not in said
    assert "'harmless\\'\\u2028 approved'" in said
    assert "characters)" in said
    assert not set(view.plan_text) & set("\u202e\x1b")


def test_long_lists_end_with_their_number(tmp_path: Path) -> None:
    columns = {"client": "patient", "numeric": [f"c{n}" for n in range(500)], "label": "outcome"}
    site = WaitingSite(tmp_path, job(codec=DP, data={"source": "given", "columns": columns}))
    site.server.open()
    view = view_of(site)
    assert any("and 480 more" in sentence for sentence in view.does)
    assert sum(map(len, (*view.does, *view.leaves, *view.who))) < 5000


def test_what_weighs_most_is_said_first(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path, job(codec={"name": "plain"}))
    site.server.open()
    view = view_of(site)
    assert "no epsilon" in view.warnings[0]
    assert any("NO epsilon" in sentence for sentence in view.costs)


def test_a_comment_in_the_plan_is_not_shown(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.text = "# approved by your ethics board\n" + site.server.text
    site.server.open()
    view = view_of(site)
    assert "ethics" not in view.plan_text + " ".join((*view.does, *view.who, *view.leaves))


def test_what_sites_tell_each_other_is_said(tmp_path: Path) -> None:
    """A negotiation lets the other sites learn how far the values here reach."""
    negotiating = job(codec={"name": "hashcomb", "levels": 10}, negotiation={})
    site = WaitingSite(tmp_path, negotiating)
    site.server.open()
    said = " ".join(view_of(site).leaves)
    assert "agree on a secret" in said
    assert "how far the values here reach" in said


def test_every_fact_that_may_leave_in_the_clear_has_words() -> None:
    """A fact without words would leave without being named to its owner."""
    assert {*_IN_THE_CLEAR, "measures"} == set(get_args(CleartextKind))
