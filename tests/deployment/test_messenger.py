"""Requests to sites and their replies: sent again while a site is silent; only a signed reply to this very request counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tacit.deployment.bodies import BeginRequest, Offer, pack
from tacit.deployment.server import messenger as module
from tacit.deployment.server.absence.missed_requests import MissedRequests
from tacit.deployment.server.absence.missing_replies import REASONS, MissingReply, clean_rule_names
from tacit.deployment.server.messenger import Messenger, RequestSettings
from tacit.deployment.server.open_exchange import Replies
from tacit.deployment.server.receipts import Receipts
from tacit.protocol.messages.signed_message import MessageSubject, SignedMessage, read, write

KEYS = {site: ec.derive_private_key(number, ec.SECP384R1()) for number, site in enumerate("ab", 11)}
PLAN = hashlib.sha256(b"plan").digest()


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 100.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class SiteTransport:
    """Replies at once, as `answer` says: bytes, None for a message that was not delivered, or nothing at all."""

    def __init__(self, answer: Callable[[str, SignedMessage, int], Any]) -> None:
        self.answer, self.sent, self.replies, self.there = (
            answer,
            list[tuple[str, SignedMessage]](),
            [],
            {"a": True, "b": True},
        )

    def online(self) -> dict[str, bool]:
        return self.there

    def send(self, site: str, message: bytes) -> str:
        self.sent.append((site, read(message)))
        mark = f"mark {len(self.sent)}"
        found = self.answer(site, self.sent[-1][1], sum(1 for one, _ in self.sent if one == site))
        if found is not ...:
            self.replies.append((mark, found))
        return mark

    def collect(self) -> list[tuple[str, bytes | None]]:
        replies, self.replies = self.replies, []
        return replies

    def close(self, done: bool) -> None: ...


def reply(message: SignedMessage, body: bytes = b"body", site: str = "", **changes: Any) -> bytes:
    subject = msgspec.structs.replace(message.subject, **{"status": "ok", **changes})
    return write(subject, body, KEYS[site or message.subject.site])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def mail_over(transport: SiteTransport, folder: Path, **settings: Any) -> Messenger:
    patience = RequestSettings(
        **{"deadline": 10.0, "retry_after": 3.0, "poll_interval": 1.0, **settings}
    )
    keys = {site: key.public_key() for site, key in KEYS.items()}
    return Messenger(
        transport, patience, "job-1", PLAN, keys, Receipts(folder), MissedRequests(folder)
    )


def test_a_request_and_its_replies(tmp_path: Path, clock: Clock) -> None:
    transport, heard = (
        SiteTransport(
            lambda site, message, count: reply(message, site.encode(), entries=2, head=b"h" * 32)
        ),
        list[str](),
    )
    messenger = mail_over(transport, tmp_path)
    found = messenger.request("ask", 3, "train", {"b": b"to b", "a": b"to a"}, heard.append)
    assert {site: bytes(message.body) for site, message in found.messages.items()} == {
        "a": b"a",
        "b": b"b",
    }
    assert (found.missing, heard, clock.slept) == ({}, ["a", "b"], [])
    (site, message), (_, other) = transport.sent
    assert (site, bytes(message.body)) == ("a", b"to a")
    assert message.subject == MessageSubject(
        kind="ask", run="job-1", plan=PLAN, site="a", round_no=3, exchange="train", nonce=message.subject.nonce
    )  # fmt: skip
    assert message.subject.nonce != other.subject.nonce
    messenger.request("ask", 4, "train", {"a": b""})
    assert (transport.sent[-1][1].subject.entries, transport.sent[-1][1].subject.head) == (
        2,
        b"h" * 32,
    )
    assert Receipts(tmp_path).of("b") == (2, b"h" * 32)


def test_a_silent_site_is_asked_again_until_the_deadline(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(lambda site, message, count: ... if site == "b" else reply(message))
    found = mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b"", "b": b""})
    assert list(found.messages) == ["a"]
    assert found.missing == {
        "b": MissingReply(cause="late", reason="no valid reply within 10 seconds", seconds=10.0)
    }
    assert [site for site, _ in transport.sent] == ["a", "b", "b", "b"]
    assert clock.slept == [1.0] * 10
    nonces = {message.subject.nonce for site, message in transport.sent if site == "b"}
    assert len(nonces) == 1, "the same request, to the bit"


def test_a_late_reply_to_the_first_request_counts(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(lambda site, message, count: ... if count == 1 else reply(message))
    found = mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b""})
    assert list(found.messages) == ["a"]
    assert clock.slept == [1.0] * 4


def test_what_was_not_delivered_is_sent_again_at_once(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(lambda site, message, count: None if count == 1 else reply(message))
    found = mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b""})
    assert (list(found.messages), clock.slept) == (["a"], [1.0])


def test_nobody_is_asked_who_is_not_there(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(lambda site, message, count: reply(message))
    transport.there = {"a": False}
    found = mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b"", "b": b""})
    assert (transport.sent, set(found.missing)) == ([], {"a", "b"})


def test_one_reply_that_does_not_count_hides_no_other(tmp_path: Path, clock: Clock) -> None:
    for first in (None, b"nonsense"):
        transport = SiteTransport(
            lambda site, message, count, first=first: (
                first if (site, count) == ("a", 1) else reply(message)
            )
        )
        heard = list[str]()
        mail_over(transport, tmp_path, retry_after=0.0).request(
            "ask", 1, "train", {"a": b"", "b": b""}, heard.append
        )
        assert heard == ["b", "a"]
        assert [site for site, _ in transport.sent] == ["a", "b", "a"]


def test_marks_that_nobody_gave_out_are_passed_over(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(lambda site, message, count: reply(message))
    transport.replies.append(("mark of another run", b"nonsense"))
    messenger = mail_over(transport, tmp_path)
    assert list(messenger.request("ask", 1, "train", {"a": b""}).messages) == ["a"]
    assert (clock.slept, messenger.rejected) == ([], {})


def test_several_requests_that_were_not_delivered(tmp_path: Path, clock: Clock) -> None:
    def answer(site: str, message: SignedMessage, count: int) -> Any:
        if count == 2:
            transport.replies += [("mark 1", None), ("mark 2", None)]
        return reply(message) if count == 3 else ...

    transport = SiteTransport(answer)
    assert list(mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b""}).messages) == [
        "a"
    ]


WRONG: dict[str, tuple[Callable[[SignedMessage], bytes], str]] = {
    "kind": (lambda message: reply(message, kind="open"), "kind must be 'ask', got 'open'"),
    "run": (lambda message: reply(message, run="job-2"), "run must be 'job-1', got 'job-2'"),
    "plan": (
        lambda message: reply(message, plan=bytes(32)),
        f"plan must be {PLAN.hex()[:16]}, got 0000000000000000",
    ),
    "round": (lambda message: reply(message, round_no=2), "round_no must be 1, got 2"),
    "exchange": (
        lambda message: reply(message, exchange="votes"),
        "exchange must be 'train', got 'votes'",
    ),
    "nonce": (lambda message: reply(message, nonce=bytes(16)), "got 0000000000000000"),
    "status": (
        lambda message: reply(message, status=""),
        "message of site 'a' refused: it has no status",
    ),
    "signature": (
        lambda message: reply(message, site="b"),
        "message of site 'a' refused: it is not signed with the site's key",
    ),
    "bytes": (lambda message: b"nonsense", "not a Tacit message"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_reply_that_is_not_what_was_asked_for_is_refused_and_counted(
    tmp_path: Path, clock: Clock, case: str
) -> None:
    make, why = WRONG[case]
    transport, noted = (
        SiteTransport(lambda site, message, count: make(message) if count == 1 else reply(message)),
        list[tuple[str, str]](),
    )
    messenger = mail_over(transport, tmp_path)
    messenger.on_rejected = lambda site, why: noted.append((site, why))
    found = messenger.request("ask", 1, "train", {"a": b""})
    assert list(found.messages) == ["a"], "the site may still answer"
    assert messenger.rejected == {"a": 1}
    assert [site for site, _ in noted] == ["a"]
    assert why in noted[0][1]


def test_a_reply_under_another_sites_name(tmp_path: Path, clock: Clock) -> None:
    def swapped(site: str, message: SignedMessage, count: int) -> bytes:
        return write(
            msgspec.structs.replace(message.subject, site="b", status="ok"), b"", KEYS["b"]
        )

    messenger = mail_over(SiteTransport(swapped), tmp_path)
    assert set(messenger.request("ask", 1, "train", {"a": b""}).missing) == {"a"}
    assert messenger.rejected == {"a": 3}


def test_an_older_ledger_is_refused(tmp_path: Path, clock: Clock) -> None:
    entries = iter([5, 4])
    transport = SiteTransport(
        lambda site, message, count: (
            reply(message, entries=next(entries), head=b"h" * 32) if count < 3 else ...
        )
    )
    messenger = mail_over(transport, tmp_path)
    assert list(messenger.request("ask", 1, "train", {"a": b""}).messages) == ["a"]
    assert set(messenger.request("ask", 2, "train", {"a": b""}).missing) == {"a"}


def test_why_a_site_does_not_answer_is_said_in_words_of_the_server(
    tmp_path: Path, clock: Clock
) -> None:
    found = {}
    for status in REASONS:
        transport = SiteTransport(
            lambda site, message, count, status=status: reply(message, status=status)
        )
        found |= {status: mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b""})}
    assert {status: one.missing["a"].reason for status, one in found.items()} == REASONS
    assert not any(one.messages for one in found.values())
    transport = SiteTransport(
        lambda site, message, count: reply(
            message, status="policy", rule="limits.max_epsilon_per_run, allow/x-1"
        )
    )
    said = mail_over(transport, tmp_path).request("ask", 1, "train", {"a": b""}).missing["a"].reason
    assert said == "its owner's policy does not allow it (limits.max_epsilon_per_run, allow/x-1)"


def test_a_rule_is_quoted_only_if_it_is_one() -> None:
    assert (
        clean_rule_names("limits.max_parameters, share.min_k A-Z/9")
        == "limits.max_parameters, share.min_k A-Z/9"
    )
    for text in ("<script>", "a\nb", "é", "50 % off!"):
        assert clean_rule_names(text) == "it names no line of a policy"


def test_a_reply_that_holds_something_else_is_none(tmp_path: Path, clock: Clock) -> None:
    transport = SiteTransport(
        lambda site, message, count: reply(
            message, pack(Offer(plan="p") if site == "a" else BeginRequest(terms=b""))
        )
    )
    found = mail_over(transport, tmp_path).request("ask", 1, "train", {"b": b"", "a": b""})
    assert found.bodies(Offer) == {"a": Offer(plan="p")}
    assert found.missing["b"].reason.startswith("the message body is not a valid Offer (")
    assert Replies().bodies(Offer) == {}


def test_how_patient_a_run_is() -> None:
    assert RequestSettings() == RequestSettings(
        min_sites=1, deadline=600.0, retry_after=20.0, poll_interval=0.2, grace=4.0
    )
