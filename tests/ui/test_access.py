"""Who may open the pages."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from tacit.errors import PlanError
from tacit.ui.access.addresses import choose_address, is_loopback
from tacit.ui.access.gate import MAX_BODY_BYTES, PageAccess
from tacit.ui.access.rate_limit import MAX_FAILURES, WINDOW_SECONDS, LoginLimit
from tacit.ui.access.sessions import MAX_SESSIONS, SESSION_SECONDS, Sessions
from tacit.ui.application import PageLink, PageSet
from tests.ui.served import FORM, HERE, build_client, read_path

done: list[str] = []


async def look(request: Request) -> Response:
    return PlainTextResponse("a secret figure")


async def act(request: Request) -> Response:
    done.append("acted")
    return PlainTextResponse("done")


PAGES = PageSet(
    title="Pages",
    navigation=(PageLink(path="/", words="First"),),
    routes=[Route("/", look), Route("/act", act, methods=["POST"])],
)


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


def connect(*, log_in: bool = True) -> TestClient:
    return build_client(PAGES, log_in=log_in)[0]


def test_without_a_session_no_page_is_shown_and_nothing_is_done() -> None:
    client = connect(log_in=False)
    answer = client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert client.get("/", headers={"accept": "*/*"}).status_code == 401
    assert client.post("/act", headers=FORM, data={"a": "1"}).status_code == 401
    assert done == []


def test_the_link_works_once_and_the_terminal_shows_a_new_one() -> None:
    client, _, links = build_client(PAGES)
    assert client.get("/").text == "a secret figure"
    assert len(links) == 2
    client.cookies.clear()
    assert client.get(read_path(links[0])).status_code == 403
    assert client.get(read_path(links[1])).status_code == 303


def test_the_cookie_is_strict_and_out_of_reach_of_scripts() -> None:
    client, _, links = build_client(PAGES, log_in=False)
    cookie = client.get(read_path(links[0])).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie


def test_a_foreign_host_name_is_refused_so_dns_rebinding_reads_nothing() -> None:
    client = connect()
    for host in ("evil.example:8000", "127.0.0.1:9999", "127.0.0.1", "localhost.evil.example:8000"):
        answer = client.get("/", headers={"host": host})
        assert answer.status_code == 421, host
        assert "secret" not in answer.text
    assert client.get("/", headers={"host": "localhost:8000"}).status_code == 200


def test_two_host_headers_are_refused() -> None:
    client = connect()
    request = client.build_request("GET", "/")
    raw = [(b"host", b"127.0.0.1:8000"), (b"host", b"evil.example")]
    request.headers = type(request.headers)([*raw, *list(request.headers.raw)[1:]])
    assert client.send(request).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "null"},
        {},
        {**FORM, "sec-fetch-site": "same-site"},
        {**FORM, "sec-fetch-site": "cross-site"},
    ],
    ids=["foreign", "other port", "null", "none", "same site", "cross site"],
)
def test_a_form_of_another_site_does_nothing(headers: dict[str, str]) -> None:
    client = connect()
    assert client.post("/act", headers=headers, data={"a": "1"}).status_code == 403
    assert done == []
    assert client.post("/act", headers=FORM, data={"a": "1"}).status_code == 200


def test_another_site_reads_no_stream_but_may_link_here() -> None:
    client = connect()
    fetched = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get("/", headers=fetched).status_code == 403
    linked = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=linked).status_code == 200
    framed = {**linked, "sec-fetch-dest": "iframe"}
    assert client.get("/", headers=framed).status_code == 403


def test_no_get_changes_anything() -> None:
    client = connect()
    assert client.get("/act").status_code == 405
    assert client.get("/logout").status_code == 405
    assert client.put("/act", headers=FORM).status_code == 405
    assert done == []
    assert client.get("/").status_code == 200


def test_a_form_must_be_a_short_form() -> None:
    client = connect()
    long = client.post("/act", headers=FORM, data={"a": "x" * MAX_BODY_BYTES})
    assert long.status_code == 413
    assert client.post("/act", headers=FORM, json={"a": 1}).status_code == 415

    def pieces() -> object:
        yield b"a=1"

    chunked = {**FORM, "content-type": "application/x-www-form-urlencoded"}
    assert client.post("/act", headers=chunked, content=pieces()).status_code == 413
    assert done == []


def test_every_answer_forbids_foreign_and_inline_scripts() -> None:
    client = connect()
    for path in ("/", "/login", "/nothing", "/static/live.js"):
        headers = client.get(path).headers
        rules = headers["content-security-policy"]
        assert "default-src 'none'" in rules
        assert "script-src 'self';" in rules
        assert "unsafe" not in rules
        assert "frame-ancestors 'none'" in rules
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/").headers["cache-control"] == "no-store"


def test_static_files_have_known_names_only() -> None:
    client = connect(log_in=False)
    assert client.get("/static/tacit.css").status_code == 200
    for name in ("../application.py", "..%2fapplication.py", "%2e%2e/serve.py", "secret", ".."):
        assert client.get(f"/static/{name}").status_code in (303, 404), name


def write_password(folder: Path) -> Path:
    file = folder / "password"
    file.write_text("correct horse battery\n")
    file.chmod(0o600)
    return file


def test_failed_log_ins_are_limited(tmp_path: Path) -> None:
    address = choose_address("127.0.0.1", 8000, password_file=write_password(tmp_path))
    client, access, _ = build_client(PAGES, log_in=False, address=address)
    right = {"password": "correct horse battery"}
    for _ in range(MAX_FAILURES):
        answer = client.post("/login", headers=FORM, data={"password": "wrong"})
        assert answer.status_code == 403
    answer = client.post("/login", headers=FORM, data=right)  # even the right one has to wait
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= WINDOW_SECONDS
    tried = {"token": "wrong", **right}
    assert client.post("/login", headers=FORM, data=tried).status_code == 403, "no way around it"
    access.limit = LoginLimit(clock=lambda: time.monotonic() + WINDOW_SECONDS)
    assert client.post("/login", headers=FORM, data=right).status_code == 303


def test_links_that_others_try_keep_nobody_out(tmp_path: Path) -> None:
    """A page of another site can open wrong links in the owner's browser, and so can other users."""
    address = choose_address("127.0.0.1", 8000, password_file=write_password(tmp_path))
    client, _, links = build_client(PAGES, log_in=False, address=address)
    for _ in range(MAX_FAILURES + 1):
        assert client.get("/login?token=wrong").status_code == 403
    right = {"password": "correct horse battery"}
    assert client.post("/login", headers=FORM, data=right).status_code == 303
    for _ in range(MAX_FAILURES):
        client.post("/login", headers=FORM, data={"password": "wrong"})
    assert client.get(read_path(links[0])).status_code == 303


def test_the_limit_forgets_after_a_minute_and_counts_networks_apart() -> None:
    now = [0.0]
    limit = LoginLimit(clock=lambda: now[0])
    for _ in range(MAX_FAILURES):
        limit.count_failure("2001:db8::1")
    assert limit.seconds_to_wait("2001:db8::ffff") == WINDOW_SECONDS
    assert limit.seconds_to_wait("2001:db8:0:1::1") == 0
    now[0] = WINDOW_SECONDS + 1
    assert limit.seconds_to_wait("2001:db8::1") == 0


def test_sessions_expire_and_are_bounded() -> None:
    now = [0.0]
    sessions = Sessions("correct horse battery", clock=lambda: now[0])
    first = sessions.open_with_password("correct horse battery")
    assert first is not None
    assert sessions.is_open(first)
    assert sessions.open_with_password("wrong horse battery") is None
    assert not sessions.is_open("made up")
    for _ in range(MAX_SESSIONS):
        sessions.open_with_password("correct horse battery")
    assert not sessions.is_open(first)
    last = sessions.open_with_password("correct horse battery")
    assert last is not None
    now[0] = SESSION_SECONDS + 1
    assert not sessions.is_open(last)


def test_an_address_beyond_loopback_requires_tls_a_password_and_a_name(tmp_path: Path) -> None:
    with pytest.raises(
        PlanError, match="--tls-cert and --tls-key and --password-file must be given"
    ):
        choose_address("0.0.0.0", 8000)
    password = tmp_path / "password"
    password.write_text("correct horse battery\n")
    password.chmod(0o644)
    with pytest.raises(PlanError, match="others can read"):
        choose_address("0.0.0.0", 8000, password_file=password)
    password.chmod(0o600)
    with pytest.raises(PlanError, match="--tls-cert and --tls-key must be given"):
        choose_address("192.168.1.7", 8000, password_file=password)
    certificate = tmp_path / "cert.pem"
    certificate.write_text("")
    with pytest.raises(PlanError, match="--name"):
        choose_address("::", 8000, password_file=password, certificate=certificate, key=certificate)
    found = choose_address(
        "0.0.0.0",
        443,
        names=["lab.example"],
        password_file=password,
        certificate=certificate,
        key=certificate,
    )
    assert found.hosts == {"lab.example:443", "lab.example"}
    assert found.password == "correct horse battery"


def test_a_password_logs_in_where_there_is_no_link(tmp_path: Path) -> None:
    password, file = tmp_path / "password", tmp_path / "cert.pem"
    password.write_text("correct horse battery\n")
    password.chmod(0o600)
    file.write_text("")
    address = choose_address(
        "0.0.0.0", 8443, names=["lab.example"], password_file=password, certificate=file, key=file
    )
    client, _, links = build_client(PAGES, log_in=False, address=address)
    assert links == []
    form = {"origin": "https://lab.example:8443"}
    assert client.post("/login", headers=form, data={"password": "wrong"}).status_code == 403
    assert client.post("/login", headers=form, data={"token": ""}).status_code == 403
    answer = client.post("/login", headers=form, data={"password": "correct horse battery"})
    assert answer.status_code == 303
    assert answer.headers["set-cookie"].startswith("__Host-tacit-8443=")
    assert "secure" in answer.headers["set-cookie"].lower()
    assert client.get("/").status_code == 200


def test_logging_out_ends_the_session() -> None:
    client = connect()
    kept = dict(client.cookies)
    assert client.post("/logout", headers=FORM, data={"a": "1"}).status_code == 303
    client.cookies.update(kept)
    assert client.get("/").status_code == 303


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        *[(host, True) for host in ("127.0.0.1", "::1", "[::1]", "localhost", "127.9.9.9")],
        *[(host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "127.0.0.1.evil.example")],
    ],
)
def test_loopback_is_decided_by_address(host: str, is_here: bool) -> None:
    assert is_loopback(host) is is_here


def test_a_link_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="uvicorn")
    _, _, links = build_client(PAGES)
    token = links[0].partition("token=")[2]
    assert token not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")
    )
    assert HERE in links[0]


def test_access_has_a_cookie_per_port() -> None:
    address = choose_address("127.0.0.1", 8123)
    assert PageAccess(address=address, sessions=Sessions()).cookie == "tacit-8123"
