"""Attacks of a malicious site on the server and the other sites, and of a server that cannot read a model on its clients."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.assembly.negotiated import read_negotiated
from tacit.codecs.hashcomb import build_quantiser
from tacit.codecs.sums.tokens import TokenTally
from tacit.deployment import bodies
from tacit.deployment.bodies import (
    MeasureResponse,
    OfferResponse,
    SiteRequest,
    SiteResponse,
    StatisticsBody,
)
from tacit.deployment.server.compare_sites import check_sites_agree
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import RunError
from tacit.negotiation import NegotiationTerms, save
from tacit.negotiation.result import bind_result
from tacit.printable import is_plain_name
from tacit.protocol import messages
from tacit.protocol.messages import signed_message
from tacit.randomness import PublicDraws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner
from tests.deployment.test_malicious import Attack
from tests.deployment.test_measures import Hospital, job, write_patients
from tests.deployment.test_new_attacks import Deployed, refused_in

Change = Callable[[signed_message.SignedMessage, Attack], bytes]
NAMES = ["\x1b[2Jup", "up\n", "\u202epu", "up\u200b", "up ", "", "\x00", "up\u2028"]


def opened_with(change: Callable[[OfferResponse], OfferResponse]) -> Change:
    return lambda message, attack: attack.signed(
        message, bodies.pack(change(bodies.unpack(message.body, OfferResponse)))
    )


def with_class(name: str) -> Change:
    def change(message: signed_message.SignedMessage, attack: Attack) -> bytes:
        tree: dict[str, Any] = msgspec.msgpack.decode(message.body)
        tree["seen"]["classes"].append(name)
        return attack.signed(message, msgspec.msgpack.encode(tree))

    return change


def test_a_class_that_looks_like_another_joins_nobodys_classes(tmp_path) -> None:
    """Before, a class with control characters stood in everybody's model, report and terminal."""
    network = Deployed(tmp_path)
    for name in NAMES:
        place = network.run("open", with_class(name))
        entries = list(record.read(place / RECORD))
        assert record.select_entries(entries, record.Prepared)[0].classes == ["down", "up"]
        assert record.select_entries(entries, record.Prepared)[0].sites == 2, (
            "the site takes no part"
        )
        assert [
            "names of classes must differ and have no control" in one for one in refused_in(place)
        ] == [True]


@pytest.mark.parametrize("name", ["\x1b[2J", "yes\u200b", "yes"])
def test_a_site_takes_no_terms_with_such_a_class(tmp_path, name) -> None:
    hospital = Hospital(tmp_path)
    opened = hospital.server.open()
    assert opened
    assert hospital.server.begin(opened)
    other = HostileServer(hospital.server.site, hospital.plan, "job-2")
    opened = other.open()
    assert opened
    other.begin(opened)
    tree = msgspec.to_builtins(other.terms, builtin_types=(bytes,))
    tree["seen"]["classes"] = [*opened.seen.classes, name]
    third = HostileServer(hospital.server.site, hospital.plan, "job-3")
    third.open()
    third.send("begin", "begin", msgspec.msgpack.encode({"terms": msgspec.msgpack.encode(tree)}))
    assert third.status == "terms"
    assert (
        "names of classes must differ and have no control or invisible characters"
        in hospital.told[-1]
    )


def test_an_owners_own_rows_of_such_a_class_take_no_part(tmp_path) -> None:
    hospital = Hospital(tmp_path)
    text = hospital.rows.read_text().splitlines()
    hospital.rows.write_text(
        "\n".join(
            [
                text[0],
                *(f"{line}\u200b" if at < 60 else line for at, line in enumerate(text[1:])),
                "",
            ]
        )
    )
    opened = hospital.server.open()
    assert opened
    assert opened.seen.classes == ["no", "yes"]
    assert any(
        "60 rows are left out" in one and "a name with invisible characters" in one
        for one in hospital.told
    )


@pytest.mark.parametrize(
    ("name", "plain"),
    [("type 2", True), ("größe", True), ("名", True), ("C++ <b>", True), ("a\tb", False)],
)
def test_plain_names(name, plain) -> None:
    assert is_plain_name(name) == plain


def test_a_site_that_claims_too_many_clients_is_named(tmp_path) -> None:
    """Before, the server ended with an error of its own, and nobody knew which site it was."""
    claim = opened_with(lambda opened: msgspec.structs.replace(opened, clients=10_000_000))
    with pytest.raises(
        RunError,
        match=(
            "at most 10,000,000 clients, and the sites say they have more, site 'b' alone"
            " 10,000,000"
        ),
    ):
        Deployed(tmp_path).run("open", claim)


def test_a_site_whose_names_of_clients_are_none_is_named_before_round_one(tmp_path) -> None:
    """Before, three bytes in place of the names of clients ended the run, without a word on which site it was."""

    def change(message: signed_message.SignedMessage, attack: Attack) -> bytes:
        tree: dict[str, Any] = msgspec.msgpack.decode(message.body)
        return attack.signed(message, msgspec.msgpack.encode({**tree, "with_rows": b"123"}))

    with pytest.raises(RunError, match=r"cannot begin \(b: .*names of clients have 8 bytes each"):
        Deployed(tmp_path).run("begin", change)


def test_a_letter_full_of_messages_is_one_line_of_the_record(tmp_path) -> None:
    """Before, 300,000 empty messages in one letter were 300,000 lines of the record, and a minute of the server's time."""
    network = Deployed(tmp_path)
    flood = bodies.pack(SiteResponse(frames=[(b"", b"")] * 20_000))
    place = network.run("ask", lambda message, attack: attack.signed(message, flood))
    assert len(refused_in(place)) == 8
    assert "it sent 20,000 messages, of which 7 are read" in refused_in(place)[0]


def test_the_digest_of_a_model_confirms_no_guess(tmp_path) -> None:
    """Tokens that only clients read: the server passes one client's message off as the sum and is told the digest of the model that
    clients read from it. Before, it was a plain hash, and with few parameters all updates are tried in no time.
    """
    levels, secret = 6, tmp_path / "agreed.json"
    save(
        bind_result(
            NegotiationTerms(run="readmissions", parties=3, levels=levels, enlargement=2.0),
            -0.5,
            0.5,
            os.urandom(16),
        ),
        secret,
    )
    plan = job(
        data={"source": "given", "columns": {"client": "patient", "numeric": ["age"], "label": "readmitted"}},
        features={"ranges": {"age": [0, 100]}}, codec={"name": "hashcomb", "agreed": str(secret), "levels": levels},
        model={"name": "logistic", "start": "zero"}, server={"rounds": 1},
    )  # fmt: skip
    rows = write_patients(tmp_path / "rows.csv", 40)
    server = HostileServer(
        OwnerSite(owner("a", rows, tmp_path / "a", GENEROUS, agreed=str(secret))), plan
    ).start()

    def asked(payload: Any, round_no: int, weight: int) -> bytes:
        to = np.arange(40 if round_no == 1 else 0).astype("<i8").tobytes()
        head, body = messages.frame(
            messages.Header(
                server.terms.run, round_no, 0, "sum", server.dim, weight, payload.nbytes
            ),
            payload,
        )
        return bodies.pack(SiteRequest(to=to, everyone=80, head=bytes(head), payload=bytes(body)))

    answers = bodies.unpack(
        server.send("ask", "train", asked(np.zeros(0, np.uint8), 1, 0), 1).body, SiteResponse
    )
    alone = TokenTally(server.dim, 1 << levels)
    alone.add(np.frombuffer(answers.frames[7][1], np.uint8), 1, PublicDraws(b"p" * 32))
    measured = bodies.unpack(
        server.send("measure", "measure", asked(alone.pack(), 2, 1), 1).body, MeasureResponse
    )
    settings, at_finest = read_negotiated(plan), np.full(2, levels, np.uint8)
    assert settings is not None
    quantiser = build_quantiser(settings.settings, (2,))
    pairs = itertools.product(range(1 << levels), repeat=2)
    tried = (
        quantiser.middles(np.array(pair, np.uint32), at_finest).astype(np.float32) for pair in pairs
    )
    assert measured.model not in {hashlib.sha256(one.tobytes()).digest() for one in tried}


STRANGE_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "another picture size": (
        {"pixels": 784},
        "site 'b' has pictures of 784 values; the other sites have no pictures",
    ),
    "a column of its own": (
        {"ranges": {"age": (0.0, 1.0)}},
        "site 'b' has a range of numbers for 1 columns ('age'); the other",
    ),
    "other categories": (
        {"categories": {"town\x1b": ["x"]}},
        r"site 'b' has categories for 1 columns ('town\x1b'); the other sites",
    ),
}


@pytest.mark.parametrize("case", STRANGE_ROWS)
def test_a_site_that_says_other_things_of_its_rows_is_named(tmp_path, case) -> None:
    """Before, it ended the run: "got 2 sizes", or a KeyError, and nobody knew which site it was."""
    changes, sentence = STRANGE_ROWS[case]

    other = opened_with(
        lambda one: msgspec.structs.replace(one, seen=msgspec.structs.replace(one.seen, **changes))
    )
    with pytest.raises(RunError, match=re.escape(sentence)):
        Deployed(tmp_path).run("open", other)


def test_where_as_many_sites_say_one_thing_as_another_all_are_named() -> None:
    seen = {
        site: StatisticsBody(classes=["x"], ranges={}, categories={}, pixels=size)
        for site, size in (("a", 784), ("b", 3072))
    }
    with pytest.raises(
        RunError,
        match="site 'a' has pictures of 784 values; site 'b' has pictures of 3,072 values; scale",
    ):
        check_sites_agree("job", seen)
    check_sites_agree("job", {"a": seen["a"], "b": seen["a"]})
