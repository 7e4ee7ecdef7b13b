"""Attacks on the pages of a data owner: by names, paths, links, forms of others, and a server that changes
its request under the owner's eyes.
"""

from __future__ import annotations

import html
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tacit.deployment.site.approval import approvals
from tacit.deployment.site.contacts import ContactBook
from tacit.errors import PlanError
from tacit.protocol.messages.signed_message import MessageSubject
from tacit.ui.site.commands import show_site_command
from tacit.ui.site.pages import build_site_pages
from tacit.ui.site.request_routes import decide_as_shown
from tacit.ui.site.run_views import list_notices
from tacit.ui.site.space import SiteSpace
from tests.ui.served import FORM, build_client, read_path
from tests.ui.site.made_up_site import POLICY, MadeUpSite
from tests.ui.site.test_site_pages import read_shown

RUN = "job-1"
EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}"
SECRET = "a secret of another folder"
PAGES = ("/", f"/runs/{RUN}", "/data", "/policy", "/ledger", "/health", "/history", "/stop")
ACTIONS = (
    *(f"/runs/{RUN}/{act}" for act in ("approve", "refuse", "end")),
    *("/data/count", "/policy/review", "/policy/save", "/ledger/verify", "/health/check", "/leave"),
)


@pytest.fixture
def site(tmp_path: Path) -> MadeUpSite:
    return MadeUpSite(tmp_path)


def connect(site: MadeUpSite, *, log_in: bool = True) -> TestClient:
    return build_client(build_site_pages(site.folder), log_in=log_in)[0]


def read_ledger(site: MadeUpSite) -> bytes:
    return (site.folder / "ledger.sqlite").read_bytes()


def refuse_markup(text: str, path: str) -> None:
    for wrong in ("<script>alert", "<img", "49<", "onerror=alert(1)>{"):
        assert wrong not in text, (path, wrong)


def test_names_of_plans_columns_and_classes_are_text_on_every_page(tmp_path: Path) -> None:
    site = MadeUpSite(
        tmp_path, policy=POLICY.replace('["outcome"]', '["*"]').replace('["age"]', '["*"]')
    )
    rows = Path(site.owner().source)
    rows.write_text(rows.read_text().replace("outcome", EVIL.replace('"', '""').join('""')))
    columns = {"client": "patient", "numeric": ["age", EVIL + "2"], "label": EVIL}
    site.offer(RUN, name=EVIL[:60], data={"source": "given", "test": 0.5, "columns": columns})
    client = connect(site)
    client.post("/data/count", headers=FORM, data={"a": "1"})
    for path in PAGES:
        answer = client.get(path)
        assert answer.status_code == 200, path
        refuse_markup(answer.text, path)
    assert "&lt;script&gt;alert(1)" in client.get(f"/runs/{RUN}").text
    assert "&lt;script&gt;alert(1)" in client.get("/data").text


def test_reasons_and_policies_with_markup_are_text(site: MadeUpSite) -> None:
    site.offer(RUN)
    client = connect(site)
    shown = read_shown(client.get(f"/runs/{RUN}").text)
    client.post(f"/runs/{RUN}/refuse", headers=FORM, data={"request": shown, "reason": EVIL})
    subject = MessageSubject(
        kind="ask", run=RUN, plan=bytes(32), site="a", round_no=1, exchange="train", nonce=bytes(16)
    )
    ContactBook(site.folder).note(subject, "policy", f"{EVIL}\n\x1b[31m")
    (site.folder / "policy.toml").write_text(f"# </textarea>{EVIL}\n{POLICY}")
    for path in PAGES:
        refuse_markup(client.get(path).text, path)
    page = client.get("/policy").text
    text = f"{POLICY}\nkey = '''</textarea>{EVIL}'''\n"
    review = client.post(
        "/policy/review", headers=FORM, data={"shown": read_shown(page), "text": text}
    )
    refuse_markup(review.text, "review")
    assert page.count("</textarea>") == html.unescape(page).count("</textarea>") - 1


@pytest.mark.parametrize(
    "name",
    [
        *("..%2fsecret", "%2e%2e", "%2e%2e%2f%2e%2e%2fsecret", "a%00b", ".hidden", "%2f"),
        *("..%5csecret", "a%0ab", "%ff%fe", "a" * 5000, "--help", "*"),
    ],
)
def test_no_name_of_a_run_leads_out_of_the_queue(site: MadeUpSite, name: str) -> None:
    site.offer(RUN)
    (site.folder.parent / "secret.json").write_text(json.dumps({"bound": {"run": SECRET}}))
    client = connect(site)
    for page in ("", "/events"):
        answer = client.get(f"/runs/{name}{page}")
        assert answer.status_code in (303, 400, 404), name
        assert SECRET not in answer.text
    for act in ("approve", "refuse", "end"):
        answer = client.post(f"/runs/{name}/{act}", headers=FORM, data={"request": "0" * 64})
        assert answer.status_code in (400, 404, 405), name
    assert site.states() == {}


def test_symbolic_links_are_not_followed(site: MadeUpSite, tmp_path: Path) -> None:
    other = MadeUpSite(tmp_path / "elsewhere", name="other")
    other.offer("foreign-1")
    other.train("foreign-2", 1)
    site.offer(RUN)
    outside = other.folder
    (site.folder / "requests" / "foreign-1.json").symlink_to(
        outside / "requests" / "foreign-1.json"
    )
    (site.folder / "runs").mkdir(exist_ok=True)
    (site.folder / "runs" / "foreign-2").symlink_to(outside / "runs" / "foreign-2")
    client = connect(site)
    for path in PAGES:
        assert "foreign-" not in client.get(path).text, path
    ended = client.post("/runs/foreign-2/end", headers=FORM, data={"a": "1"})
    assert ended.status_code in (400, 404)
    assert (outside / "runs" / "foreign-2" / "root").exists()
    moved = site.folder / "elsewhere"
    (site.folder / "requests").rename(moved)
    (site.folder / "requests").symlink_to(outside / "requests")
    assert "foreign-" not in client.get("/").text


def test_a_policy_behind_a_link_is_neither_shown_nor_replaced(site: MadeUpSite) -> None:
    outside = site.folder.parent / "secret.toml"
    outside.write_text(f"# {SECRET}\n")
    (site.folder / "policy.toml").unlink()
    (site.folder / "policy.toml").symlink_to(outside)
    client = connect(site)
    answer = client.get("/policy")
    assert answer.status_code == 400
    assert SECRET not in answer.text
    for path in ("/policy/review", "/policy/save"):
        sent = client.post(path, headers=FORM, data={"shown": "0" * 64, "text": POLICY})
        assert sent.status_code == 400
    assert outside.read_text() == f"# {SECRET}\n"


def test_a_request_that_changed_after_it_was_shown_is_not_decided(site: MadeUpSite) -> None:
    server = site.offer(RUN)
    client = connect(site)
    shown = read_shown(client.get(f"/runs/{RUN}").text)
    rows = Path(site.owner().source)
    rows.write_text(rows.read_text() + "p999,33,a,y\n")
    server.site.__init__(site.owner())  # type: ignore[misc]
    server.open()
    for act in ("approve", "refuse"):
        answer = client.post(f"/runs/{RUN}/{act}", headers=FORM, data={"request": shown})
        assert answer.status_code == 400
        assert "changed after this page showed it" in answer.text
    assert site.states() == {}
    for wrong in ("", "0" * 64, shown[:12], "ß"):
        answer = client.post(f"/runs/{RUN}/approve", headers=FORM, data={"request": wrong})
        assert answer.status_code == 400
    again = read_shown(client.get(f"/runs/{RUN}").text)
    assert again != shown
    assert (
        client.post(f"/runs/{RUN}/approve", headers=FORM, data={"request": again}).status_code
        == 303
    )


def test_a_hash_of_one_run_approves_no_other_run(site: MadeUpSite) -> None:
    site.offer(RUN)
    site.offer("job-2")
    client = connect(site)
    shown = read_shown(client.get(f"/runs/{RUN}").text)
    plan = client.get(f"/runs/{RUN}").text.partition("<dt>Plan</dt><dd><code>")[2][:64]
    for target in ("job-2", shown, plan):
        answer = client.post(f"/runs/{target}/approve", headers=FORM, data={"request": shown})
        assert answer.status_code in (400, 404), target
    assert site.states() == {}


def test_of_many_decisions_at_once_only_those_about_the_shown_request_count(
    site: MadeUpSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = site.offer(RUN)
    space = SiteSpace(site.folder)
    (judged,) = approvals.list_requests(site.owner())
    find, changed = approvals.RequestQueue.find, threading.Event()

    def change_in_between(queue: approvals.RequestQueue, run: str) -> object:
        """The server's offer changes between the page's check and the decision."""
        found = find(queue, run)
        if not changed.is_set():
            changed.set()
            return found
        rows = Path(site.owner().source)
        if not rows.read_text().endswith("p999,33,a,y\n"):
            rows.write_text(rows.read_text() + "p999,33,a,y\n")
            server.site.__init__(site.owner())  # type: ignore[misc]
            server.open()
        return find(queue, run)

    monkeypatch.setattr(approvals.RequestQueue, "find", change_in_between)
    threads = [
        threading.Thread(target=_try_decision, args=(space, judged.request.fingerprint))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    server.open()
    assert server.status == "approval", "what runs now was not shown, so it is not approved"


def _try_decision(space: SiteSpace, shown: str) -> None:
    try:
        decide_as_shown(space, RUN, shown, "approved")
    except Exception as error:
        assert "changed after" in str(error) or isinstance(error, PlanError)  # noqa: PT017


def test_a_live_page_never_exchanges_the_request_under_the_cursor(site: MadeUpSite) -> None:
    server = site.offer(RUN)
    space = SiteSpace(site.folder)
    shown = space.overview().requests[0].request.fingerprint
    rows = Path(site.owner().source)
    rows.write_text(rows.read_text() + "p999,33,a,y\n")
    server.site.__init__(site.owner())  # type: ignore[misc]
    server.open()
    space._read_again = 0.0
    found = list_notices(space, RUN, shown)
    assert "Load the page again" in found["notices"][0]
    page = connect(site).get(f"/runs/{RUN}").text
    for part in ("part-notice", "part-progress"):
        inside = page.partition(f'id="{part}">')[2].partition("</div>")[0]
        assert "<form" not in inside
    assert page.count('id="part-') == 2


def test_no_get_changes_anything(site: MadeUpSite) -> None:
    site.train("job-2", 1)
    site.offer(RUN)
    client = connect(site)
    paths = [path for path in site.folder.rglob("*") if path.is_file()]
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}
    for path in (*PAGES, *ACTIONS):
        assert client.get(path).status_code in (200, 404, 405), path
    for path in ACTIONS:
        assert client.get(path).status_code in (404, 405), path
        assert client.put(path, headers=FORM).status_code == 405
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}
    assert {path for path in paths if before[path] != after[path]} == set()


@pytest.mark.parametrize("path", ACTIONS)
def test_no_form_of_another_site_or_without_a_session_does_anything(
    site: MadeUpSite, path: str
) -> None:
    site.offer(RUN)
    client = connect(site)
    shown = read_shown(client.get(f"/runs/{RUN}").text)
    before = read_ledger(site), (site.folder / "policy.toml").read_text()
    data = {"request": shown, "shown": shown, "text": POLICY, "reason": "x"}
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {},
        {**FORM, "sec-fetch-site": "cross-site"},
        {**FORM, "host": "evil.example:8000"},
    ):
        assert client.post(path, headers=headers, data=data).status_code in (403, 421), headers
    stranger = connect(site, log_in=False)
    assert stranger.post(path, headers=FORM, data=data).status_code == 401
    assert (read_ledger(site), (site.folder / "policy.toml").read_text()) == before


def test_a_foreign_host_name_reads_nothing(site: MadeUpSite) -> None:
    client = connect(site)
    for path in PAGES:
        answer = client.get(path, headers={"host": "hospital.evil.example:8000"})
        assert answer.status_code == 421
        assert "hospital-a" not in answer.text


def test_no_wrong_link_logs_in_and_the_cookie_is_strict(site: MadeUpSite) -> None:
    client, _, links = build_client(build_site_pages(site.folder), log_in=False)
    cookie = client.get(read_path(links[0])).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    client.cookies.clear()
    for link in ("/login?token=wrong", read_path(links[0])):
        assert client.get(link).status_code == 403
    assert client.get("/").status_code == 303


def test_a_policy_is_saved_only_over_the_file_that_was_shown(site: MadeUpSite) -> None:
    client, file = connect(site), site.folder / "policy.toml"
    shown = read_shown(client.get("/policy").text)
    file.write_text(POLICY + "# changed by somebody else\n")
    before = file.read_text()
    for path in ("/policy/review", "/policy/save"):
        answer = client.post(path, headers=FORM, data={"shown": shown, "text": POLICY})
        assert answer.status_code == 400
        assert "changed after it was shown" in answer.text
    shown = read_shown(client.get("/policy").text)
    for text in (
        "[allow\n",
        "nonsense = 1\n",
        "\x00",
        "x" * 21_000,
        "[limits]\nmax_rounds_per_run = -1\n",
    ):
        answer = client.post("/policy/save", headers=FORM, data={"shown": shown, "text": text})
        assert answer.status_code == 400, text[:20]
    assert file.read_text() == before
    assert [path.name for path in site.folder.iterdir() if path.name.startswith(".policy")] == []


def test_the_ledger_is_free_while_pages_are_idle_and_pages_work_while_it_is_used(
    site: MadeUpSite,
) -> None:
    site.train("job-2", 1)
    site.offer(RUN)
    client = connect(site)
    for path in PAGES:
        assert client.get(path).status_code == 200
    file = site.folder / "ledger.sqlite"
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("ROLLBACK")
    stop, problems = threading.Event(), list[str]()
    server = site.offer(
        "job-3", codec={"name": "gaussian", "epsilon": 0.2, "delta": 1e-6, "clip": 1.0}
    )
    site.decide("job-3")
    server.start()

    def work() -> None:
        number = 0
        while not stop.is_set() and number < 4:
            number += 1
            if server.train(round_no=number) is None:
                problems.append(server.rule)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(4):
        for path in ("/", "/ledger", f"/runs/{RUN}"):
            assert client.get(path).status_code == 200, path
    stop.set()
    thread.join()
    assert problems == []
    assert "job-3" in client.get("/ledger").text


def test_a_lost_ledger_is_reported_and_nothing_is_approved(site: MadeUpSite) -> None:
    site.train("job-2", 1)
    site.offer(RUN)
    client = connect(site)
    shown = read_shown(client.get(f"/runs/{RUN}").text)
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"):
        (site.folder / name).unlink(missing_ok=True)
    assert "the ledger is missing" in client.get("/").text
    answer = client.post(f"/runs/{RUN}/approve", headers=FORM, data={"request": shown})
    assert answer.status_code == 400
    assert not (site.folder / "ledger.sqlite").exists()
    assert client.get("/stop").status_code == 200


def test_a_name_is_no_option_of_a_command() -> None:
    assert (
        show_site_command(Path("/a b"), "approve", after=("--yes",))
        == "tacit site approve '/a b' -- --yes"
    )


def test_a_stale_page_approves_nothing_that_was_refused_since(site: MadeUpSite) -> None:
    """Two tabs, or a tab and the command line: the refusal of one is not undone by the other."""
    site.offer(RUN)
    client = connect(site)
    page = client.get(f"/runs/{RUN}").text
    stale = {"request": read_shown(page), "decided": ""}
    assert 'name="decided" value=""' in page
    site.decide(RUN, "refused")
    answer = client.post(f"/runs/{RUN}/approve", headers=FORM, data=stale)
    assert answer.status_code == 400
    assert "Somebody decided" in answer.text
    assert site.states() == {RUN: "refused"}
    fresh = client.get(f"/runs/{RUN}").text.partition('name="decided" value="')[2][:64]
    again = {**stale, "decided": fresh}
    assert client.post(f"/runs/{RUN}/approve", headers=FORM, data=again).status_code == 303
    assert client.post(f"/runs/{RUN}/refuse", headers=FORM, data=stale).status_code == 303
    assert site.states() == {RUN: "refused"}, "a stale page may always refuse"


def test_the_first_page_says_that_more_leaves_than_it_lists(site: MadeUpSite) -> None:
    site.offer(RUN)
    page = connect(site).get("/").text
    assert "And more: read all of it." in page


def test_a_policy_that_no_longer_asks_is_named_as_a_giveaway(site: MadeUpSite) -> None:
    client = connect(site)
    text = POLICY.replace('approve = "ask"', 'approve = "automatic"').replace(
        '"clients", "rows"', '"measures", "clients", "rows"'
    )
    text = f'{text}\n[measures]\ncounts = "exact"\n'
    shown = read_shown(client.get("/policy").text)
    page = client.post("/policy/review", headers=FORM, data={"shown": shown, "text": text}).text
    gives = html.unescape(page).partition("gives away")[2].partition("</ul>")[0]
    assert "you are not asked" in gives
    assert "measures" in gives


@pytest.mark.parametrize(
    "content",
    [
        b'{"bound":[],"body":"","first":"","changes":[]}',
        b'{"bound":{"run":"job-9"},"body":"","first":5,"changes":7}',
        b"[" * 100_000,
        b"\xff\x00",
        b"[]",
    ],
    ids=range(5),
)
def test_a_damaged_request_hides_no_other(site: MadeUpSite, content: bytes) -> None:
    site.offer(RUN)
    (site.folder / "requests" / "job-9.json").write_bytes(content)
    client = connect(site)
    for path in PAGES:
        assert client.get(path).status_code == 200, path
    assert client.get("/runs/job-9").status_code == 404
    assert RUN in client.get("/").text
