"""Sites that come and go: nobody waits for one that has left, and it is asked again when it returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.deployment.server import messenger as module
from tacit.deployment.server.absence.missed_requests import MissedRequests
from tacit.deployment.server.absence.missing_replies import MissingReply
from tacit.deployment.server.absence.presence import Presence
from tacit.deployment.server.messenger import Messenger
from tacit.protocol.messages.signed_message import SignedMessage
from tests.deployment.test_messenger import Clock, SiteTransport, mail_over, reply


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def respond(site: str, message: SignedMessage, count: int) -> bytes:
    return reply(message)


def messenger_over(transport: SiteTransport, folder: Path, **settings: Any) -> Messenger:
    return mail_over(
        transport, folder, **{"deadline": 600.0, "retry_after": 20.0, "grace": 5.0, **settings}
    )


def test_a_grace_is_given_once() -> None:
    presence = Presence(5.0)
    presence.update({"a": True, "b": False}, 100.0)
    assert [presence.has_left("b", moment) for moment in (100.0, 104.9, 105.0)] == [
        False,
        False,
        True,
    ]
    presence.update({"a": True, "b": False}, 200.0)
    assert presence.has_left("b", 200.0), "its absence began at 100"
    presence.update({"a": True, "b": True}, 201.0)
    assert not presence.has_left("b", 300.0)
    presence.update({"a": True, "b": False}, 301.0)
    assert not presence.has_left("b", 302.0), "a second absence has its own grace"
    assert presence.has_left("z", 302.0), "nobody waits for a site that is not registered"


def test_an_absent_site_costs_the_grace_once(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(respond)
    transport.there = {"a": True, "b": False}
    messenger = messenger_over(transport, tmp_path)
    found = messenger.request("ask", 1, "train", {"a": b"", "b": b""}, least=1)
    assert list(found.messages) == ["a"]
    assert found.missing == {
        "b": MissingReply(cause="absent", reason="it is absent", seconds=5.0, asked=False)
    }
    assert sum(clock.slept) == 5.0
    messenger.request("ask", 2, "train", {"a": b"", "b": b""}, least=1)
    assert sum(clock.slept) == 5.0, "no second grace"
    transport.there = {"a": True, "b": True}
    back = messenger.request("ask", 3, "train", {"a": b"", "b": b""}, least=1)
    assert list(back.messages) == ["a", "b"]


def test_a_site_that_leaves_before_it_replies(tmp_path: Path, clock: Clock) -> None:
    def leaves(site: str, message: SignedMessage, count: int) -> Any:
        if site == "b":
            transport.there = {"a": True, "b": False}
            return ...
        return reply(message)

    transport = SiteTransport(leaves)
    found = messenger_over(transport, tmp_path).request(
        "ask", 1, "train", {"a": b"", "b": b""}, least=1
    )
    assert found.missing["b"].cause == "absent"
    assert found.missing["b"].reason == "it left before it replied"
    assert found.missing["b"].asked
    assert sum(clock.slept) <= 7.0


def test_a_site_that_returns_within_the_grace_is_asked(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(respond)
    looks = iter([False, False, True, True])
    transport.online = lambda: {"a": True, "b": next(looks)}  # type: ignore[method-assign]
    found = messenger_over(transport, tmp_path).request(
        "ask", 1, "train", {"a": b"", "b": b""}, least=1
    )
    assert list(found.messages) == ["a", "b"]


def test_nobody_goes_on_without_the_sites_that_are_needed(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(respond)
    transport.there = {"a": True, "b": False}
    found = messenger_over(transport, tmp_path, deadline=60.0).request(
        "ask", 1, "train", {"a": b"", "b": b""}, least=2
    )
    assert found.missing["b"].seconds == 60.0


def test_nobody_waits_where_it_cannot_help(tmp_path: Path, clock: Clock) -> None:
    """Site a refuses, so two replies are impossible, even if another site returns."""
    transport = SiteTransport(lambda site, message, count: reply(message, status="policy"))
    transport.there = {"a": True, "b": False}
    found = messenger_over(transport, tmp_path).request(
        "open", 0, "open", {"a": b"", "b": b""}, least=2
    )
    assert {site: one.cause for site, one in found.missing.items()} == {
        "a": "policy",
        "b": "absent",
    }
    assert sum(clock.slept) == 5.0


def test_a_site_that_was_revoked_is_not_waited_for(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(respond)
    transport.there = {"a": True}
    found = messenger_over(transport, tmp_path).request(
        "ask", 1, "train", {"a": b"", "b": b""}, least=1
    )
    assert found.missing["b"].reason == "the server does not admit it"
    assert sum(clock.slept) <= 1.0


def test_what_a_site_missed_comes_first_when_it_returns(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(respond)
    messenger = messenger_over(transport, tmp_path)
    messenger.missed.add_beginning("b", b"begin")
    messenger.missed.add_sum("b", 1, "train", b"sum 1")
    messenger.missed.add_sum("b", 2, "train", b"sum 2")
    found = messenger.request("ask", 3, "train", {"a": b"now", "b": b"now"}, least=1)
    to_b = [
        (one.subject.kind, one.subject.round_no, bytes(one.body))
        for site, one in transport.sent
        if site == "b"
    ]
    assert to_b == [
        ("begin", 0, b"begin"),
        ("ask", 1, b"sum 1"),
        ("ask", 2, b"sum 2"),
        ("ask", 3, b"now"),
    ]
    assert list(found.messages) == ["a", "b"]
    assert messenger.missed.list_for("b", 9) == []
    assert not list(tmp_path.glob("missed/*/*.bin"))


def test_missed_sums_outlive_the_server(tmp_path: Path) -> None:
    missed = MissedRequests(tmp_path)
    missed.add_beginning("b", b"begin")
    for number in (9, 10):
        missed.add_sum("b", number, "train", b"sum %d" % number)
    missed.add_sum("b", 9, "train", b"another")
    again = MissedRequests(tmp_path)
    assert [(one.kind, one.round_no, one.body) for one in again.list_for("b", 11)] == [
        ("ask", 9, b"sum 9"),
        ("ask", 10, b"sum 10"),
    ]
    assert [one.round_no for one in again.list_for("b", 10)] == [9]
    again.drop_round("b", 9)
    assert [one.round_no for one in MissedRequests(tmp_path).list_for("b", 11)] == [10]
    again.clear()
    assert not list(tmp_path.iterdir())


def test_who_is_asked_absent_or_there_is_shown(tmp_path: Path, clock: Clock) -> None:
    transport, shown = SiteTransport(respond), list[tuple[str, str, float]]()
    transport.there = {"a": True, "b": False}
    messenger = messenger_over(transport, tmp_path)
    messenger.on_state = lambda one: shown.append((one.site, one.state, one.seconds))
    messenger.request("ask", 1, "train", {"a": b"", "b": b""}, least=1)
    assert shown == [
        ("b", "absent", 5.0),
        ("a", "asked", 600.0),
        ("a", "replied", 0.0),
        ("b", "absent", 5.0),
    ]
