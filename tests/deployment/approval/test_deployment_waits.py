"""A deployment between three sites waits for an owner, says for whom, and gives up clearly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.deployment.server import messenger as module
from tacit.deployment.server.job import prepare, resume
from tacit.deployment.site.approval.approvals import decide, list_requests
from tacit.errors import PolicyError, UndecidedError
from tacit.progress import describe_change, describe_sites
from tacit.protocol.observer import Silence, SiteState
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.deployment.local_post import GENEROUS
from tests.deployment.test_absent_sites import DP_SUM, Field
from tests.deployment.test_messenger import Clock
from tests.simulation.small import small_plan, write_csv

ASK = 'approve = "ask"\n' + GENEROUS


class Watch(Silence):
    """Keeps the states of sites."""

    def __init__(self) -> None:
        self.states = list[SiteState]()

    def site(self, state: SiteState) -> None:
        """Keep a state."""
        self.states.append(state)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def field(tmp_path: Path) -> Field:
    plan = small_plan(write_csv(tmp_path / "reviews.csv"), codec=DP_SUM, server__rounds=2)
    return Field(
        plan, tmp_path, policies={"b": ASK}, min_sites=3, deadline=60.0, approval_wait=400.0
    )


def decide_after(field: Field, offers: int, do: Callable[[], None]) -> None:
    """Let the owner act once a site was offered the run so often."""
    count = 0

    def look(subject: object) -> None:
        nonlocal count
        if (subject.site, subject.kind) == ("b", "open"):  # type: ignore[attr-defined]
            count += 1
            if count == offers:
                do()

    field.before = look


def approve(field: Field, verdict: str = "approved") -> None:
    owner = field.post.sites["b"].owner
    (asked,) = list_requests(owner)
    decide(owner, asked.request, verdict, by="test")  # type: ignore[arg-type]


def start(field: Field, watch: Silence | None = None) -> Path:
    place = prepare(
        field.ready.plan, field.folder / "runs", test=str(field.ready.test), simulated_noise=True,
        identity="same",
    )  # fmt: skip
    return resume(place, field.sites, watch)


def decisions(place: Path) -> list[tuple[str, str]]:
    entries = list(record.read(place / RECORD))
    return [(one.site, one.outcome) for one in record.select_entries(entries, record.OwnerDecided)]


def test_it_waits_beyond_the_deadline_and_says_for_whom(field: Field, clock: Clock) -> None:
    watch = Watch()
    decide_after(field, 20, lambda: approve(field))
    place = start(field, watch)
    assert decisions(place) == [("b", "approved")]
    waited = record.select_entries(list(record.read(place / RECORD)), record.OwnerDecided)[0]
    assert 60 < waited.seconds < 400, "longer than the deadline of a request"
    asked = [one for one in watch.states if one.state == "undecided"]
    assert {one.site for one in asked} == {"b"}
    assert describe_change(None, asked[0]).startswith(
        "open: the owner of site b has yet to approve the run; waiting at most 6 min"
    )
    assert "waiting for the owner of b" in describe_sites([asked[0]])
    count = len([one for one, _ in field.sent if (one.site, one.kind) == ("a", "open")])
    assert count == 1, "a site that takes part is not asked again"


def test_an_owner_refuses(field: Field, clock: Clock) -> None:
    decide_after(field, 3, lambda: approve(field, "refused"))
    with pytest.raises(PolicyError, match=r"b: its owner's policy.*policy.approve"):
        start(field)


def test_it_gives_up_and_can_be_resumed(field: Field, clock: Clock) -> None:
    with pytest.raises(UndecidedError, match="its owner has not decided within 400 seconds"):
        start(field)
    (place,) = (field.folder / "runs").iterdir()
    approve(field)
    assert decisions(resume(place, field.sites)) == []
    finished = record.select_entries(list(record.read(place / RECORD)), record.Finished)
    assert finished, "the approval from after the wait counts"


def test_with_enough_sites_it_goes_on_without_the_owner(field: Field, clock: Clock) -> None:
    field.sites = field.settings(min_sites=2)
    place = start(field)
    assert decisions(place) == [("b", "undecided")]
    missing = record.select_entries(list(record.read(place / RECORD)), record.SiteMissing)
    assert [(one.site, one.cause, one.exchange) for one in missing] == [("b", "approval", "open")]


def test_a_silent_site_costs_the_deadline_only(field: Field, clock: Clock) -> None:
    """One owner takes long; another site, which is silent, is given up at the usual deadline."""
    field.sites = field.settings(min_sites=2)
    silent = field.post.spoil

    def spoil(site: str, data: bytes) -> bytes | None:
        return b"" if site == "c" else silent(site, data)

    field.post.spoil = spoil
    decide_after(field, 20, lambda: approve(field))
    place = start(field)
    missing = record.select_entries(list(record.read(place / RECORD)), record.SiteMissing)
    assert ("c", "late") in [(one.site, one.cause) for one in missing]
    assert decisions(place) == [("b", "approved")]
