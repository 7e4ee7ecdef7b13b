"""The pages of a data owner: five questions, decisions, policy, ledger, health, history."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tacit.deployment.site.approval.budget import Budget
from tacit.privacy.policy import load_policy, parse_policy
from tacit.ui.site import space as spaces
from tacit.ui.site.ledger_charts import divide_spending
from tacit.ui.site.pages import build_site_pages
from tacit.ui.site.policy_form import apply_form, list_policy_fields
from tacit.ui.site.request_routes import follow_parts
from tests.ui.served import FORM, build_client
from tests.ui.site.made_up_site import POLICY, MadeUpSite

RUN = "job-1"


@pytest.fixture
def site(tmp_path: Path) -> MadeUpSite:
    return MadeUpSite(tmp_path)


def connect(site: MadeUpSite) -> TestClient:
    return build_client(build_site_pages(site.folder))[0]


def read_shown(page: str) -> str:
    """The hash that the forms of a page carry."""
    found = re.search(r'name="(?:request|shown)" value="([0-9a-f]{64})"', page)
    assert found, page
    return found[1]


def send(client: TestClient, path: str, **fields: str) -> str:
    answer = client.post(path, headers=FORM, data={"a": "1", **fields})
    assert answer.status_code in (200, 303), answer.text
    return answer.text


def test_the_first_page_answers_the_five_questions_and_links_to_more(site: MadeUpSite) -> None:
    site.train("done-1", 2).send("end", "end", b"")
    site.offer(RUN)
    client = connect(site)
    page = client.get("/").text
    for question in (
        "Who asked?", "What left?", "What was spent?", "What is left?", "How do I stop it?",
        "tacit.example:8443", "predict &#39;outcome&#39;", "Updates of the model", "At most epsilon",
        "After this run at least",
    ):  # fmt: skip
        assert question in page, question
    for link in (f"/runs/{RUN}", "/ledger", "/stop"):
        assert f'href="{link}"' in page
        assert client.get(link).status_code == 200
    assert "What leaves" in client.get(f"/runs/{RUN}").text
    assert "tacit site leave" in client.get("/stop").text or "not connected" in page + client.get("/stop").text  # fmt: skip


def test_an_approval_by_page_is_a_decision_of_the_ledger(site: MadeUpSite) -> None:
    server = site.offer(RUN)
    assert server.status == "approval"
    client = connect(site)
    page = client.get(f"/runs/{RUN}").text
    assert f"tacit site approve {site.folder} {RUN}" in page
    assert f"tacit site refuse {site.folder} {RUN}" in page
    assert "Differential privacy protects" in page
    send(client, f"/runs/{RUN}/approve", request=read_shown(page))
    assert site.states() == {RUN: "approved"}
    assert site.offer(RUN).status == "ok"
    after = client.get(f"/runs/{RUN}").text
    assert "You approved this run on" in after
    assert ", page)" in after
    assert "Withdraw the approval" in after
    assert "No run waits" in client.get("/").text


def test_a_refusal_by_page_and_its_reason(site: MadeUpSite) -> None:
    server = site.offer(RUN)
    client = connect(site)
    page = client.get(f"/runs/{RUN}").text
    send(client, f"/runs/{RUN}/refuse", request=read_shown(page), reason="  too\r\nmuch ")
    assert site.states() == {RUN: "refused"}
    server.open()
    assert (server.status, server.rule) == ("policy", "policy.approve")
    history = client.get("/history").text
    assert "too much" in history
    assert "refused by you" in client.get("/").text


def test_an_approval_is_withdrawn_and_a_run_is_ended(site: MadeUpSite) -> None:
    server = site.train(RUN, 1)
    client = connect(site)
    page = client.get("/stop").text
    assert "Withdraw the approval" in page
    send(client, f"/runs/{RUN}/refuse", request=read_shown(page))
    assert server.train(round_no=2) is None
    assert server.status == "policy"
    assert f"tacit site forget {site.folder} {RUN}" in client.get(f"/runs/{RUN}").text
    send(client, f"/runs/{RUN}/end")
    assert "No run is open here" in client.get("/stop").text
    again = client.post(f"/runs/{RUN}/end", headers=FORM, data={"a": "1"})
    assert again.status_code == 400
    assert "is not open here" in again.text


def test_a_run_that_was_never_asked_about_is_shown_in_words(tmp_path: Path) -> None:
    site = MadeUpSite(tmp_path, policy=POLICY.replace('approve = "ask"', 'approve = "automatic"'))
    site.train(RUN, 1)
    client = connect(site)
    page = client.get(f"/runs/{RUN}").text
    assert "Updates of the model" in page
    assert "Approve this run" not in page
    assert "End this run here" in page
    assert "asks you first" in client.get("/").text


def test_an_unknown_run_and_an_empty_site(site: MadeUpSite) -> None:
    client = connect(site)
    assert client.get("/runs/job-9").status_code == 404
    for path in ("/", "/data", "/policy", "/ledger", "/health", "/history", "/stop"):
        assert client.get(path).status_code == 200, path
    assert "No run has asked here yet" in client.get("/").text
    refused = client.post("/leave", headers=FORM, data={"a": "1"})
    assert refused.status_code == 400
    assert "no process of this site is running" in refused.text


def test_what_the_site_holds_is_counts_only(site: MadeUpSite) -> None:
    site.train(RUN, 1)
    rows = Path(site.owner().source)
    rows.write_text(rows.read_text().replace(",a,", ",Rotterdam,") + "p777,41,Zoetermeer,y\n")
    client = connect(site)
    send(client, "/data/count")
    page = client.get("/data").text
    for words in ("241", "61", "outcome", "categorical, split; could identify", "clients 5"):
        assert words in page, words
    for cell in ("Rotterdam", "Zoetermeer", "p777", "p001"):
        assert cell not in page
    rows.unlink()
    send(client, "/data/count")
    assert "there is no file" in client.get("/data").text


def test_the_ledger_page_verifies_and_finds_damage(site: MadeUpSite) -> None:
    site.train(RUN, 2)
    client = connect(site)
    page = client.get("/ledger").text
    assert "epsilon per client in all runs" in page
    assert '"distribution"' in page
    send(client, "/ledger/verify")
    assert "entries and all totals are correct" in client.get("/ledger").text
    with sqlite3.connect(site.folder / "ledger.sqlite") as db:
        db.execute("UPDATE tallies SET micro = micro / 2")
    db.close()
    send(client, "/ledger/verify")
    page = client.get("/ledger").text
    assert "are correct" not in page
    assert "damaged" in page or "does not" in page


def test_the_distribution_counts_every_client_once() -> None:
    charged = tuple(sorted((7 * number**2 for number in range(100)), reverse=True))
    for limit in (None, 70_000, 10**12, 0):
        bins = divide_spending(Budget(charged=charged, limit=limit))
        assert sum(one.clients for one in bins) == 100
        assert bins[-1].low <= charged[0] < bins[-1].high
        assert len(bins) <= 40
    assert divide_spending(Budget(charged=(), limit=5)) == []


def test_health_shows_findings(site: MadeUpSite, monkeypatch: pytest.MonkeyPatch) -> None:
    client = connect(site)
    page = client.get("/health").text
    assert "signing.key" in page
    assert f"tacit site doctor {site.folder}" in page
    (site.folder / "secret").chmod(0o644)
    monkeypatch.setattr(spaces, "diagnose_machine", lambda: iter(()))
    send(client, "/health/check")
    assert "other users may read it" in client.get("/health").text


def test_the_policy_form_shows_the_difference_before_it_saves(site: MadeUpSite) -> None:
    site.offer(RUN)
    client, file = connect(site), site.folder / "policy.toml"
    page = client.get("/policy").text
    assert "# I decide about each run" in page
    fields = {
        one.name: one.value for one in list_policy_fields(load_policy(file)) if one.value != "false"
    }
    given = {
        **fields,
        "limits.max_epsilon_per_run": "0.25",
        "columns.text": "notes\r\nletter, final",
    }
    review = send(client, "/policy/review", shown=read_shown(page), **given)
    assert "<del>max_epsilon_per_run = 4</del>" in review
    assert "<ins>max_epsilon_per_run = 0.25</ins>" in review
    assert "<ins>text = [&#34;notes&#34;, &#34;letter, final&#34;]</ins>" in review
    assert f'<a href="/runs/{RUN}">{RUN}</a>: would be refused.' in review
    assert file.read_text() == POLICY, "nothing is saved yet"
    text = review.partition('aria-hidden="true">\n')[2].partition("</textarea>")[0]
    import html

    send(client, "/policy/save", shown=read_shown(review), text=html.unescape(text))
    saved = load_policy(file)
    assert saved.limits.max_epsilon_per_run == 0.25
    assert saved.columns.text == ("notes", "letter, final")
    assert "# I decide about each run" in file.read_text()
    assert "# plain is for rehearsals" in file.read_text()
    assert "The policy was saved" in client.get("/policy?saved").text


def test_a_change_that_gives_away_says_so(site: MadeUpSite) -> None:
    client = connect(site)
    shown = read_shown(client.get("/policy").text)
    text = POLICY.replace("[limits]", "[limits]\nno_epsilon = true").replace(
        "trust_server", "votes"
    )
    review = send(client, "/policy/review", shown=shown, text=text)
    assert "This change gives away" in review
    assert "responses are sent that no epsilon bounds" in review
    assert "clients vote on each other" in review


def test_the_form_keeps_all_other_text_and_every_value() -> None:
    policy = parse_policy(POLICY)
    given = {one.name: one.value for one in list_policy_fields(policy) if one.value != "false"}
    assert apply_form(POLICY, policy, given) == POLICY
    short = "[limits]\nmax_epsilon_per_run = 1\n"
    known = {
        one.name: one.value
        for one in list_policy_fields(parse_policy(short))
        if one.value != "false"
    }
    changed = apply_form(
        short, parse_policy(short), {**known, "approve": "ask", "allow.votes": "true"}
    )
    assert parse_policy(changed).approve == "ask"
    assert parse_policy(changed).allow.votes
    hashed = '[plans]\nhashes = ["' + "0" * 64 + '"]\n'
    known = {one.name: one.value for one in list_policy_fields(parse_policy(hashed))}
    assert parse_policy(apply_form(hashed, parse_policy(hashed), {**known, "plans.hashes": ""})).plans.hashes is None  # fmt: skip


def test_a_site_without_a_policy_is_offered_the_strict_one(site: MadeUpSite) -> None:
    file = site.folder / "policy.toml"
    file.unlink()
    client = connect(site)
    page = client.get("/policy").text
    assert "does not exist yet" in page
    assert not file.exists()
    review = send(client, "/policy/review", shown=read_shown(page), text=POLICY)
    send(client, "/policy/save", shown=read_shown(review), text=POLICY)
    assert file.read_text() == POLICY
    file.write_text("nonsense = = 1\n")
    broken = client.get("/policy").text
    assert "is not valid TOML" in broken
    assert client.get("/").status_code == 200


def test_a_page_is_read_again_only_after_a_change(
    site: MadeUpSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.offer(RUN)
    read, count = spaces.read_overview, [0]

    def counted(owner: object) -> object:
        count[0] += 1
        return read(owner)  # type: ignore[arg-type]

    monkeypatch.setattr(spaces, "read_overview", counted)
    client = connect(site)
    for _ in range(3):
        client.get("/")
    assert count == [1]
    site.decide(RUN)
    assert "No run waits" in client.get("/").text
    assert count == [2]


def test_an_idle_site_renders_nothing_again(site: MadeUpSite) -> None:
    site.offer(RUN)
    space, count = spaces.SiteSpace(site.folder), [0]

    def render() -> dict[str, str]:
        count[0] += 1
        return {"part-waiting": ", ".join(one.request.run for one in space.overview().waiting)}

    read = follow_parts(space, render)
    assert read() == {"parts": {"part-waiting": RUN}}
    assert [read() for _ in range(5)] == [None] * 5
    assert count == [1]
    site.decide(RUN)
    space._read_again = 0.0
    assert read() == {"parts": {"part-waiting": ""}}
