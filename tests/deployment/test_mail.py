"""Requests to sites and their replies: sent again while a site is silent; only a signed reply to this very request counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tacit.deployment.bodies import Begin, Offer, pack
from tacit.deployment.server import mail as module
from tacit.deployment.server.mail import REASONS, Mail, Manner, Replies, named_rule
from tacit.deployment.server.receipts import Receipts
from tacit.protocol.messages.letter import Letter, Subject, read, write

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


class Post:
    """Replies at once, as `answer` says: bytes, None for a message that was not delivered, or nothing at all."""

    def __init__(self, answer: Callable[[str, Letter, int], Any]) -> None:
        self.answer, self.sent, self.replies, self.there = (
            answer,
            list[tuple[str, Letter]](),
            [],
            {"a": True, "b": True},
        )

    def online(self) -> dict[str, bool]:
        return self.there

    def send(self, site: str, letter: bytes) -> str:
        self.sent.append((site, read(letter)))
        mark = f"mark {len(self.sent)}"
        found = self.answer(site, self.sent[-1][1], sum(1 for one, _ in self.sent if one == site))
        if found is not ...:
            self.replies.append((mark, found))
        return mark

    def collect(self) -> list[tuple[str, bytes | None]]:
        replies, self.replies = self.replies, []
        return replies

    def close(self, done: bool) -> None: ...


def reply(letter: Letter, body: bytes = b"body", site: str = "", **changes: Any) -> bytes:
    subject = msgspec.structs.replace(letter.subject, **{"status": "ok", **changes})
    return write(subject, body, KEYS[site or letter.subject.site])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def mail_over(post: Post, folder: Path, **manner: Any) -> Mail:
    patience = Manner(**{"deadline": 10.0, "ask_again": 3.0, "look": 1.0, **manner})
    keys = {site: key.public_key() for site, key in KEYS.items()}
    return Mail(post, patience, "job-1", PLAN, keys, Receipts(folder))


def test_a_request_and_its_replies(tmp_path: Path, clock: Clock) -> None:
    post, heard = (
        Post(lambda site, letter, count: reply(letter, site.encode(), entries=2, head=b"h" * 32)),
        list[str](),
    )
    mail = mail_over(post, tmp_path)
    found = mail.ask("ask", 3, "train", {"b": b"to b", "a": b"to a"}, heard.append)
    assert {site: bytes(letter.body) for site, letter in found.letters.items()} == {
        "a": b"a",
        "b": b"b",
    }
    assert (found.missing, heard, clock.slept) == ({}, ["a", "b"], [])
    (site, letter), (_, other) = post.sent
    assert (site, bytes(letter.body)) == ("a", b"to a")
    assert letter.subject == Subject(
        kind="ask", run="job-1", plan=PLAN, site="a", round_no=3, exchange="train", nonce=letter.subject.nonce
    )  # fmt: skip
    assert letter.subject.nonce != other.subject.nonce
    mail.ask("ask", 4, "train", {"a": b""})
    assert (post.sent[-1][1].subject.entries, post.sent[-1][1].subject.head) == (2, b"h" * 32)
    assert Receipts(tmp_path).of("b") == (2, b"h" * 32)


def test_a_silent_site_is_asked_again_until_the_deadline(tmp_path: Path, clock: Clock) -> None:
    post = Post(lambda site, letter, count: ... if site == "b" else reply(letter))
    found = mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b"", "b": b""})
    assert list(found.letters) == ["a"]
    assert found.missing == {"b": "no valid reply within 10 seconds"}
    assert [site for site, _ in post.sent] == ["a", "b", "b", "b"]
    assert clock.slept == [1.0] * 10
    nonces = {letter.subject.nonce for site, letter in post.sent if site == "b"}
    assert len(nonces) == 1, "the same request, to the bit"


def test_a_late_reply_to_the_first_request_counts(tmp_path: Path, clock: Clock) -> None:
    post = Post(lambda site, letter, count: ... if count == 1 else reply(letter))
    found = mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b""})
    assert list(found.letters) == ["a"]
    assert clock.slept == [1.0] * 4


def test_what_was_not_delivered_is_sent_again_at_once(tmp_path: Path, clock: Clock) -> None:
    post = Post(lambda site, letter, count: None if count == 1 else reply(letter))
    found = mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b""})
    assert (list(found.letters), clock.slept) == (["a"], [1.0])


def test_nobody_is_asked_who_is_not_there(tmp_path: Path, clock: Clock) -> None:
    post = Post(lambda site, letter, count: reply(letter))
    post.there = {"a": False}
    found = mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b"", "b": b""})
    assert (post.sent, set(found.missing)) == ([], {"a", "b"})


def test_one_reply_that_does_not_count_hides_no_other(tmp_path: Path, clock: Clock) -> None:
    for first in (None, b"nonsense"):
        post = Post(
            lambda site, letter, count, first=first: (
                first if (site, count) == ("a", 1) else reply(letter)
            )
        )
        heard = list[str]()
        mail_over(post, tmp_path, ask_again=0.0).ask(
            "ask", 1, "train", {"a": b"", "b": b""}, heard.append
        )
        assert heard == ["b", "a"]
        assert [site for site, _ in post.sent] == ["a", "b", "a"]


def test_marks_that_nobody_gave_out_are_passed_over(tmp_path: Path, clock: Clock) -> None:
    post = Post(lambda site, letter, count: reply(letter))
    post.replies.append(("mark of another run", b"nonsense"))
    mail = mail_over(post, tmp_path)
    assert list(mail.ask("ask", 1, "train", {"a": b""}).letters) == ["a"]
    assert (clock.slept, mail.rejected) == ([], {})


def test_several_requests_that_were_not_delivered(tmp_path: Path, clock: Clock) -> None:
    def answer(site: str, letter: Letter, count: int) -> Any:
        if count == 2:
            post.replies += [("mark 1", None), ("mark 2", None)]
        return reply(letter) if count == 3 else ...

    post = Post(answer)
    assert list(mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b""}).letters) == ["a"]


WRONG: dict[str, tuple[Callable[[Letter], bytes], str]] = {
    "kind": (lambda letter: reply(letter, kind="open"), "needs kind 'ask', got 'open'"),
    "run": (lambda letter: reply(letter, run="job-2"), "needs run 'job-1', got 'job-2'"),
    "plan": (
        lambda letter: reply(letter, plan=bytes(32)),
        f"needs plan {PLAN.hex()[:16]}, got 0000000000000000",
    ),
    "round": (lambda letter: reply(letter, round_no=2), "needs round_no 1, got 2"),
    "exchange": (
        lambda letter: reply(letter, exchange="votes"),
        "needs exchange 'train', got 'votes'",
    ),
    "nonce": (lambda letter: reply(letter, nonce=bytes(16)), "got 0000000000000000"),
    "status": (
        lambda letter: reply(letter, status=""),
        "letter of site 'a' refused: needs a status, got none",
    ),
    "signature": (
        lambda letter: reply(letter, site="b"),
        "letter of site 'a' refused: needs its signature, got another",
    ),
    "bytes": (lambda letter: b"nonsense", "not a Tacit letter"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_reply_that_is_not_what_was_asked_for_is_refused_and_counted(
    tmp_path: Path, clock: Clock, case: str
) -> None:
    make, why = WRONG[case]
    post, noted = (
        Post(lambda site, letter, count: make(letter) if count == 1 else reply(letter)),
        list[tuple[str, str]](),
    )
    mail = mail_over(post, tmp_path)
    mail.on_rejected = lambda site, why: noted.append((site, why))
    found = mail.ask("ask", 1, "train", {"a": b""})
    assert list(found.letters) == ["a"], "the site may still answer"
    assert mail.rejected == {"a": 1}
    assert [site for site, _ in noted] == ["a"]
    assert why in noted[0][1]


def test_a_reply_under_another_sites_name(tmp_path: Path, clock: Clock) -> None:
    def swapped(site: str, letter: Letter, count: int) -> bytes:
        return write(msgspec.structs.replace(letter.subject, site="b", status="ok"), b"", KEYS["b"])

    mail = mail_over(Post(swapped), tmp_path)
    assert set(mail.ask("ask", 1, "train", {"a": b""}).missing) == {"a"}
    assert mail.rejected == {"a": 3}


def test_an_older_ledger_is_refused(tmp_path: Path, clock: Clock) -> None:
    entries = iter([5, 4])
    post = Post(
        lambda site, letter, count: (
            reply(letter, entries=next(entries), head=b"h" * 32) if count < 3 else ...
        )
    )
    mail = mail_over(post, tmp_path)
    assert list(mail.ask("ask", 1, "train", {"a": b""}).letters) == ["a"]
    assert set(mail.ask("ask", 2, "train", {"a": b""}).missing) == {"a"}


def test_why_a_site_does_not_answer_is_said_in_words_of_the_server(
    tmp_path: Path, clock: Clock
) -> None:
    found = {}
    for status in REASONS:
        post = Post(lambda site, letter, count, status=status: reply(letter, status=status))
        found |= {status: mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b""})}
    assert {status: one.missing["a"] for status, one in found.items()} == REASONS
    assert not any(one.letters for one in found.values())
    post = Post(
        lambda site, letter, count: reply(
            letter, status="policy", rule="limits.max_epsilon_per_run, allow/x-1"
        )
    )
    said = mail_over(post, tmp_path).ask("ask", 1, "train", {"a": b""}).missing["a"]
    assert said == "its owner's policy does not allow it (limits.max_epsilon_per_run, allow/x-1)"


def test_a_rule_is_quoted_only_if_it_is_one() -> None:
    assert (
        named_rule("limits.max_parameters, share.min_k A-Z/9")
        == "limits.max_parameters, share.min_k A-Z/9"
    )
    for text in ("<script>", "a\nb", "é", "50 % off!"):
        assert named_rule(text) == "it names no line of a policy"


def test_a_reply_that_holds_something_else_is_none(tmp_path: Path, clock: Clock) -> None:
    post = Post(
        lambda site, letter, count: reply(
            letter, pack(Offer(plan="p") if site == "a" else Begin(terms=b""))
        )
    )
    found = mail_over(post, tmp_path).ask("ask", 1, "train", {"b": b"", "a": b""})
    assert found.bodies(Offer) == {"a": Offer(plan="p")}
    assert found.missing["b"].startswith("letter refused: needs Offer, got something else (")
    assert Replies().bodies(Offer) == {}


def test_how_patient_a_run_is() -> None:
    assert Manner() == Manner(least_sites=1, deadline=600.0, ask_again=20.0, look=0.2)
