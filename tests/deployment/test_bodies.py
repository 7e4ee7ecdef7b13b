"""Bodies of messages: what is sent arrives as it was, and whatever is malformed or contradicts itself is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tacit.column_statistics.number_format import NumberFormat
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.deployment import bodies
from tacit.deployment.bodies import (
    MAX_CLIENTS,
    BeginRequest,
    Offer,
    RecordHead,
    SiteRequest,
    StatisticsBody,
    Terms,
    pack,
    read_names,
    unpack,
)
from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.round import Request
from tacit.runs.record import SignedHead
from tests.deployment.agreements import SEEN, members, terms_of

FRAME = messages.frame(
    messages.Header("job-1", 3, 0, "plain", 5, 1, 7), np.frombuffer(b"payload", np.uint8)
)


def test_what_features_must_know() -> None:
    seen = ColumnStatistics(
        classes=("no", "yes"), ranges={"age": (0.0, 120.0)}, categories={"ward": ("a", "b")}, pixels=64, missing=("age",),
        formats={"age": NumberFormat(comma=True), "pay": NumberFormat(unclear=True)},
    )  # fmt: skip
    sent = StatisticsBody.of(seen)
    assert sent == StatisticsBody(
        classes=["no", "yes"], ranges={"age": (0.0, 120.0)}, categories={"ward": ["a", "b"]}, pixels=64, missing=["age"],
        formats={"age": (True, False), "pay": (False, True)},
    )  # fmt: skip
    assert unpack(pack(sent), StatisticsBody).statistics() == seen


@pytest.mark.parametrize(
    "ends", [(1.0, 0.0), (float("nan"), 0.0), (0.0, float("nan")), (-2e300, 0.0), (0.0, 2e300)]
)
def test_ranges_are_finite_and_in_order(ends: tuple[float, float]) -> None:
    sentence = f"the range of column 'age' must be finite and in order, got {ends[0]} to {ends[1]}"
    with pytest.raises(ValueError, match="must be finite") as error:
        StatisticsBody(classes=[], ranges={"age": ends}, categories={})
    assert str(error.value) == sentence
    StatisticsBody(classes=[], ranges={"age": (1.0, 1.0), "pay": (-1e300, 1e300)}, categories={})


def test_members_are_numbered_one_after_the_other() -> None:
    terms = terms_of()
    assert (terms.clients, [terms.find_member(site).first for site in "abc"]) == (30, [0, 10, 20])
    assert [terms.find_site(client) for client in (-1, 0, 9, 10, 29, 30)] == [
        None,
        "a",
        "a",
        "b",
        "c",
        None,
    ]
    with pytest.raises(WireError) as error:
        terms.find_member("z")
    assert str(error.value) == "terms refused: need a line for site 'z', got none"
    one, two = members()[:2]
    with pytest.raises(
        ValueError, match="site 'b' must be listed once, with clients numbered from 0"
    ):
        terms_of(members=[two])
    with pytest.raises(
        ValueError, match="site 'a' must be listed once, with clients numbered from 10"
    ):
        terms_of(members=[one, msgspec.structs.replace(one, first=10)])
    with pytest.raises(
        ValueError, match="site 'c' must be listed once, with clients numbered from 20"
    ):
        terms_of(members=[one, two, msgspec.structs.replace(members()[2], first=21)])


def test_a_run_has_no_more_clients_than_anybody_can_hold() -> None:
    half = members(MAX_CLIENTS // 2, ("a", "b"))
    assert terms_of(members=half).clients == MAX_CLIENTS
    more = [half[0], msgspec.structs.replace(half[1], clients=MAX_CLIENTS // 2 + 1)]
    with pytest.raises(ValueError, match="a run has at most 10,000,000 clients, got 10,000,001"):
        terms_of(members=more)


def test_a_question_arrives_as_it_was() -> None:
    request = Request(exchange="train", round_no=3, to=np.array([4, 5]), frame=FRAME)
    question = SiteRequest.of(request, np.array([5, 258], np.int64), 9)
    assert (question.to, question.everyone) == (
        (5).to_bytes(8, "little") + (258).to_bytes(8, "little"),
        9,
    )
    again = unpack(pack(question), SiteRequest).request("votes", 4)
    assert (again.exchange, again.round_no, again.to.tolist()) == ("votes", 4, [5, 258])
    head, payload = again.frame
    assert (bytes(head), bytes(payload)) == (bytes(FRAME[0]), b"payload")
    payload[0] = 0  # its own copy
    with pytest.raises(WireError) as error:
        msgspec.structs.replace(question, to=b"12345678901").request("train", 3)
    assert str(error.value) == "request refused: names of clients have 8 bytes each, got 11 bytes"


def test_names() -> None:
    assert read_names(
        (2**40).to_bytes(8, "little") + (-1).to_bytes(8, "little", signed=True)
    ).tolist() == [2**40, -1]
    assert read_names(b"").dtype == np.int64
    with pytest.raises(WireError) as error:
        read_names(b"1234567")
    assert str(error.value) == "names refused: 7 bytes are not a multiple of 8"


def test_the_head_of_a_record() -> None:
    signed = SignedHead(length=7, head="ab" * 32, signature="cd" * 64)
    assert RecordHead.of(signed) == RecordHead(length=7, head=b"\xab" * 32, signature=b"\xcd" * 64)
    assert RecordHead.of(signed).signed() == signed


def test_another_body_is_refused() -> None:
    assert unpack(pack(Offer(plan="plan")), Offer) == Offer(
        plan="plan", simulated_noise=False, measures=True
    )
    for data in (pack(Offer(plan="plan")), b"", b"\xc1", b"\x81\xa4plan\xa1\xff"):
        with pytest.raises(WireError, match=r"the message body is not a valid StatisticsBody \("):
            unpack(data, StatisticsBody)
    assert BeginRequest(terms=pack(terms_of())).read() == terms_of()
    with pytest.raises(WireError, match="the message body is not a valid Terms"):
        BeginRequest(terms=pack(SEEN)).read()
    assert bodies.Terms is Terms
