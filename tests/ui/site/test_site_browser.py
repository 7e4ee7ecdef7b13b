"""The pages of data owners in Debian's Chromium: looks, the five questions by clicks, a changed policy, and
the approval of a plan between three rehearsed sites.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.deploy.rehearse import deploy_between, start_sites
from tacit.deployment.site.approval.approvals import list_requests
from tacit.deployment.site.site_folder import find_joined_process, load_owner
from tacit.protocol.observer import Silence
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal
from tacit.ui.server.pages import build_server_pages
from tacit.ui.site.pages import build_site_pages
from tests.simulation.small import small_plan, write_csv
from tests.ui.browser import (
    NARROW,
    WIDE,
    BrowserFindings,
    list_serious,
    open_page,
    start_browser,
)
from tests.ui.served import Served, serve
from tests.ui.site.made_up_site import MadeUpSite, fill

pytest.importorskip("flwr", reason="flwr is not installed")
pytestmark = pytest.mark.slow

WAITING = "length-of-stay-1-c0ffee12"
PAGES = ("/", f"/runs/{WAITING}", "/data", "/policy", "/ledger", "/health", "/history", "/stop")
DP_SUM = {"name": "dp_sum", "clip": 1.0, "epsilon": 4.0, "delta": 1e-5}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> MadeUpSite:
    made = MadeUpSite(tmp_path_factory.mktemp("site"))
    fill(made)
    return made


@pytest.fixture(scope="module")
def served(site: MadeUpSite) -> Iterator[Served]:
    with serve(build_site_pages(site.folder)) as found:
        yield found


def refuse_findings(found: BrowserFindings) -> None:
    assert found.errors == []
    assert found.foreign == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
def test_every_page_is_accessible_and_fits(
    browser: Any, served: Served, size: tuple[int, int], dark: bool
) -> None:
    with open_page(browser, served.link, size=size, dark=dark) as (page, found):
        for path in PAGES:
            page.goto(served.origin + path)
            if path == "/ledger":
                page.wait_for_selector("#chart-distribution .main-svg")
            assert list_serious(page) == [], path
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= size[0], f"{path} is {wide} px wide"
        refuse_findings(found)


@pytest.mark.parametrize(
    ("clicks", "words"),
    [
        ((), "The server tacit.example:8443 asks."),
        ((f"a:has-text('{WAITING}')",), "Once, before the first round, in the clear"),
        (("a.card:has-text('What was spent?')",), "Spent by the most charged client"),
        (("a.card:has-text('What is left?')",), "Left"),
        (("nav >> text=Stop",), "Withdraw the approval"),
    ],
    ids=["who asked", "what leaves", "what was spent", "what is left", "how to stop"],
)
def test_each_of_the_five_questions_takes_two_clicks_at_most(
    browser: Any, served: Served, clicks: tuple[str, ...], words: str
) -> None:
    assert len(clicks) <= 2
    with open_page(browser, served.link) as (page, found):
        for click in clicks:
            page.locator(click).first.click()
        page.wait_for_selector(f"main >> text={words}")
        refuse_findings(found)


def test_a_policy_is_changed_by_the_form(browser: Any, served: Served, site: MadeUpSite) -> None:
    file = site.folder / "policy.toml"
    with open_page(browser, served.link) as (page, found):
        page.click("nav >> text=Policy")
        page.fill("#f-limits-max_epsilon_per_run", "2.5")
        page.locator("section:has-text('As a form') button:has-text('Show what changes')").click()
        page.wait_for_selector("ins:has-text('max_epsilon_per_run = 2.5')")
        assert list_serious(page) == []
        assert "max_epsilon_per_run = 4" in file.read_text()
        page.click("text=Save the policy")
        page.wait_for_selector("text=The policy was saved")
        refuse_findings(found)
    assert "max_epsilon_per_run = 2.5" in file.read_text()
    assert "# I decide about each run" in file.read_text()


def test_a_plan_between_three_rehearsed_sites_is_approved_by_page(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    plan = small_plan(write_csv(tmp_path / "reviews.csv"), codec=DP_SUM, server__rounds=2)
    ready = prepare_rehearsal(plan, tmp_path / "rows", 3)
    done, problems = list[Path](), list[BaseException]()

    def work(server: Path) -> None:
        try:
            done.append(
                deploy_between(server, ready, tmp_path / "runs", Silence(), same_noise=False)
            )
        except BaseException as error:
            problems.append(error)

    with start_sites(tmp_path, ready) as server, ExitStack() as stack:
        folders = [tmp_path / name for name in "abc"]
        for folder in folders:
            policy = folder / "policy.toml"
            policy.write_text('approve = "ask"\n' + policy.read_text())
        pages = [stack.enter_context(serve(build_site_pages(one))) for one in folders]
        over = stack.enter_context(serve(build_server_pages(server, tmp_path / "runs")))
        thread = threading.Thread(target=work, args=(server,), daemon=True)
        thread.start()
        for one in pages:
            _approve(browser, one)
        thread.join(240)
        assert problems == []
        _look_at_server(browser, over)
        _leave(browser, pages[0], folders[0])
    entries = list(record.read(done[0] / RECORD))
    assert record.select_entries(entries, record.Finished)
    for folder in folders:
        (judged,) = list_requests(load_owner(folder))
        assert judged.state == "approved"
        assert judged.decision is not None
        assert judged.decision.by.endswith(", page")


def _approve(browser: Any, served: Served) -> None:
    """Wait, without a reload, until a run asks; read it; approve it."""
    with open_page(browser, served.link) as (page, found):
        page.wait_for_selector("text=Read all of it, then decide", timeout=120_000)
        page.click("text=Read all of it, then decide")
        page.wait_for_selector("text=What leaves")
        assert list_serious(page) == []
        page.click("text=Approve this run")
        page.wait_for_selector("text=You approved this run on")
        refuse_findings(found)


def _look_at_server(browser: Any, served: Served) -> None:
    for size, dark in ((WIDE, False), (NARROW, True)):
        with open_page(browser, served.link, size=size, dark=dark) as (page, found):
            page.wait_for_selector("text=3 of 3")
            assert list_serious(page) == []
            page.locator("a:has-text('small-1')").first.click()
            page.wait_for_selector("#chart-metric .main-svg")
            assert list_serious(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
            refuse_findings(found)


def _leave(browser: Any, served: Served, folder: Path) -> None:
    assert find_joined_process(folder) is not None
    with open_page(browser, served.link) as (page, found):
        page.click("nav >> text=Stop")
        page.click("text=Leave the server")
        page.wait_for_selector("text=This site is not connected")
        refuse_findings(found)
    assert find_joined_process(folder) is None
