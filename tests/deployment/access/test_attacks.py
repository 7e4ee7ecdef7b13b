"""Attacks by people with a role, and by a server or proxy on those people, each on the function that must withstand it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tacit.deployment.access import access_log, gateway, people, run_registry, server_access
from tacit.deployment.access import messages as m
from tacit.deployment.access.access_log import Access, AccessLog
from tacit.deployment.access.calls import Calls
from tacit.deployment.access.people import AdmittedPeople
from tacit.deployment.access.record_copy import RecordCopy
from tacit.deployment.access.remote_run import save_record
from tacit.deployment.access.run_registry import RunRegistry, hash_token
from tacit.deployment.access.server_access import ServerAccess, explain_refusal
from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.signed_files import (
    AccessRequest,
    AccessRequestContent,
    encode_file,
    prove_certificate,
)
from tacit.deployment.transport import direct_messages
from tacit.deployment.transport.certificates import (
    format_node_key,
    make_authority,
    make_client_certificate,
    make_server_certificate,
)
from tacit.deployment.transport.direct_messages import ExchangeRequest, OutgoingDirect
from tacit.deployment.transport.person import server_route
from tacit.deployment.transport.person.server_route import ServerRoute
from tacit.deployment.transport.proxy import find_proxy, parse_proxy
from tacit.deployment.transport.superlink import mailboxes, request_filter
from tacit.deployment.transport.superlink.mailboxes import Mailboxes
from tacit.deployment.transport.superlink.renewed_context import RenewedContext
from tacit.deployment.transport.superlink.request_filter import (
    Answer,
    Head,
    RequestFilter,
    RequestRefused,
)
from tacit.errors import PeerError, RunError, TacitError


def register(folder: Path, base: Path, name: str, role: Any = "coordinator") -> Path:
    """Admit a person with a new key; return the folder of certificate and key."""
    place = base / name
    place.mkdir(parents=True)
    make_client_certificate(place)
    people.register_person(folder, name, role, (place / "client.crt").read_text())
    return place


def ask_for_new_certificate(place: Path, name: str) -> m.ReplaceCertificate:
    place.mkdir(parents=True)
    make_client_certificate(place)
    key: Any = load_pem_private_key((place / "client.key").read_bytes(), None)
    content = AccessRequestContent(
        name=name, certificate=(place / "client.crt").read_text(), token="0" * 64
    )
    request = AccessRequest(content=content, proof=prove_certificate(content, key))
    return m.ReplaceCertificate(request=encode_file(request).decode())


# people


def test_two_names_that_differ_in_case_are_not_two_people(tmp_path: Path) -> None:
    register(tmp_path, tmp_path / "one", "kim", "auditor")
    with pytest.raises(PeerError, match="upper and lower case"):
        register(tmp_path, tmp_path / "two", "Kim", "operator")


def test_a_stolen_key_does_not_replace_the_certificate_that_replaced_it(tmp_path: Path) -> None:
    """The thief's call was authorised before the owner's renewal took effect, and is served after it."""
    place = register(tmp_path, tmp_path / "own", "kim")
    known = AdmittedPeople(tmp_path)
    thief = known.find(people.read_people(tmp_path)["kim"].der)
    assert thief is not None
    calls = Calls(tmp_path, RunRegistry(tmp_path))
    _, replace = calls.handlers["replace-certificate"]
    replace(ask_for_new_certificate(tmp_path / "renewed", "kim"), thief)
    owned = (tmp_path / "renewed" / "client.crt").read_text()
    assert owned != (place / "client.crt").read_text()
    with pytest.raises(TacitError):
        replace(ask_for_new_certificate(tmp_path / "stolen", "kim"), thief)
    assert people.read_people(tmp_path)["kim"].certificate == owned


def test_a_revoked_person_does_not_replace_the_certificate(tmp_path: Path) -> None:
    """Otherwise a later `restore` would admit a key that nobody compared."""
    register(tmp_path, tmp_path / "own", "kim")
    caller = AdmittedPeople(tmp_path).find(people.read_people(tmp_path)["kim"].der)
    assert caller is not None
    people.revoke_person(tmp_path, "kim")
    _, replace = Calls(tmp_path, RunRegistry(tmp_path)).handlers["replace-certificate"]
    with pytest.raises(TacitError):
        replace(ask_for_new_certificate(tmp_path / "new", "kim"), caller)


# runs and records


def test_one_coordinator_does_not_use_up_the_runs_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_registry, "MOST_RUNS_OF_ONE", 3, raising=False)
    runs = RunRegistry(tmp_path)
    for number in range(3):
        runs.open(f"r-{number}", "eve", "", f"token-{number}")
    with pytest.raises(RunError, match="at most 3 runs"):
        runs.open("r-3", "eve", "", "token-3")
    runs.open("a-1", "ana", "", "other token")
    runs.open("r-0", "eve", "", "an own run goes on")


def test_a_run_beyond_the_limit_starts_nothing_in_flower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each refused call would leave a run in Flower's database."""
    monkeypatch.setattr(run_registry, "MOST_RUNS", 0)
    started = list[str]()

    def start(folder: Path, address: str, title: str) -> tuple[str, int]:
        started.append(title)
        return "t" * 64, 1

    monkeypatch.setattr("tacit.deployment.access.calls.start_run", start)
    monkeypatch.setattr(
        "tacit.deployment.access.calls.read_endpoint", lambda folder: SimpleNamespace(address="x:1")
    )
    register(tmp_path, tmp_path / "own", "kim")
    caller = AdmittedPeople(tmp_path).find(people.read_people(tmp_path)["kim"].der)
    assert caller is not None
    _, open_run = Calls(tmp_path, RunRegistry(tmp_path)).handlers["open-run"]
    with pytest.raises(RunError, match="runs"):
        open_run(m.OpenRun(run="r-1", title="t", plan=""), caller)
    assert not started


def test_one_coordinator_does_not_fill_the_disk_with_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_registry, "LARGEST_RECORDS_OF_ONE", 100, raising=False)
    for _ in "ab":  # the limit holds after a restart of the server too
        runs = RunRegistry(tmp_path)
        for number in range(5):
            runs.open(f"r-{number}", "eve", "", f"token-{number}")
            length, _ = runs.describe_record(f"r-{number}")
            try:
                runs.add_to_record(f"r-{number}", "eve", length, b"x" * 39 + b"\n")
            except RunError as error:
                assert "records of eve" in str(error)  # noqa: PT017
    written = sum(path.stat().st_size for path in tmp_path.rglob("record.jsonl"))
    assert written <= 100


def test_reading_the_end_of_a_record_does_not_read_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One small request of an auditor would cost 256 MiB of memory, while all runs wait."""
    runs = RunRegistry(tmp_path)
    runs.open("r-1", "ana", "the plan", "token")
    runs.add_to_record("r-1", "ana", 0, b"a\nb\nc\n")
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"reads all of {path.name}"))
    assert runs.read_record("r-1", 2) == (b"b\nc\n", 6, "the plan")
    assert runs.read_record("r-1", 2**40) == (b"", 6, "the plan")
    assert runs.describe_record("r-1") == (6, hashlib.sha256(b"a\nb\nc\n").hexdigest())


def test_run_names_that_differ_in_case_are_one_name(tmp_path: Path) -> None:
    """Many file systems keep both in one folder: eve would write into the record of ana."""
    runs = RunRegistry(tmp_path)
    runs.open("Study-1", "ana", "", "one")
    with pytest.raises(RunError, match="upper and lower case"):
        runs.open("study-1", "eve", "", "two")


def test_a_run_that_is_closed_is_never_shown_as_open(tmp_path: Path) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"run": "r-1", "task": "0" * 64, "state": "open"}, m.CloseRun)


def test_a_token_is_of_no_use_to_another_coordinator_or_after_a_restart_by_another(
    tmp_path: Path,
) -> None:
    runs = RunRegistry(tmp_path)
    runs.open("r-1", "ana", "", "token")
    for again in (runs, RunRegistry(tmp_path)):
        assert again.find_task("token", "eve") is None
        assert again.find_task("", "eve") is again.find_task(hash_token("token"), "ana") is None
        with pytest.raises(TacitError, match="another coordinator"):
            again.open("r-1", "eve", "", "hers")
        with pytest.raises(TacitError, match="another coordinator"):
            again.change_state("r-1", "eve", "stopped")
        with pytest.raises(TacitError, match="another coordinator"):
            again.add_to_record("r-1", "eve", 0, b"x\n")
        assert again.find_task("token", "ana") is not None


def test_a_record_is_not_rewritten_truncated_or_skipped(tmp_path: Path) -> None:
    runs = RunRegistry(tmp_path)
    runs.open("r-1", "ana", "", "token")
    runs.add_to_record("r-1", "ana", 0, b"one\ntwo\n")
    for offset, lines in (
        (0, b"ONE\n"),
        (4, b"TWO\nthree\n"),
        (9, b"x\n"),
        (8, b"no end"),
        (8, b""),
    ):
        with pytest.raises(RunError):
            runs.add_to_record("r-1", "ana", offset, lines)
    assert runs.add_to_record("r-1", "ana", 4, b"two\nthree\n") == 14
    assert runs.read_record("r-1", 0)[0] == b"one\ntwo\nthree\n"


# log


def test_a_person_cannot_fill_the_disk_with_log_lines(tmp_path: Path) -> None:
    """Each refused call names another run, so that no line is equal to one before."""
    moment = [0.0]
    log = AccessLog(tmp_path, now=lambda: moment[0])
    for number in range(5_000):
        log.count(
            Access("eve", "auditor", "192.0.2.1", f"read-record x{number}", refusal=f"no {number}")
        )
        moment[0] += 0.001
    log.count(Access("ana", "coordinator", "192.0.2.2", "read-record", refusal="of another"))
    text = (tmp_path / access_log.ACCESS_LOG).read_text()
    assert text.count("\n") < 500
    assert "ana (coordinator)" in text, "a flood of one does not hide what another does"
    moment[0] += 61
    log.count(Access("eve", "auditor", "192.0.2.1", "read-record y", refusal="no"))
    assert "more" in (tmp_path / access_log.ACCESS_LOG).read_text()


def test_log_lines_are_not_forged(tmp_path: Path) -> None:
    AccessLog(tmp_path).note(
        Access("eve\nINFO ana", "auditor", "1\r2", "x\x1b[2K\u202e", refusal="a\u2028b\n")
    )
    text = (tmp_path / access_log.ACCESS_LOG).read_text()
    assert text.count("\n") == 1
    assert not {"\r", "\x1b", "\u202e"} & set(text)


# messages


def test_a_coordinator_does_not_fill_the_memory_of_the_server() -> None:
    """Messages to nodes that no site has are neither kept nor given a mailbox."""
    boxes = Mailboxes(lambda node: None, lambda node: None)
    messages = [OutgoingDirect(f"mark-{node}", node, b"x" * 1_000) for node in range(500)]

    async def gone() -> Any:
        await asyncio.Event().wait()

    asked = ExchangeRequest(messages, [], [], list(range(500, 1_000)), 0.0, 0)
    asyncio.run(boxes.exchange(asked, gone))
    assert len(boxes._boxes) == 0
    assert not any(one.message for one in boxes._messages.values())


# a server that attacks a coordinator


class Lying:
    """An access whose server answers with whatever it likes."""

    def __init__(self, answer: Callable[[Any], Any], most: int = 50) -> None:
        self.answer, self.most = answer, most
        self.route = SimpleNamespace(shown="server.example:1")

    def call(self, name: str, body: Any, kind: Any) -> Any:
        self.most -= 1
        assert self.most > 0, "the calls never end"
        return msgspec.convert(self.answer(body), kind, from_attributes=True)


@pytest.mark.parametrize("length", [0, -5, -(2**70), 3])
def test_a_server_that_forgets_the_record_does_not_hold_the_run(
    length: int, tmp_path: Path
) -> None:
    (tmp_path / "record.jsonl").write_bytes(b"one\ntwo\n")
    access: Any = Lying(lambda body: {"length": length})
    with pytest.raises((PeerError, msgspec.ValidationError)):
        RecordCopy(access, "r-1", tmp_path).send_all()


def test_a_record_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_access, "LARGEST_RECORD", 40, raising=False)
    access: Any = Lying(lambda body: {"lines": "eHh4eHh4eHg=", "length": 2**40, "plan": ""})
    with pytest.raises(PeerError, match="longer than"):
        ServerAccess.read_record(access, "r-1")


@pytest.mark.parametrize(
    "values",
    [
        {"token": "a\r\nx: y"},
        {"token": "ä"},
        {"token": "x" * 100_000},
        {"flower_run": 2**70},
        {"flower_run": -1},
        {"record_bytes": -1},
    ],
    ids=lambda values: str(values)[:30],
)
def test_the_servers_facts_about_a_run_are_checked(values: dict[str, Any]) -> None:
    good = {"token": "ab12", "flower_run": 7, "record_bytes": 0, "record_sha256": "0" * 64}
    msgspec.convert(good, m.OpenedRun)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(good | values, m.OpenedRun)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("../../x", {}),
        ("a\x1b[2J", {}),
        ("a", {"node_id": "x"}),
        ("a", {"node_id": "9" * 50_000}),
        ("a", {"public_key": "k" * 100_000}),
        ("a", {"fingerprint": "same\nas yours"}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_servers_sites_are_checked(name: str, values: dict[str, Any]) -> None:
    good = {"public_key": "ecdsa-sha2-nistp384 AAAA", "node_id": "18446744073709551615"}
    msgspec.convert({"hospital-a": good}, m.ListedSites)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({name: good | values}, m.ListedSites)


def test_a_servers_refusal_is_short() -> None:
    refused = explain_refusal(json.dumps({"kind": "RunError", "message": "x" * 10**6}).encode())
    assert isinstance(refused, RunError)
    assert len(str(refused)) < 3_000


# proxies


@pytest.mark.parametrize(
    "url",
    [
        "http://user:12#word@proxy.example:3128",
        "http://proxy.example:3128#x",
        "http://user:pa/ss@proxy.example",
        "http://user:pa?ss@proxy.example",
        "http://user:secret@proxy.example:99999",
        "https://user:secret@proxy.example",
        "http://user:secret@[::1",
        "http://us er:secret@proxy.example",
        "http://user:sec\r\nret@proxy.example",
        "http://user:secret@",
        "http://user:secret@proxy.example/\u202e",
        "http://user:secret@pro xy:1",
        "http://user:secret@proxy;rm:1",
    ],
)
def test_a_malformed_proxy_is_refused_and_never_quoted(url: str) -> None:
    with pytest.raises(PeerError) as refused:
        parse_proxy(url, "HTTPS_PROXY")
    for word in ("secret", "user:", "12#", "ss@"):
        assert word not in str(refused.value)


@pytest.mark.parametrize(
    ("listed", "address", "is_direct"),
    [
        ("server.example", "server.example:8443", True),
        ("server.example:8443", "server.example:8443", True),
        ("server.example:9", "server.example:8443", False),
        (".example", "server.example:8443", True),
        ("other.example, server.example", "server.example:8443", True),
        ("erver.example", "server.example:8443", False),
        ("*", "server.example:8443", True),
        ("2001:db8::7", "[2001:db8::7]:8443", True),
        ("[2001:db8::7]", "[2001:db8::7]:8443", True),
        ("2001:db8::8", "[2001:db8::7]:8443", False),
        ("192.0.2.7", "192.0.2.7:8443", True),
        ("192.0.2.0/24", "192.0.2.7:8443", True),
        ("198.51.100.0/24", "192.0.2.7:8443", False),
        ("2001:db8::/32", "[2001:db8::7]:8443", True),
        ("", "server.example:8443", False),
    ],
)
def test_no_proxy(
    listed: str, address: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:word@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", listed)
    assert (find_proxy(address) is None) == is_direct


def test_an_ipv6_proxy_and_a_name_with_percent_signs() -> None:
    found = parse_proxy("http://us%0d%0aer:pa%40ss@[2001:db8::1]:8080", "x")
    assert found.shown == "[2001:db8::1]:8080"
    assert "er" not in repr(found).replace("server", "")


# the way through a proxy


class Script(threading.Thread):
    """A proxy that reads one request per connection and sends fixed bytes."""

    def __init__(self, answer: bytes) -> None:
        super().__init__(daemon=True)
        self.answer, self.heads = answer, list[bytes]()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.start()

    def run(self) -> None:
        while True:
            try:
                line, _ = self.listening.accept()
            except OSError:
                return
            with line:
                self.heads.append(line.recv(65_536))
                line.sendall(self.answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 302 Found\r\nlocation: http://user:secret@other.example/\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n<html></h",
        b"HTTP/1.1 200 user:secret\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 407 user:secret\r\nproxy-authenticate: Basic realm=secret\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 503 \x1b[2J\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 40_000 + b"\r\n",
        b"\x00\xff" * 40,
        b"",
    ],
    ids=["redirect", "body", "answers itself", "407", "503", "long head", "no http", "closes"],
)
def test_a_hostile_proxy_gets_no_call_and_no_credentials_are_shown(
    answer: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(server_route, "_RETRY_SECONDS", -1.0)
    make_authority(tmp_path)
    make_client_certificate(tmp_path)
    proxy = Script(answer)
    caplog.set_level(logging.DEBUG)
    route = ServerRoute(
        tmp_path,
        "server.example:8443",
        tmp_path / "ca.crt",
        f"http://us%0d%0aer:secret@127.0.0.1:{proxy.port}",
    )
    with pytest.raises(PeerError) as refused:
        route.call("show-me", b"the body", explain_refusal)
    route.close()
    proxy.listening.close()
    assert "secret" not in str(refused.value) + repr(route.proxy)
    for word in ("us%0d", base64.b64encode(b"us\r\ner:secret").decode()):
        assert word not in caplog.text, "what it sends itself is not logged either"
    assert "\x1b" not in str(refused.value)
    first = proxy.heads[0]
    assert first.startswith(b"CONNECT server.example:8443 HTTP/1.1\r\n")
    assert not any(b"the body" in head or b"\ner" in head for head in proxy.heads)


def test_two_renewals_at_once_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one moves its certificate beside the key of the other, and the person is locked out."""
    inside, most = list[int](), list[int]()

    def renew(folder: Path, name: str) -> str:
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.05)
        inside.pop()
        return "later"

    monkeypatch.setattr(server_access, "_renew", renew)
    monkeypatch.setattr(server_access, "read_access", lambda folder: SimpleNamespace(name="ana"))
    threads = [
        threading.Thread(target=server_access.renew_certificate, args=(tmp_path,)) for _ in "abc"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1]


# the server's front


def test_people_that_cannot_be_read_do_not_lock_out_sites(tmp_path: Path) -> None:
    """Sites show no certificate; a damaged people.json must not stop their connections."""
    make_authority(tmp_path)
    make_server_certificate(tmp_path, ["127.0.0.1"])
    register(tmp_path, tmp_path / "own", "kim")
    config: Any = SimpleNamespace(
        ssl=True,
        ssl_certfile=tmp_path / "server.crt",
        ssl_keyfile=tmp_path / "server.key",
    )
    context = RenewedContext(config, AdmittedPeople(tmp_path))
    before = context.get()
    (tmp_path / people.PEOPLE).write_text("{")
    assert context.get() is before


def test_calls_of_people_do_not_delay_sites() -> None:
    """A coordinator opens runs as fast as it can; a site's request is checked at once."""
    busy, free = threading.Semaphore(0), threading.Event()

    class Busy:
        def authorise(self, head: Head) -> int:
            return 10

        def respond(self, head: Head, body: bytes) -> Answer:
            busy.release()
            free.wait(20)
            return Answer(200, b"")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    async def send(event: Any) -> None:
        sent.append(event)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    def ask(path: str) -> Any:
        scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        return front(scope, receive, send)

    sent = list[Any]()
    front = RequestFilter(
        app, secret="x", is_registered=lambda key: False, body_limit=10, people=Busy()
    )

    async def attack() -> None:
        calls = [asyncio.create_task(ask("/v1/tacit/open-run")) for _ in range(64)]
        while not busy.acquire(blocking=False):
            await asyncio.sleep(0.001)
        try:
            await asyncio.wait_for(ask("/v1/fleet/pull-messages"), 10)
        finally:
            free.set()
        assert sent[0]["status"] == 401
        await asyncio.gather(*calls)

    asyncio.run(attack())


def test_a_length_of_many_digits_is_refused() -> None:
    async def receive() -> Any:
        raise AssertionError

    with pytest.raises(RequestRefused):
        asyncio.run(request_filter._read_body({"content-length": "9" * 6_000}, receive, 10))


def test_the_log_says_who_was_admitted_from_elsewhere(tmp_path: Path) -> None:
    asked = ask_for_new_certificate(tmp_path / "new", "noa")
    described = gateway._describe_subject(m.Admit(request=asked.request, fingerprint="0" * 64))
    assert described == "noa"
    assert gateway._describe_subject(m.Invite(name="noa", role="auditor")) == "noa as auditor"


def test_an_impatient_coordinator_does_not_fill_flowers_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_registry, "MOST_OPENED_PER_MINUTE", 3)
    runs = RunRegistry(tmp_path)
    for _ in range(3):
        runs.require_capacity("r-1", "eve")
    with pytest.raises(RunError, match="wait a minute"):
        runs.require_capacity("r-1", "eve")
    runs.require_capacity("r-2", "ana")


def test_a_site_has_neither_name_nor_key_of_a_person(tmp_path: Path) -> None:
    place = register(tmp_path, tmp_path / "own", "kim")
    key: Any = load_pem_private_key((place / "client.key").read_bytes(), None)
    line = format_node_key(key.public_key())
    other = format_node_key(ec.generate_private_key(ec.SECP384R1()).public_key())
    for name, keys, problem in (
        ("hospital-x", line, "known already as that of kim"),
        ("kim", other, "name of a person"),
        ("KIM", other, "upper and lower case"),
    ):
        with pytest.raises(PeerError, match=problem):
            people.require_no_person(tmp_path, name, keys)
    people.require_no_person(tmp_path, "hospital-x", other)


def test_an_auditors_earlier_copy_shows_that_a_record_was_rewritten(tmp_path: Path) -> None:
    served = [b"one\ntwo\n"]
    access: Any = SimpleNamespace(
        read_record=lambda run: (served[0], "the plan"),
        settings=SimpleNamespace(server="server.example:1"),
    )
    place = save_record(access, "r-1", tmp_path)
    served[0] = b"one\ntwo\nthree\n"
    assert save_record(access, "r-1", tmp_path) == place
    for rewritten in (b"one\nTWO\nthree\nfour\n", b"one\ntwo\n", b""):
        served[0] = rewritten
        with pytest.raises(RunError, match="does not begin with the copy that you have"):
            save_record(access, "r-1", tmp_path)
    assert (place / "record.jsonl").read_bytes() == b"one\ntwo\nthree\n"


def test_a_copy_of_a_record_takes_the_place_of_no_run(tmp_path: Path) -> None:
    own = tmp_path / "r-1"
    own.mkdir()
    (own / "record.jsonl").write_bytes(b"of a run on this machine\n")
    access: Any = SimpleNamespace(
        read_record=lambda run: (b"of a run on this machine\nmore\n", ""),
        settings=SimpleNamespace(server="server.example:1"),
    )
    with pytest.raises(RunError, match="is no copy of a record"):
        save_record(access, "r-1", tmp_path)
    assert (own / "record.jsonl").read_bytes() == b"of a run on this machine\n"


async def _stays() -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize("seconds", [float("nan"), float("-inf"), float("inf"), -1.0, 1e300])
def test_a_coordinator_does_not_keep_the_server_busy_with_an_odd_number(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time that is no number would end each wait at once, and begin the next one, forever."""
    monkeypatch.setattr(direct_messages, "WAIT_SECONDS", 0.2)
    boxes, looked = Mailboxes(lambda node: None, lambda node: None), list[int]()

    def find(awaited: list[str], now: float) -> tuple[list[Any], bool]:
        looked.append(1)
        assert len(looked) < 10, "the server is busy with one request"
        return [], True

    monkeypatch.setattr(boxes, "_find_replies", find)
    asyncio.run(boxes.exchange(ExchangeRequest([], ["x"], [], [], seconds, 0), _stays))


def test_messages_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "_MAX_QUEUED_BYTES", 25_000, raising=False)
    boxes = Mailboxes(lambda node: None, lambda node: None)
    boxes._boxes = {node: mailboxes._Box(is_connected=True) for node in range(4)}
    messages = [OutgoingDirect(f"{node}", node % 4, b"x" * 1_000) for node in range(100)]
    asked = ExchangeRequest(messages, [one.mark for one in messages], [], [], 0.0, 0)
    found = asyncio.run(boxes.exchange(asked, _stays))
    assert found is not None
    assert len(boxes._messages) == 25
    assert len(found.replies) == 75, "the coordinator sends them through the store"
    with pytest.raises(ValueError, match="length"):
        direct_messages.unpack(
            direct_messages.pack(
                ExchangeRequest([OutgoingDirect("x" * 10**6, 1, b"")], [], [], [], 0.0, 0)
            ),
            ExchangeRequest,
        )


@pytest.mark.parametrize("name", ["kim", "KIM", "hospital-x"])
def test_no_site_is_admitted_under_name_or_key_of_a_person(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = register(tmp_path, tmp_path / "own", "kim")
    key: Any = load_pem_private_key((place / "client.key").read_bytes(), None)
    keys = SimpleNamespace(node_key=format_node_key(key.public_key()), signing_key="0" * 64)
    request: Any = SimpleNamespace(content=SimpleNamespace(site=name, keys=keys, replaces=None))
    monkeypatch.setattr(admission, "_check_admissible", lambda folder, content: None)
    monkeypatch.setattr(
        admission, "register", lambda *given, **named: pytest.fail("the site is admitted")
    )
    with pytest.raises(PeerError):
        admission.admit(tmp_path, request)
