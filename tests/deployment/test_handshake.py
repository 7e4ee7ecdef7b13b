"""Before round one: sites agree on terms that hold everybody's nonce and key, and a run with too few of them does not begin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    Member,
    Offer,
    OfferResponse,
    StatisticsBody,
    pack,
    unpack,
)
from tacit.deployment.server.absence.missed_requests import MissedRequests
from tacit.deployment.server.absence.missing_replies import MissingReply
from tacit.deployment.server.handshake import Deployment, Handshake, begin_at_sites, check_quorum
from tacit.deployment.server.messenger import RequestSettings
from tacit.deployment.server.open_exchange import Replies
from tacit.deployment.server.sent_plan import SentPlan
from tacit.errors import BudgetError, PolicyError, RunError
from tacit.protocol.messages.signed_message import MessageSubject, SignedMessage
from tacit.randomness import Draws
from tests.deployment.agreements import SEEN, helper_key, nonce, opened_by, plan_of, terms_of

SENT = SentPlan(text="text", settings="{}", version="1.2")


class Messenger:
    """Answers each request as `replies` says, and keeps what was asked."""

    def __init__(self, min_sites: int = 2, **replies: Any) -> None:
        self.keys, self.run, self.settings = (
            dict.fromkeys("abc"),
            "job-1",
            RequestSettings(min_sites=min_sites),
        )
        self.replies, self.asked = replies, list[tuple[Any, ...]]()
        self.missed = MissedRequests(Path("no such folder"))
        self.least: list[int | None] = []

    def request(
        self,
        kind: str,
        round_no: int,
        exchange: str,
        sent: dict[str, bytes],
        least: int | None = None,
    ) -> Replies:
        self.asked.append((kind, round_no, exchange, dict(sent)))
        self.least.append(least)
        found = Replies()
        for site in sent:
            said = self.replies[kind](site)
            if isinstance(said, str):
                found.missing[site] = missing(said)
            else:
                subject = MessageSubject(
                    kind=kind,
                    run="job-1",
                    plan=bytes(32),
                    site=site,
                    round_no=0,
                    exchange=exchange,
                    nonce=bytes(16),
                )
                found.messages[site] = SignedMessage(subject, memoryview(pack(said)), b"", b"")
        return found


def missing(reason: str, cause: Any = "failed") -> MissingReply:
    return MissingReply(cause=cause, reason=reason)


def begun(site: str, clients: tuple[int, ...] = ()) -> BeginResponse:
    return BeginResponse(
        dim=5, with_rows=np.array(clients, "<i8").tobytes(), confirmation=site.encode() * 64
    )


def handshake(messenger: Any, plan: Any = None, **more: Any) -> Handshake:
    deployment = Deployment(run="job-1", **more)
    return Handshake(messenger, plan or plan_of(), SENT, deployment, Draws.seeded(3), b"r" * 32)


def agree_on_terms(messenger: Any, plan: Any = None, **more: Any) -> Any:
    data, with_rows = handshake(messenger, plan, **more).agree_on_terms("job-1")
    return unpack(data, BeginRequest), with_rows


def test_what_sites_agree_on() -> None:
    ranges = {"a": (0.0, 5.0), "b": (-1.0, 3.0), "c": (0.0, 1.0)}
    messenger = Messenger(
        open=lambda site: opened_by(
            site,
            clients=ord(site) - 90,
            seen=StatisticsBody(classes=[site], ranges={"age": ranges[site]}, categories={}),
        ),
        begin=begun,
    )
    begin, with_rows = agree_on_terms(messenger)
    terms = begin.read()
    assert with_rows.tolist() == []
    assert begin.confirmations == {site: site.encode() * 64 for site in "abc"}
    assert terms.members == [
        Member(
            site=site,
            first=first,
            clients=count,
            rows=100,
            test_rows=20,
            nonce=nonce(site),
            measures="noisy",
        )
        for site, first, count in (("a", 0, 7), ("b", 7, 8), ("c", 15, 9))
    ]
    assert (terms.run, terms.identity, terms.largest_weight, terms.read_record_key) == (
        "job-1",
        None,
        1,
        b"r" * 32,
    )
    assert terms.public == Draws.seeded(3).publish("public").key
    assert (terms.seen.classes, terms.seen.ranges) == (["a", "b", "c"], {"age": (-1.0, 5.0)})
    assert (terms.helpers, terms.helps) == ([], [])
    (kind, round_no, exchange, sent), (again, later, name, terms_sent) = messenger.asked
    assert (kind, round_no, exchange, again, later, name) == (
        "open",
        0,
        "open",
        "begin",
        0,
        "begin",
    )
    offer = pack(
        Offer(plan="text", settings="{}", tacit="1.2", simulated_noise=False, measures=True)
    )
    assert sent == dict.fromkeys("abc", offer)
    assert terms_sent == dict.fromkeys("abc", pack(BeginRequest(terms=begin.terms)))


def test_a_site_that_does_not_take_part_is_left_out() -> None:
    messenger = Messenger(
        open=lambda site: "its rows are not as the plan says" if site == "b" else opened_by(site),
        begin=begun,
    )
    begin, _ = agree_on_terms(messenger)
    assert [member.site for member in begin.read().members] == ["a", "c"]
    assert set(messenger.asked[1][3]) == {"a", "c"}


def test_too_few_sites() -> None:
    messenger = Messenger(
        open=lambda site: opened_by(site) if site == "a" else f"no {site}", begin=begun
    )
    with pytest.raises(RunError) as error:
        agree_on_terms(messenger)
    assert str(error.value) == "run job-1: needs 2 sites, and 1 takes part (b: no b; c: no c)"
    assert len(messenger.asked) == 1


def test_a_site_that_cannot_begin_stops_the_run() -> None:
    messenger = Messenger(
        open=opened_by, begin=lambda site: "it failed" if site in "bc" else begun(site)
    )
    with pytest.raises(RunError) as error:
        agree_on_terms(messenger)
    assert (
        str(error.value)
        == "run: a site that takes part cannot begin (b: it failed; c: it failed); start the plan"
        " anew"
    )

    wrong = Messenger(open=opened_by, begin=lambda site: SEEN if site == "b" else begun(site))
    with pytest.raises(
        RunError, match=r"cannot begin \(b: the message body is not a valid BeginResponse"
    ):
        agree_on_terms(wrong)


def test_sites_that_write_numbers_differently_are_told_what_to_do() -> None:
    def opened(site: str) -> OfferResponse:
        formats = {"age": (site == "b", True), "pay": (site == "c", True), "ward": (False, False)}
        return opened_by(site, seen=msgspec.structs.replace(SEEN, formats=formats))

    with pytest.raises(RunError) as error:
        agree_on_terms(Messenger(open=opened, begin=lambda site: "no"))
    assert (
        str(error.value).partition("; sites ")[2]
        == "write the numbers of 'age', 'pay' differently, some with a decimal point, some with a"
        " decimal comma: each owner sets decimal in site.toml, then start the plan anew"
    )


def test_the_identity_of_a_simulation_is_named_only_where_noise_is_simulated() -> None:
    messenger = Messenger(open=opened_by, begin=begun)
    assert agree_on_terms(messenger, identity="sim")[0].read().identity is None
    assert (
        agree_on_terms(messenger, identity="sim", simulated_noise=True)[0].read().identity == "sim"
    )
    assert unpack(messenger.asked[2][3]["a"], Offer).simulated_noise


def test_who_counts_how_much() -> None:
    messenger = Messenger(
        open=lambda site: opened_by(site, largest_weight=ord(site) - 90), begin=begun
    )
    assert agree_on_terms(messenger)[0].read().largest_weight == 1, (
        "by the plan, whatever a site says"
    )
    capped = plan_of(
        server={"rounds": 2, "weights": "capped", "weight_cap": 8}, codec={"name": "plain"}
    )
    assert agree_on_terms(messenger, capped)[0].read().largest_weight == 8
    nothing = Messenger(open=lambda site: opened_by(site, largest_weight=0), begin=begun)
    assert agree_on_terms(nothing, capped)[0].read().largest_weight == 1


def test_helpers() -> None:
    messenger, plan = (
        Messenger(open=opened_by, begin=begun),
        plan_of(secure_aggregation={"helpers": 2}),
    )
    terms = agree_on_terms(messenger, plan)[0].read()
    assert (terms.helps, terms.helpers) == (["a", "b"], [helper_key("a"), helper_key("b")])
    terms = agree_on_terms(messenger, plan, helpers=("c", "a"))[0].read()
    assert (terms.helps, terms.helpers) == (["c", "a"], [helper_key("c"), helper_key("a")])
    with pytest.raises(
        RunError, match=r"name 2 of the sites as helpers; the deployment names none$"
    ):
        handshake(messenger, plan)._helpers([])
    for helpers in (("a",), ("a", "z"), ("a", "b", "c")):
        with pytest.raises(RunError) as error:
            agree_on_terms(messenger, plan, helpers=helpers)
        said = (
            "secure_aggregation.helpers = 2: name 2 of the sites as helpers; the deployment names "
        )
        assert str(error.value) == said + ", ".join(helpers)
    alone = Messenger(1, open=lambda site: opened_by(site) if site == "c" else "no", begin=begun)
    with pytest.raises(RunError, match=r"names c$"):
        agree_on_terms(alone, plan)
    assert agree_on_terms(messenger, helpers=("z",))[0].read().helps == []


def test_when_sites_are_asked_to_measure() -> None:
    hidden = plan_of(codec={"name": "hashcomb", "of": "weights", "x_min": -0.35, "x_max": 0.35})
    personal = replace(plan_of(), private=replace(plan_of().private, parameters=("lstm.*",)))
    assert Deployment(run="r").measures(plan_of())
    assert not Deployment(run="r", test="test.csv").measures(plan_of())
    assert Deployment(run="r", test="test.csv").measures(personal)
    assert Deployment(run="r", test="test.csv").measures(hidden)
    assert not handshake(Messenger(), test="test.csv").offer.measures


def test_a_site_speaks_for_its_own_clients_only() -> None:
    named = {"a": (0, 9, 10), "b": (9, 10, 19, 20), "c": (-1, 20, 29, 30)}
    messenger = Messenger(open=opened_by, begin=lambda site: begun(site, named[site]))
    assert agree_on_terms(messenger)[1].tolist() == [0, 9, 10, 19, 20, 29]
    assert agree_on_terms(Messenger(open=opened_by, begin=begun))[1].dtype == np.int64


def test_who_is_not_ready_hears_of_the_beginning_later() -> None:
    messenger = Messenger(2, begin=lambda site: begun(site) if site != "b" else "gone")
    begin = BeginRequest(terms=pack(terms_of()), confirmations={})
    begin_at_sites(messenger, begin)
    assert [one.body for one in messenger.missed.list_for("b", 1)] == [pack(begin)]
    assert messenger.missed.list_for("a", 1) == []
    assert messenger.asked == [("begin", 0, "begin", dict.fromkeys("abc", pack(begin)))]
    with pytest.raises(RunError) as error:
        begin_at_sites(
            Messenger(3, begin=lambda site: begun(site) if site != "b" else "gone"), begin
        )
    assert str(error.value) == "run job-1: needs 3 sites, and 2 is ready (b: gone)"


def test_only_chosen_sites_are_offered_the_run() -> None:
    messenger = Messenger(1, open=opened_by, begin=begun)
    begin, _ = agree_on_terms(messenger, sites=("c", "a"))
    assert sorted(messenger.asked[0][3]) == ["a", "c"]
    assert [member.site for member in begin.read().members] == ["a", "c"]
    assert messenger.least == [1, 1], "nobody waits longer than the grace for a site that left"


@pytest.mark.parametrize(
    ("causes", "kind"),
    [
        (("policy", "policy"), PolicyError),
        (("policy", "absent"), PolicyError),
        (("budget", "late"), BudgetError),
        (("failed", "absent"), RunError),
    ],
)
def test_what_stops_a_run_decides_its_exit_code(causes, kind) -> None:
    replies = Replies(missing={"b": missing("no", causes[0]), "c": missing("no", causes[1])})
    with pytest.raises(kind):
        check_quorum(Messenger(2), "takes part", {"a": 1}, replies)
    with pytest.raises(RunError if "absent" in causes or "late" in causes else kind):
        check_quorum(Messenger(3), "takes part", {"a": 1}, replies)


def test_a_run_needs_one_site_at_least() -> None:
    messenger = Messenger(0)
    check_quorum(messenger, "takes part", {"a": 1}, Replies())
    with pytest.raises(RunError) as error:
        check_quorum(messenger, "takes part", {}, Replies())
    assert str(error.value) == "run job-1: needs 1 sites, and 0 takes part (no site is registered)"
    with pytest.raises(RunError, match=r"\(a: no; b: no\)"):
        check_quorum(
            messenger, "takes part", {}, Replies(missing={"b": missing("no"), "a": missing("no")})
        )
