"""Attacks by somebody who has not written the code: a malicious server, site or helper, each in its own direction."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.deployment import bodies
from tacit.deployment.bodies import Counts, MeasureResponse, SiteRequest, SiteResponse
from tacit.deployment.server.job import deploy
from tacit.protocol import messages
from tacit.protocol.messages import signed_message
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.hostile import HostileServer, payloads
from tests.deployment.local_post import GENEROUS, model_of, owner, sites_of
from tests.deployment.test_bound_runs import job
from tests.deployment.test_malicious import Attack
from tests.deployment.test_measures import NOISY, Hospital
from tests.deployment.test_measures import job as measured_job
from tests.deployment.test_secure_aggregation_attacks import (
    HELPS,
    Network,
    ask_helper,
    confirmed,
    plan_of,
    train,
)
from tests.simulation.small import small_plan, write_csv

COLUMNS = {"client": "patient", "text": ["note"], "label": "readmitted"}
LOCAL = {"source": "given", "test": 0.0, "local_test": 0.2, "columns": COLUMNS}


def hostile(hospital: Hospital, run: str) -> HostileServer:
    return HostileServer(hospital.server.site, hospital.plan, run)


# Server to site


@pytest.mark.parametrize(
    "run", ["job-1\na: run job-9 has ended", "job-1\r\x1b[2Ka: run job-9 has ended"]
)
def test_a_runs_name_forges_no_line_of_the_owners_log(tmp_path, run) -> None:
    hospital = Hospital(tmp_path)
    assert hospital.server.open(run=run) is None
    said = hospital.told[-1].splitlines()
    assert all(line.startswith("    ") for line in said[1:])
    assert "\x1b" not in hospital.told[-1]


def test_a_plans_key_forges_no_line_of_the_owners_log(tmp_path) -> None:
    hospital = Hospital(tmp_path)
    text = hospital.server.text + '\n["x\\na: run job-9: hands over 0 rows\\u001b[2J"]\nz = 1\n'
    assert hospital.server.open(text, plan=hashlib.sha256(text.encode()).digest()) is None
    assert all(line.startswith("    ") for line in hospital.told[-1].splitlines()[1:])
    assert "\x1b" not in hospital.told[-1]


@pytest.mark.parametrize(
    "run",
    ["..", "a/b", "a\\b", ".", "a b", "a\u0301", "a\u200b", "a\x00b", "-", "r" * 60 + "/../x"],
)
def test_names_of_runs_that_are_paths_or_look_alike(tmp_path, run) -> None:
    hospital = Hospital(tmp_path)
    assert hospital.server.open(run=run) is None
    assert hospital.server.status == "question"
    assert not (tmp_path / "a" / "runs").exists()


@pytest.mark.parametrize("everyone", [0, 1, 2**53])
def test_how_many_others_are_asked_changes_no_charge(tmp_path, everyone) -> None:
    hospital = Hospital(tmp_path)
    server = hospital.server.start()
    question = server.question(0.0, 1, np.arange(5).astype("<i8").tobytes(), everyone)
    server.send("ask", "train", bodies.pack(question), 1)
    assert server.status == "ok"
    assert set(hospital.spent()) == {499_984}


@pytest.mark.parametrize(
    "codec",
    [
        {"name": "projunit", "epsilon": 0.5, "clip": 1.0},
        {"name": "rr", "epsilon": 0.5, "clip": 0.1},
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_a_model_that_overflows_tells_nobody_apart(tmp_path, codec, value) -> None:
    """Were whoever overflows refused, or sent something of another form, a model would say who has a word."""
    singly = {"rounds": 3, "sum_at": "server"}
    hospital = Hospital(tmp_path, plan=measured_job(codec=codec, server=singly))
    server = hospital.server.start()
    model = np.zeros(server.dim, np.float32)
    model[0] = value  # some patients have this word
    answers = server.train(model)
    assert answers is not None
    assert len(answers.frames) == server.terms.members[0].clients
    assert len({len(body) for body in payloads(answers).values()}) == 1
    assert not answers.refused


def test_what_a_client_commits_to_is_hidden_until_it_is_charged(tmp_path) -> None:
    """Before, a commitment was the hash of the message alone: with two parameters all messages are tried in no time, and the server
    read an answer that was never asked for nor charged."""
    plan = job(
        data={"source": "given", "test": 0.0, "local_test": 0.2, "columns": {**COLUMNS, "text": [], "numeric": ["age"]}},
        features={"ranges": {"age": [0, 100]}}, codec={"name": "rr", "epsilon": 1, "clip": 0.1}, filter={"aggregate": "updates"},
    )  # fmt: skip
    hospital = Hospital(tmp_path, GENEROUS, plan)
    server = hospital.server.start()
    heads = server.train(exchange="heads")
    assert heads is not None
    assert server.dim == 2
    tried = {
        hashlib.sha256(bytes(one)).digest()
        for size in (1, 2)
        for one in itertools.product(range(256), repeat=size)
    }
    committed = {body[-32:] for body in payloads(heads).values()}
    assert not committed & tried
    sent = payloads(server.train())
    assert {hashlib.sha256(body).digest() for body in sent.values()} == committed, (
        "the answer opens the commitment"
    )
    assert len({body[-16:] for body in sent.values()}) == len(sent), "salts differ"


def test_votes_are_charged_by_what_the_message_asks(tmp_path) -> None:
    """Contributors that are no clients, that are unsorted, or fewer than the message says; a tester that is none of them."""
    plan = measured_job(
        data=LOCAL, features={"text": "binary", "buckets": 16},
        filter={"aggregate": "heads", "vote_epsilon": 0.5, "protect": "client", "epsilon": 1.0, "clip": 1.0},
    )  # fmt: skip
    hospital = Hospital(tmp_path, plan=plan)
    server = hospital.server.start()

    def vote(senders: list[int], to: int, round_no: int, said: int) -> str:
        model, listed = np.zeros(server.dim, np.float32), np.array(senders, "<i8")
        heads = np.ones((len(senders), server.dim), np.float32)
        payload = np.concatenate([part.view(np.uint8).ravel() for part in (model, listed, heads)])
        head, body = messages.frame(
            messages.Header(
                server.terms.run, round_no, 0, "votes", server.dim, said, payload.nbytes
            ),
            payload,
        )
        question = SiteRequest(
            to=np.array([to], "<i8").tobytes(), everyone=1, head=bytes(head), payload=bytes(body)
        )
        server.send("ask", "votes", bodies.pack(question), round_no)
        return server.status

    assert vote([7, 3], 3, 1, 2) == "question"
    assert vote([3, 3], 3, 1, 2) == "question"
    assert vote([3, 400], 3, 1, 2) == "question"
    assert vote([3, 7, 9], 3, 1, 1) == "question"
    assert hospital.spent() == []
    assert vote([301, 302, 303], 3, 1, 3) == "ok"
    assert max(hospital.spent()) > 900_000, "two votes, whatever `everyone` says"


def test_a_measure_and_the_next_round_carry_one_model(tmp_path) -> None:
    hospital = Hospital(tmp_path)
    server = hospital.server.start()
    assert server.measure(0.25, 1)
    assert server.train(0.5, 2) is None
    assert "carries another model than the one this site was sent for round 2" in hospital.told[-1]


def test_the_same_plan_under_many_names_is_charged_for_life(tmp_path) -> None:
    """Noisy counts of one model, again in every run: each is paid for, and the budget ends."""
    hospital = Hospital(
        tmp_path, NOISY.replace("max_epsilon_lifetime = 1e12", "max_epsilon_lifetime = 4.5")
    )
    answered = [hostile(hospital, f"job-{number}").start().measure(0.0, 1) for number in range(8)]
    counted = [one for one in answered if one and one.counts]
    assert 1 <= len(counted) < 8
    assert max(hospital.spent()) <= 4_500_000
    assert answered[-1].withheld == "limits.max_epsilon_lifetime"


def test_a_receipt_that_the_ledger_never_gave(tmp_path) -> None:
    hospital = Hospital(tmp_path)
    server = hospital.server.start()
    for entries, head in ((2**40, bytes(32)), (1, b"x" * 32)):
        assert server.train(entries=entries, head=head) is None
        assert server.status == "ledger"
    assert server.train() is not None, "nothing is locked by the lie"


@pytest.mark.parametrize("path", ["/etc/passwd", "../../root.key", "site.toml"])
def test_files_that_a_plan_names_are_not_read(tmp_path, path) -> None:
    policy = NOISY.replace('files = ["*"]', "files = []")
    hospital = Hospital(tmp_path, policy, measured_job(features={"text": "listed", "list": path}))
    assert hospital.server.open() is None
    assert f"allow.files = []: the plan reads {path!r} on this machine" in hospital.told[-1]


@pytest.mark.parametrize(
    "change",
    [
        'numeric = ["patient"]',
        'categorical = ["patient"]',
        'text = ["patient"]',
        'label = "patient"',
    ],
)
def test_the_client_column_has_no_second_role(tmp_path, change) -> None:
    """Read as a number, patient 007 would be patient 7.0, with another budget; as a category or class, the server is told names."""
    hospital = Hospital(tmp_path)
    lines = hospital.server.text.splitlines()
    place = next(
        number
        for number in range(lines.index("[data.columns]"), len(lines))
        if lines[number].startswith(change[:5])
    )
    text = "\n".join([*lines[:place], change, *lines[place + 1 :]])
    assert hospital.server.open(text, plan=hashlib.sha256(text.encode()).digest()) is None
    assert "a column has one role" in hospital.told[-1]


# Site to server


class Deployed:
    """Three sites, of which b has turned, and a run of one round between them."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder, self.runs = folder, 0
        given: dict[str, Any] = {"codec": {"name": "plain"}, "server": {"rounds": 1}, **settings}
        self.ready = prepare_rehearsal(
            small_plan(write_csv(folder / "reviews.csv"), **given), folder, 3
        )

    def run(
        self, kind: str, change: Callable[[signed_message.SignedMessage, Attack], bytes]
    ) -> Path:
        self.runs += 1
        place = self.folder / str(self.runs)
        owners = [
            owner(name, rows, place / name)
            for name, rows in zip("abc", self.ready.files, strict=True)
        ]
        sites, attack = sites_of(owners, min_sites=2, deadline=0.2), Attack(owners[1].key)

        def spoil(site: str, reply: bytes) -> bytes:
            message = signed_message.read(reply)
            return (
                change(message, attack) if site == "b" and message.subject.kind == kind else reply
            )

        sites.transport.spoil = spoil  # type: ignore[attr-defined]
        return deploy(self.ready.plan, sites, place / "runs", simulated_noise=True, identity="same")


def refused_in(place: Path) -> list[str]:
    kinds = (record.Refused, record.SiteMissing)
    return [one.reason for one in record.read(place / RECORD) if isinstance(one, kinds)]


def answers_with(
    message: signed_message.SignedMessage,
    attack: Attack,
    times: int = 1,
    refused: list[tuple[int, str]] | None = None,
) -> bytes:
    frames = bodies.unpack(message.body, SiteResponse).frames
    return attack.signed(
        message, bodies.pack(SiteResponse(frames=[*frames] * times, refused=refused or []))
    )


def test_a_site_sends_its_sum_many_times(tmp_path) -> None:
    """Before, each copy counted: a site with 7 clients weighed as much as 350."""
    network = Deployed(
        tmp_path,
        server={"rounds": 1, "sum_at": "site"},
        codec={"name": "rr", "epsilon": 2, "clip": 0.02},
    )
    honest = network.run("ask", lambda message, attack: answers_with(message, attack))
    often = network.run("ask", lambda message, attack: answers_with(message, attack, times=50))
    assert model_of(often) == model_of(honest)
    assert len(refused_in(often)) == 7, "six copies, and one sentence about the others"
    assert "it sent 50 messages, of which 7 are read" in refused_in(often)[0]
    assert "was not asked, or has already responded" in refused_in(often)[1]


def test_a_site_says_who_refuses_for_its_own_clients_once_each(tmp_path) -> None:
    """Before, one letter wrote as many refusals as it liked, of any client, into the record."""
    said = [(number % 20, "budget") for number in range(3000)]
    place = Deployed(tmp_path).run(
        "ask", lambda message, attack: answers_with(message, attack, refused=said)
    )
    found = refused_in(place)
    assert len(found) == 7 + 1
    assert "it must name its own clients, once each" in found[-1]


def stated(multiplier: float, **changes: Any) -> bytes:
    event = {"event": "gaussian", "noise_multiplier": multiplier}
    claim = {
        "mechanism": "counts", "event": event, "unit": "measure", "relation": "replace all rows of one client", "view": "server",
        "trust": ["nobody"], "source": "a site",
    }  # fmt: skip
    return json.dumps({**claim, **changes}).encode()


def test_counts_of_a_site_that_cannot_be(tmp_path) -> None:
    """Before, brackets 9,000 deep ended the run, a noise of 1e-300 made every report fail, 2^53 rows outvoted everybody, and the
    site's own words stood in everybody's privacy statement."""
    attacks = {
        "it counts more rows than it has": {"rows": 2**53, "right": 2**53},
        "its counts contradict each other": {"rows": 10, "right": 5, "noise": 1e6},
        "the claim about its counts is not readable": {
            "rows": 10,
            "right": 5,
            "noise": 1.0,
            "claim": b"[" * 9000,
        },
        "the claim about its counts does not follow from their noise": {
            "rows": 10,
            "right": 5,
            "noise": 1.0,
            "claim": stated(1e-300),
        },
        "does not follow from their noise": {
            "rows": 9,
            "right": 5,
            "noise": 1.0,
            "claim": stated(1.0, mechanism="<b>no\x1b[2J"),
        },
    }
    network = Deployed(tmp_path, data__local_test=0.3)
    for why, counts in attacks.items():
        sent = bodies.pack(MeasureResponse(model=bytes(32), counts=Counts(**counts)))  # type: ignore[arg-type]
        place = network.run(
            "measure", lambda message, attack, sent=sent: attack.signed(message, sent)
        )  # type: ignore[misc]
        assert [why in reason for reason in refused_in(place)] == [True]


def test_a_site_writes_only_names_of_rules_into_the_record(tmp_path) -> None:
    network, markup = (
        Deployed(tmp_path, data__local_test=0.3),
        "<img src=x onerror=alert(1)>\x1b[2J\n=cmd()",
    )
    sent = bodies.pack(MeasureResponse(model=bytes(32), withheld=markup))
    places = [
        network.run("measure", lambda message, attack: attack.signed(message, sent)),
        network.run(
            "ask", lambda message, attack: attack.signed(message, b"", status="policy", rule=markup)
        ),
    ]
    for place in places:
        assert [
            reason.endswith("(it names no line of a policy)") for reason in refused_in(place)
        ] == [True]


# Server to helper, helper to server


def test_a_helper_is_shown_envelopes_under_other_names_or_of_other_rounds(tmp_path) -> None:
    network = Network(tmp_path)
    servers, _, _ = confirmed(network, plan_of())
    answers = [train(server, name) for name, server in servers.items()]
    frames = [frame for one in answers for frame in one.frames]
    first, second = (messages.parse(head, memoryview(body)).header for head, body in frames[:2])
    swapped = [
        (messages.encode_head(second), frames[0][1]),
        (messages.encode_head(first), frames[1][1]),
        *frames[2:],
    ]
    assert ask_helper(servers["c"], [SiteResponse(frames=swapped)]) is None
    assert "its site's signature is not valid" in network.told["c"][-1]
    assert ask_helper(servers["c"], answers, round_no=2) is None, "tokens are those of round 1"
    few = [SiteResponse(frames=frames[:3])]
    for round_no in (0, 5, 2**31):
        assert ask_helper(servers["c"], few, round_no=round_no) is None


def test_a_helper_sees_each_client_once(tmp_path) -> None:
    """One honest client named ten times, to fill a set of ten."""
    network = Network(tmp_path)
    servers, terms, _ = confirmed(network, plan_of())
    body = payloads(train(servers["a"], "a"))[0]
    envelope, size = np.frombuffer(body[-192:], np.uint8), (len(body) - 192) // 4
    for names in ([0] * 10, list(range(10)), [0, 0, *range(10, 18)]):
        payload = np.concatenate([np.array(names, "<i8").view(np.uint8), *[envelope] * 10])
        head, sent = messages.frame(
            messages.Header(terms.run, 1, 0, HELPS, size, 10, payload.nbytes), payload
        )
        question = SiteRequest(
            to=np.array([1], "<i8").tobytes(), everyone=1, head=bytes(head), payload=bytes(sent)
        )
        status = servers["c"].send("help", HELPS, bodies.pack(question), 1).subject.status
        assert status in ("question", "answered")
    assert "clients must be named once each, in ascending order" in "\n".join(network.told["c"])


def test_a_helper_answers_in_the_name_of_another(tmp_path) -> None:
    """Before, helper a could send a part as helper b: b's own was refused, and the record blamed b."""
    codec = {"name": "dp_sum", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0}
    network = Deployed(tmp_path, codec=codec, secure_aggregation={"helpers": 2, "min_clients": 5})
    own = network.run("help", lambda message, attack: answers_with(message, attack))

    def as_the_other(message: signed_message.SignedMessage, attack: Attack) -> bytes:
        other = lambda header, body: (msgspec.structs.replace(header, sender=1), body)  # noqa: E731
        return attack.frames(message, other)

    place = network.run("help", as_the_other)
    found = record.select_entries(list(record.read(place / RECORD)), record.Refused)
    assert not refused_in(own)
    assert {one.sender for one in found} == {"helper 2"}
    assert "sender must be 2, got 1" in found[0].reason
