"""Three sites of which one leaves: the others go on, it catches up when it returns, and a stopped run can go on without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.deployment.bodies import SiteRequest, unpack
from tacit.deployment.server import messenger as module
from tacit.deployment.server.job import Sites, deploy, prepare, resume
from tacit.deployment.server.messenger import RequestSettings
from tacit.errors import BudgetError, PolicyError, RunError
from tacit.plan import Plan
from tacit.protocol.messages.signed_message import MessageSubject, read
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal
from tests.deployment.local_post import GENEROUS, LocalPost, model_of, owner, sites_of
from tests.deployment.test_messenger import Clock
from tests.simulation.small import small_plan, write_csv

DP_SUM = {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}
HASHCOMB = {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 10}
VOTING = {"clients": 9, "local_test": 0.3, "columns": {"text": ["opinion"], "label": "stars"}}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


class Killed(Exception):  # noqa: N818 - it is no error
    """The server was killed."""


class Field:
    """A rehearsal with three sites in this process, under a clock that passes only while somebody waits."""

    def __init__(self, plan: Plan, folder: Path, **settings: Any) -> None:
        self.ready: Rehearsal = prepare_rehearsal(plan, folder / "rows", 3)
        self.folder, self.told = folder, list[str]()
        self.policies = settings.pop("policies", {})
        owners = [
            owner(
                name, rows, folder / name, self.policies.get(name, GENEROUS), tell=self.told.append
            )
            for name, rows in zip("abc", self.ready.files, strict=True)
        ]
        given = {"min_sites": 2, "deadline": 600.0, "poll_interval": 0.5, **settings}
        self.sites = sites_of(owners, **given)
        assert isinstance(self.sites.transport, LocalPost)
        self.post: LocalPost = self.sites.transport
        self.sent: list[tuple[MessageSubject, bytes]] = []
        self._deliver, self.post.send = self.post.send, self._send  # type: ignore[method-assign]
        self.before: Callable[[MessageSubject], None] = lambda subject: None

    def _send(self, site: str, message: bytes) -> str:
        subject = read(message).subject
        self.before(subject)
        self.sent.append((subject, bytes(read(message).body)))
        return self._deliver(site, message)

    def leave(
        self, site: str, *, after: tuple[str, int], back: tuple[str, int] | None = None
    ) -> None:
        """Let a site leave once it has replied to an exchange, and return once site a has replied to another."""

        def look(who: str, data: bytes) -> bytes:
            here = (read(data).subject.exchange, read(data).subject.round_no)
            if (who, here) == (site, after):
                self.post.away.add(site)
            if (who, here) == ("a", back):
                self.post.away.discard(site)
            return data

        self.post.spoil = look

    def settings(self, **changes: Any) -> Sites:
        return Sites(
            transport=self.post,
            keys=self.sites.keys,
            settings=RequestSettings(**{**_fields(self.sites.settings), **changes}),
        )

    def deploy(self, **more: Any) -> Path:
        given = {"simulated_noise": True, "identity": "same", "test": str(self.ready.test), **more}
        return deploy(self.ready.plan, self.sites, self.folder / "runs", **given)

    def asked(self, site: str, exchange: str) -> list[int]:
        return [
            one.round_no for one, _ in self.sent if (one.site, one.exchange) == (site, exchange)
        ]


def _fields(settings: RequestSettings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__dataclass_fields__}


def missing(place: Path) -> list[record.SiteMissing]:
    return record.select_entries(list(record.read(place / RECORD)), record.SiteMissing)


def lost(place: Path) -> list[tuple[int, str]]:
    entries = record.select_entries(list(record.read(place / RECORD)), record.Refused)
    return [(one.round_no, one.exchange) for one in entries if one.reason.startswith("round lost")]


def test_a_site_that_leaves_costs_the_grace_once_and_is_asked_again(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    field = Field(small_plan(reviews, codec=DP_SUM, server__rounds=5), tmp_path)
    field.leave("c", after=("train", 1), back=("train", 3))
    place = field.deploy()
    gone = missing(place)
    assert [(one.site, one.round_no, one.exchange, one.cause) for one in gone] == [
        ("c", 2, "train", "absent"),
        ("c", 3, "train", "absent"),
    ]
    assert 4.0 <= gone[0].seconds <= 5.0
    assert gone[1].seconds == 0.0
    assert field.asked("a", "train") == [1, 2, 3, 4, 5]
    assert sum(clock.slept) <= 7.0
    rounds = record.select_entries(list(record.read(place / RECORD)), record.Round, "run")
    assert len({one.cohort for one in rounds}) == 1, "absent clients are charged, too"


def test_what_one_site_does_changes_no_request_to_another(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    """Round 2 is asked of a and b to the letter as if c were there."""
    bodies = []
    for name in ("with", "without"):
        plan = small_plan(reviews, codec={"name": "plain"}, server__rounds=2)
        field = Field(plan, tmp_path / name)
        if name == "without":
            field.leave("c", after=("train", 1))
        field.deploy()
        bodies.append(
            {
                one.site: body
                for one, body in field.sent
                if (one.exchange, one.round_no) == ("train", 2) and one.site != "c"
            }
        )
    assert bodies[0] == bodies[1]


def test_a_site_that_is_offline_at_the_start_delays_by_the_grace_alone(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    field = Field(small_plan(reviews, codec=DP_SUM, server__rounds=2), tmp_path)
    field.post.away.add("c")
    place = field.deploy()
    assert [(one.site, one.exchange, one.cause) for one in missing(place)] == [
        ("c", "open", "absent")
    ]
    assert sum(clock.slept) <= 6.0
    assert not field.asked("c", "train"), "a site that did not agree on terms takes no part"


@pytest.mark.parametrize("secure", [False, True])
def test_a_site_that_leaves_between_its_agreement_and_the_beginning(
    reviews: Path, tmp_path: Path, clock: Clock, secure: bool
) -> None:
    more = {"secure_aggregation": {"helpers": 2, "min_clients": 2}} if secure else {}
    codec = {"name": "rr", "epsilon": 2, "clip": 0.02}
    field = Field(small_plan(reviews, codec=codec, server={"rounds": 2}, **more), tmp_path)
    field.leave("c", after=("open", 0))
    if secure:
        with pytest.raises(RunError, match=r"cannot begin \(c: it is absent\)"):
            field.deploy()
    else:
        place = field.deploy()
        assert {(one.site, one.cause) for one in missing(place)} == {("c", "absent")}
        assert not field.asked("c", "train")
    assert sum(clock.slept) <= 6.0


def test_a_site_that_misses_the_beginning_hears_of_it_first(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    """Secure aggregation: without the others' confirmations a site sends nothing."""
    plan = small_plan(
        reviews,
        codec={"name": "rr", "epsilon": 2, "clip": 0.02},
        server={"rounds": 3},
        secure_aggregation={"helpers": 2, "min_clients": 2},
    )
    field, begun = Field(plan, tmp_path), list[str]()

    def look(subject: MessageSubject) -> None:
        begun.extend([subject.site] if subject.exchange == "begin" else [])
        if len(begun) == 4:  # all have replied to the terms, and the first hears that all did
            field.post.away.add("c")
        if (subject.exchange, subject.round_no) == ("train", 1):
            field.post.away.discard("c")

    field.before = look
    place = field.deploy()
    assert [(one.site, one.round_no, one.exchange) for one in missing(place)] == [
        ("c", 0, "begin"),
        ("c", 1, "train"),
    ]
    assert begun == ["a", "b", "c", "a", "b", "c", "c"]
    assert field.asked("c", "train") == [2, 3]


def test_a_run_waits_for_helpers_before_it_asks_a_client(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    plan = small_plan(
        reviews,
        codec={"name": "rr", "epsilon": 2, "clip": 0.02},
        server={"rounds": 3},
        secure_aggregation={"helpers": 2, "min_clients": 2},
    )
    field = Field(plan, tmp_path, deadline=60.0)
    field.leave("b", after=("train: helper sums", 1))
    with pytest.raises(RunError, match=r"round 2, train: b helped to sum updates securely"):
        field.deploy()
    assert field.asked("a", "train") == [1]
    (place,) = (tmp_path / "runs").iterdir()
    field.post.away.clear()
    resume(place, field.sites)
    assert field.asked("a", "train") == [1, 2, 3]


def hashcomb_plan(reviews: Path, rounds: int) -> Plan:
    return small_plan(reviews, codec=HASHCOMB, server={"rounds": rounds})


def _is_of_c(data: bytes) -> bool:
    subject = read(data).subject
    return (subject.site, subject.exchange, subject.round_no) == ("c", "train", 2)


@pytest.mark.parametrize("asked", [False, True], ids=["never asked", "asked in vain"])
def test_a_site_that_decodes_the_model_receives_every_sum(
    reviews: Path, tmp_path: Path, clock: Clock, asked: bool
) -> None:
    """Without the sums it missed, its model would silently differ; the run would end in an error."""
    field = Field(hashcomb_plan(reviews, 5), tmp_path)
    field.leave("c", after=("train", 2 if asked else 1), back=("train", 3))
    if asked:  # the reply of round 2 is lost, and the site leaves then
        look = field.post.spoil

        def lose(site: str, data: bytes) -> bytes | None:
            if _is_of_c(data) and field.asked("c", "train").count(2) > 1:
                return data
            return None if look(site, data) and _is_of_c(data) else data

        field.post.spoil = lose
    place = field.deploy(test=None)
    assert [one.round_no for one in missing(place) if one.exchange == "train"] == [2, 3]
    heard = field.asked("c", "train")
    assert sorted({*heard}) == [1, 2, 3, 4, 5]
    assert heard[-4:] == [2, 3, 4, 5]
    again = {body for one, body in field.sent if (one.site, one.round_no) == ("c", 2)}
    assert len(again) == 1, "the same request, if it may have been received before"
    assert not unpack(again.pop(), SiteRequest).to or asked
    assert model_of(place)


def test_a_stopped_run_goes_on_without_a_lost_site(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    """The cohort stays as it was, so a and b are asked to the letter what they were asked before."""
    field = Field(small_plan(reviews, codec=DP_SUM, server__rounds=3), tmp_path, min_sites=3)
    field.leave("c", after=("train", 1))
    with pytest.raises(
        RunError, match=r"needs 3 sites, got 2 \(c: it is absent\); nothing is lost"
    ):
        field.deploy()
    (place,) = (tmp_path / "runs").iterdir()
    before = [body for one, body in field.sent if (one.site, one.round_no) == ("a", 2)]
    resume(place, field.settings(min_sites=2))
    after = [body for one, body in field.sent if (one.site, one.round_no) == ("a", 2)]
    assert {*before} == {*after[len(before) :]}
    assert lost(place) == []
    assert {one.site for one in missing(place)} == {"c"}
    released = record.select_entries(list(record.read(place / RECORD)), record.Released, "run")
    assert not any(one.superseded for one in released), "nothing is charged twice"
    assert not any("refused" in sentence for sentence in field.told)


def test_a_round_that_cannot_be_repeated_is_lost_and_the_next_one_is_asked(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    """Heads of c are gone, so votes of round 2 would be asked anew: honest sites answer an exchange once."""
    plan = small_plan(
        reviews,
        filter={"lr": 0.5, "vote_epsilon": 4.0},
        data={**VOTING, "source": str(reviews)},
        codec={"name": "plain"},
        model={"name": "logistic"},
        server={"rounds": 4},
    )
    field = Field(plan, tmp_path, min_sites=3)
    field.leave("c", after=("votes", 2))
    with pytest.raises(RunError, match="round 2, train: needs 3 sites"):
        field.deploy()
    (place,) = (tmp_path / "runs").iterdir()
    resume(place, field.settings(min_sites=2))
    assert lost(place) == [(2, "votes")]
    entries = list(record.read(place / RECORD))
    assert [one.round_no for one in record.select_entries(entries, record.Round, "run")] == [
        1,
        2,
        3,
        4,
    ]
    assert {(one.cause, one.site) for one in missing(place) if one.exchange == "votes"} == {
        ("answered", "a"),
        ("answered", "b"),
    }
    assert any("a different request was received before" in sentence for sentence in field.told)
    charged = record.select_entries(entries, record.Released, "run")
    assert {one.round_no for one in charged} >= {1, 2, 3, 4}
    again = [one.superseded for one in charged if (one.round_no, one.exchange) == (2, "votes")]
    assert again == [True, False], "votes that were asked anew are charged in addition"


def test_a_model_that_was_measured_with_a_lost_site_costs_one_round(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    """Killed after the measure of round 1: without c the model differs from the one a and b measured."""
    voting = {**VOTING, "source": str(reviews)}
    field = Field(small_plan(reviews, codec=DP_SUM, data=voting, server__rounds=4), tmp_path)

    def kill(subject: MessageSubject) -> None:
        if (subject.exchange, subject.site) == ("measure", "c"):
            raise Killed

    field.before = kill
    place = prepare(field.ready.plan, tmp_path / "runs", simulated_noise=True, identity="same")
    with pytest.raises(Killed):
        resume(place, field.sites)
    field.before = lambda subject: None
    field.post.away.add("c")
    resume(place, field.sites)
    assert lost(place) == [(2, "train")]
    assert {one.cause for one in missing(place) if one.site == "a"} == {"answered", "model"}
    assert record.select_entries(list(record.read(place / RECORD)), record.Finished, "run")


def test_a_stopped_run_of_hidden_models_goes_on_without_a_lost_site(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    field = Field(hashcomb_plan(reviews, 3), tmp_path, min_sites=3)
    field.leave("c", after=("train", 1))
    with pytest.raises(RunError):
        field.deploy(test=None)
    (place,) = (tmp_path / "runs").iterdir()
    resume(place, field.settings(min_sites=2))
    assert model_of(place)


def test_a_policy_that_refuses_stops_a_run_with_its_own_error(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    plan = small_plan(reviews, codec=DP_SUM, server__rounds=2)
    field = Field(plan, tmp_path, min_sites=3, policies={"c": ""})
    with pytest.raises(PolicyError, match="c: its owner's policy does not allow it"):
        field.deploy()


def test_budgets_that_are_used_up_stop_a_run_with_their_own_error(
    reviews: Path, tmp_path: Path, clock: Clock
) -> None:
    poor = GENEROUS.replace("max_epsilon_lifetime = 1e12", "max_epsilon_lifetime = 30")
    plan = small_plan(reviews, codec=DP_SUM, server__rounds=3)
    field = Field(plan, tmp_path, min_sites=3, policies={"c": poor})
    field.deploy()
    with pytest.raises(BudgetError, match="c: its owner's ledger has no budget left for it"):
        field.deploy(identity="other")
