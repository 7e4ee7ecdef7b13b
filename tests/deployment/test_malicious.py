"""What a malicious site or server sends is refused, named and counted; the model is the one without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tacit.deployment import bodies
from tacit.deployment.bodies import Offer, OfferResponse, SiteRequest, SiteResponse
from tacit.deployment.server.job import deploy
from tacit.deployment.site.owner_site import OwnerSite
from tacit.privacy.policy import Limits, SiteLedger
from tacit.protocol import messages
from tacit.protocol.messages import signed_message
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal
from tests.deployment.local_post import model_of, owner, sites_of
from tests.simulation.small import small_plan, write_csv

Change = Callable[[signed_message.SignedMessage, "Attack"], bytes]


class Attack:
    """Site b has turned: from what it would honestly reply in a round it makes something else."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self.key, self.before, self.earlier = key, b"", b""

    def signed(
        self, message: signed_message.SignedMessage, body: bytes | None = None, **changes: object
    ) -> bytes:
        subject = msgspec.structs.replace(message.subject, **changes)
        return signed_message.write(
            subject, bytes(message.body) if body is None else body, self.key
        )

    def frames(
        self,
        message: signed_message.SignedMessage,
        change: Callable[[messages.Header, bytes], tuple[messages.Header, bytes]],
    ) -> bytes:
        """Return the reply with every client's message changed."""
        made = []
        for head, payload in bodies.unpack(message.body, SiteResponse).frames:
            header, body = change(messages.parse(head, memoryview(payload)).header, payload)
            made.append((messages.encode_head(header), body))
        return self.signed(message, bodies.pack(SiteResponse(frames=made)))


def _header(**changes: object) -> Change:
    return lambda message, attack: attack.frames(
        message, lambda header, body: (msgspec.structs.replace(header, **changes), body)
    )


def _payload(value: float | bytes) -> Change:
    def change(header: messages.Header, body: bytes) -> tuple[messages.Header, bytes]:
        spoilt = (
            np.full(len(body) // 4, value, np.float32).tobytes()
            if isinstance(value, float)
            else body + value
        )
        return msgspec.structs.replace(header, payload_size=len(spoilt)), spoilt

    return lambda message, attack: attack.frames(message, change)


def _others(message: signed_message.SignedMessage, attack: Attack) -> bytes:
    """Answers under the names of another site's clients."""
    return attack.frames(
        message,
        lambda header, body: (msgspec.structs.replace(header, sender=header.sender - 7), body),
    )


def _forged(message: signed_message.SignedMessage, attack: Attack) -> bytes:
    return signed_message.write(
        message.subject, message.body, ec.generate_private_key(ec.SECP384R1())
    )


def _twice(message: signed_message.SignedMessage, attack: Attack) -> bytes:
    frames = bodies.unpack(message.body, SiteResponse).frames
    return attack.signed(message, bodies.pack(SiteResponse(frames=[*frames, *frames])))


ATTACKS: dict[str, Change] = {
    "not a letter": lambda message, attack: b"hello",
    "empty": lambda message, attack: b"",
    "cut short": lambda message, attack: attack.signed(message)[:-5],
    "a byte changed": lambda message, attack: attack.signed(message)[:-1] + b"\x00",
    "signed by another key": _forged,
    "not signed": lambda message, attack: signed_message.write(message.subject, message.body),
    "in another site's name": lambda message, attack: attack.signed(message, site="a"),
    "of another run": lambda message, attack: attack.signed(message, run="another"),
    "of another round": lambda message, attack: attack.signed(
        message, round_no=message.subject.round_no + 1
    ),
    "of another exchange": lambda message, attack: attack.signed(message, exchange="votes"),
    "of another plan": lambda message, attack: attack.signed(message, plan=bytes(32)),
    "another nonce": lambda message, attack: attack.signed(message, nonce=bytes(16)),
    "a replay": lambda message, attack: attack.earlier or b"",
    "no answers inside": lambda message, attack: attack.signed(message, b"\xc1nonsense"),
    "messages of another run": _header(run="another"),
    "messages of another round": _header(round_no=9),
    "messages of another codec": _header(codec="rr"),
    "another dimension": _header(dim=3),
    "weight zero": _header(weight=0),
    "a huge weight": _header(weight=10**12),
    "clients of another site": _others,
    "not a number": _payload(float("nan")),
    "infinite": _payload(float("inf")),
    "too long": _payload(b"1234"),
    "each message twice": _twice,
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Rehearsal:
    place = tmp_path_factory.mktemp("rows")
    server = {"rounds": 2, "weights": "rows"}
    return prepare_rehearsal(
        small_plan(write_csv(place / "reviews.csv"), codec={"name": "plain"}, server=server),
        place,
        3,
    )


def run(ready: Rehearsal, folder: Path, change: Change | None) -> Path:
    """Return a run in which site b stays silent, or in its place sends what an attack makes of its replies."""
    owners = [
        owner(name, rows, folder / name) for name, rows in zip("abc", ready.files, strict=True)
    ]
    sites, attack = sites_of(owners, min_sites=2, deadline=0.1), Attack(owners[1].key)

    def spoil(site: str, reply: bytes) -> bytes | None:
        message = signed_message.read(reply)
        if site != "b" or message.subject.kind != "ask":
            return reply
        sent = change(message, attack) if change else None
        attack.earlier = reply
        return sent

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    return deploy(ready.plan, sites, folder / "runs", simulated_noise=True, identity="same")


@pytest.fixture(scope="module")
def without(ready, tmp_path_factory) -> str:
    return model_of(run(ready, tmp_path_factory.mktemp("without"), None))


@pytest.fixture(scope="module")
def honest(ready, tmp_path_factory) -> str:
    return model_of(
        run(
            ready, tmp_path_factory.mktemp("honest"), lambda message, attack: attack.signed(message)
        )
    )


@pytest.mark.parametrize("kind", ATTACKS)
def test_attacks_of_a_site(ready, without, honest, tmp_path, kind) -> None:
    place = run(ready, tmp_path, ATTACKS[kind])
    refused = record.select_entries(list(record.read(place / RECORD)), record.Refused)
    if kind == "each message twice":  # the first of each counts, as if it were alone
        assert model_of(place) == honest != without
        assert len(refused) == 2  # rounds
        assert all("it sent 14 messages, of which 7 are read" in one.reason for one in refused)
        return
    assert model_of(place) == without
    assert refused
    assert all(one.reason for one in refused)


def test_a_server_without_checks_would_have_been_fooled(
    ready, without, tmp_path, monkeypatch
) -> None:
    """The twin: were weights not looked at, the attack would change the model."""
    from tacit.protocol.aggregation import Intake

    monkeypatch.setattr(Intake, "check", lambda *_: None)
    assert model_of(run(ready, tmp_path, _header(weight=10**6))) != without


def asked(
    site: OwnerSite, kind: str, body: bytes, **changes: object
) -> signed_message.SignedMessage:
    given = {
        "kind": kind, "run": "r-1", "plan": bytes(32), "site": "a", "round_no": 0, "exchange": kind, "nonce": bytes(16), **changes,
    }  # fmt: skip
    return signed_message.read(
        site.handle(signed_message.write(signed_message.MessageSubject(**given), body))
    )


def test_a_malicious_server(ready, tmp_path) -> None:
    """Questions that are not about an agreed run, round or client are not answered, and rows are not read for them."""
    told: list[str] = []
    site = OwnerSite(owner("a", tmp_path / "no such file.csv", tmp_path / "a", tell=told.append))
    from tacit import plan as plans

    text = plans.to_toml(ready.plan)
    assert (
        asked(site, "open", bodies.pack(Offer(plan=text))).subject.status == "question"
    )  # the hash is of another plan
    assert asked(site, "open", b"nonsense").subject.status == "question"
    assert asked(site, "ask", b"", exchange="train", round_no=1).subject.status == "unknown run"
    assert asked(site, "ask", b"", run="../../etc", exchange="train").subject.status == "question"
    assert site.handle(b"nonsense") == b""
    assert site.handle(signed_message.write(signed_message.MessageSubject(kind="open", run="r", plan=bytes(32), site="b", round_no=0, exchange="open",
                                                     nonce=bytes(16)), b"")) == b""  # fmt: skip
    assert not (tmp_path / "a" / "ledger.sqlite").exists()
    assert len(told) == 6


def test_a_question_is_answered_once(ready, tmp_path) -> None:
    """Asked again it sends the same; asked something else in the same round, for strangers, or beyond the plan, it refuses."""
    owners = [
        owner(name, rows, tmp_path / name) for name, rows in zip("abc", ready.files, strict=True)
    ]
    sites, kept = sites_of(owners), {}

    def listen(site: str, reply: bytes) -> bytes:
        return reply

    sites.transport.spoil = listen  # type: ignore[attr-defined]
    first = sites.transport.sites["a"]  # type: ignore[attr-defined]
    original = first.handle

    def keep(data: bytes) -> bytes:
        message = signed_message.read(data)
        if message.subject.kind == "ask":
            kept["letter"], kept["reply"] = message, original(data)
            again = signed_message.read(original(data))
            assert bytes(again.body) == bytes(signed_message.read(kept["reply"]).body)
            question = bodies.unpack(message.body, SiteRequest)
            other = msgspec.structs.replace(question, payload=question.payload[:-4] + b"\0\0\0\1")
            changes = {
                "answered": (other, {}),
                "question": (question, {"round_no": 99}),
                "question ": (question, {"exchange": "votes"}),
                "question  ": (
                    msgspec.structs.replace(question, to=np.array([15], "<i8").tobytes()),
                    {"round_no": 2},
                ),
            }
            for status, (body, subject) in changes.items():
                changed = msgspec.structs.replace(message.subject, **subject)
                if message.subject.round_no == 1:
                    assert (
                        signed_message.read(
                            original(signed_message.write(changed, bodies.pack(body)))
                        ).subject.status
                        == status.strip()
                    )
            return kept["reply"]
        return original(data)

    first.handle = keep
    job = dataclasses.replace(ready.plan, server=dataclasses.replace(ready.plan.server, rounds=1))
    deploy(job, sites, tmp_path / "runs")
    assert kept


def turned(ready: Rehearsal, folder: Path, heavy: bool) -> Path:
    """Return a run of clients that count alike, whose site b says that one of its own counts for a million, and acts on it."""
    owners = [
        owner(name, rows, folder / name) for name, rows in zip("abc", ready.files, strict=True)
    ]
    sites, attack = sites_of(owners, min_sites=2, deadline=0.1), Attack(owners[1].key)

    def spoil(site: str, reply: bytes) -> bytes | None:
        message = signed_message.read(reply)
        if site == "b" and message.subject.kind == "open":
            opened = bodies.unpack(message.body, OfferResponse)
            return attack.signed(
                message, bodies.pack(msgspec.structs.replace(opened, largest_weight=10**6))
            )
        if site == "b" and message.subject.kind == "ask":
            return _header(weight=10**6)(message, attack) if heavy else None
        return reply

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    return deploy(ready.plan, sites, folder / "runs", simulated_noise=True, identity="same")


def test_what_a_site_says_its_clients_count_for_is_not_believed(tmp_path) -> None:
    """Where all clients count alike, the plan says so, and no site can have its own count more."""
    job = small_plan(
        write_csv(tmp_path / "reviews.csv"), codec={"name": "plain"}, server={"rounds": 2}
    )
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    silent, heavy = (
        turned(ready, tmp_path / "silent", False),
        turned(ready, tmp_path / "heavy", True),
    )
    assert model_of(heavy) == model_of(silent)
    refused = record.select_entries(list(record.read(heavy / RECORD)), record.Refused)
    assert any("weight" in one.reason for one in refused)


@pytest.mark.parametrize("kind", ["open", "measure"])
def test_a_reply_that_holds_something_else_stops_no_run(ready, tmp_path, kind) -> None:
    owners = [
        owner(name, rows, tmp_path / name) for name, rows in zip("abc", ready.files, strict=True)
    ]
    sites, attack = sites_of(owners, min_sites=2, deadline=0.5), Attack(owners[1].key)

    def spoil(site: str, reply: bytes) -> bytes:
        message = signed_message.read(reply)
        return (
            attack.signed(message, b"nonsense")
            if site == "b" and message.subject.kind == kind
            else reply
        )

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    place = deploy(ready.plan, sites, tmp_path / "runs")
    assert model_of(place)


VOTING = {"clients": 9, "local_test": 0.3, "columns": {"text": ["opinion"], "label": "stars"}}
Lie = Callable[[SiteRequest], SiteRequest]


@pytest.fixture(scope="module")
def voting(tmp_path_factory) -> Rehearsal:
    place = tmp_path_factory.mktemp("voters")
    data = {**VOTING, "source": str(write_csv(place / "reviews.csv"))}
    plan = small_plan(place / "reviews.csv", data=data, filter={"lr": 0.5, "vote_epsilon": 4.0}, model={"name": "logistic"},
                      codec={"name": "rr", "epsilon": 0.01, "clip": 0.02}, server={"rounds": 1})  # fmt: skip
    return prepare_rehearsal(plan, place, 3)


def paid_by_voters(voting: Rehearsal, folder: Path, lie: Lie) -> tuple[set[int], list[str]]:
    """Return what clients of site a have paid by its ledger, in millionths, where the server lies to it about votes."""
    told: list[str] = []
    owners = [
        owner(name, rows, folder / name, tell=told.append)
        for name, rows in zip("abc", voting.files, strict=True)
    ]
    sites = sites_of(owners, min_sites=2, deadline=0.2)
    first = sites.transport.sites["a"]  # type: ignore[attr-defined]
    honest = first.handle

    def lied_to(data: bytes) -> bytes:
        message = signed_message.read(data)
        if message.subject.exchange != "votes":
            return honest(data)
        return honest(
            signed_message.write(
                message.subject, bodies.pack(lie(bodies.unpack(message.body, SiteRequest)))
            )
        )

    first.handle = lied_to
    deploy(voting.plan, sites, folder / "runs")
    with closing(SiteLedger(folder / "a" / "ledger.sqlite", limits=Limits(), delta=1e-5)) as book:
        return {one.life.micro for one in book.totals()}, told


def test_votes_are_paid_by_what_the_message_asks(voting, tmp_path) -> None:
    """A server that says it asks two clients, and shows the last layers of nine, has nine paid for."""
    honest, _ = paid_by_voters(voting, tmp_path / "honest", lambda question: question)
    lied, _ = paid_by_voters(
        voting, tmp_path / "lied", lambda question: msgspec.structs.replace(question, everyone=2)
    )
    assert lied == honest
    assert min(honest) > 8 * 4_000_000 * 0.99  # eight votes at 4 per vote


def test_votes_on_one_contributor_again_and_again_are_refused(voting, tmp_path) -> None:
    def repeated(question: SiteRequest) -> SiteRequest:
        head = messages.parse(question.head, memoryview(question.payload)).header
        senders = question.payload.index(np.arange(9, dtype="<i8").tobytes())
        forged = (
            question.payload[:senders]
            + np.zeros(9, "<i8").tobytes()
            + question.payload[senders + 72 :]
        )
        return msgspec.structs.replace(question, head=messages.encode_head(head), payload=forged)

    paid, told = paid_by_voters(voting, tmp_path, repeated)
    assert any(
        "contributors must be distinct clients of the run, from 0 to 8" in sentence
        for sentence in told
    )
    assert max(paid) < 8 * 4_000_000
