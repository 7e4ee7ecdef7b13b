"""The pages over runs in Debian's Chromium: live updates, start, stop and resume, comparison; no
console error, no request to another host, no serious finding of axe-core.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.runs.record import Audited, Refused, Writer
from tacit.ui.runs.pages import build_runs_pages
from tests.report import made_up
from tests.ui.browser import NARROW, WIDE, list_serious, open_page, start_browser
from tests.ui.served import serve
from tests.ui.test_attacks import list_paths, write_hostile_run

pytestmark = pytest.mark.slow

PLAN = """name = "small"
[data]
source = "{source}"
clients = 20
[data.columns]
client = "person"
label = "risk"
numeric = ["age"]
[codec]
name = "dp_sum"
epsilon = 8.0
delta = 1e-5
clip = 1.0
[server]
rounds = {rounds}
evaluate_every = 50
[engine]
workers = 1
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as found:
        yield found


def write_runs(root: Path) -> None:
    """A finished run, a stopped one with refusals and canaries, and a sweep of two."""
    made_up.folder(root, made_up.record(rounds=12), "newsgroups-1")
    entries = made_up.record(rounds=12, stop=5)
    shown = [
        {"name": "bound", "proved": True, "epsilon": 1.0, "at_claim": 2.0, "ceiling": None},
    ]
    findings = {"sentences": ["Fine."], "claimed": 8.0, "delta": 1e-5, "shown": shown}
    entries += [
        Refused(arm="run", round_no=3, exchange="train", sender="7", reason="weight too large"),
        Audited(name="canaries", findings=findings),
    ]
    made_up.folder(root, entries, "stopped-1")
    for number in (1, 2):
        started, *rest = made_up.record(rounds=4)
        note = "tacit plan sweep: one of 2 runs over local.lr on the same rows, to choose from"
        plan = {**started.plan, "name": "sweep", "selected_by": note}  # type: ignore[union-attr]
        plan["local"] = {**plan["local"], "lr": number / 10}
        started.plan.clear()  # type: ignore[union-attr]
        started.plan.update(plan)  # type: ignore[union-attr]
        made_up.folder(root, [started, *rest], f"sweep-{number}")


def write_plan(folder: Path, rounds: int) -> None:
    folder.mkdir()
    rows = [f"p{k % 20},{20 + k % 60},{'high' if k % 60 > 30 else 'low'}" for k in range(400)]
    (folder / "rows.csv").write_text("person,age,risk\n" + "\n".join(rows) + "\n")
    plan = PLAN.format(source=folder / "rows.csv", rounds=rounds)
    (folder / "small.toml").write_text(plan)
    (folder / "broken.toml").write_text(plan.replace("delta = 1e-5\n", ""))


@pytest.mark.parametrize(
    ("size", "other", "dark"),
    [(WIDE, NARROW, False), (NARROW, WIDE, True)],
    ids=["1280 light", "390 dark"],
)
def test_every_page_is_quiet_accessible_and_no_wider_than_the_window(
    browser: Any, tmp_path: Path, size: tuple[int, int], other: tuple[int, int], dark: bool
) -> None:
    write_runs(tmp_path / "runs")
    write_plan(tmp_path / "plans", 2)
    with (
        serve(build_runs_pages(tmp_path / "runs", tmp_path / "plans")) as served,
        open_page(browser, served.link, size=size, dark=dark) as (page, found),
    ):
        paths = ["/", "/runs/newsgroups-1", "/runs/stopped-1", "/runs/stopped-1/audit"]
        paths += ["/runs/newsgroups-1/leaves", "/searches", "/plans"]
        paths += ["/compare?run=newsgroups-1&run=stopped-1"]
        page.goto(f"{served.origin}/searches")
        paths.append(page.locator("#part-searches a").first.get_attribute("href"))
        for path in paths:
            page.goto(served.origin + path)
            if "data-chart" in page.content():
                page.wait_for_selector(".chart svg")
            assert list_serious(page) == [], path
            for width, height in (other, size):
                page.set_viewport_size({"width": width, "height": height})
                if "data-chart" in page.content():
                    page.wait_for_timeout(500)  # charts follow the window a little later
                wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert page.evaluate(wide) <= 0, (path, width)
        assert found.errors == []
        assert found.foreign == []


def test_a_page_follows_its_run_without_a_reload(browser: Any, tmp_path: Path) -> None:
    place = made_up.folder(tmp_path, made_up.record(rounds=9, stop=1), "live-1")
    with (
        serve(build_runs_pages(tmp_path)) as served,
        open_page(browser, served.link) as (page, found),
    ):
        page.goto(f"{served.origin}/runs/live-1")
        page.wait_for_selector(".chart svg")
        page.evaluate("window.kept = 1")
        writer = Writer(place / "record.jsonl")
        for number in (2, 3):
            for entry in made_up.one_round("run", number, 9, 0.6, 12_620):
                writer.append(entry)
            writer.sync()
            page.get_by_text(f"{number} of 9 rounds").first.wait_for()
        assert page.evaluate("window.kept") == 1
        assert page.evaluate("document.getElementById('chart-metric').data[0].x.length") == 3
        page.goto(f"{served.origin}/")
        page.evaluate("window.kept = 1")
        for number in range(4, 10):
            for entry in made_up.one_round("run", number, 9, 0.6, 12_620):
                writer.append(entry)
        writer.close()
        page.get_by_text("stopped after round 9 of 9").wait_for()
        assert page.evaluate("window.kept") == 1
        assert (found.errors, found.foreign) == ([], [])


def test_a_run_is_started_stopped_and_resumed_by_buttons(browser: Any, tmp_path: Path) -> None:
    write_plan(tmp_path / "plans", 4000)
    runs = tmp_path / "runs"
    runs.mkdir()
    with (
        serve(build_runs_pages(runs, tmp_path / "plans")) as served,
        open_page(browser, served.link) as (page, found),
    ):
        page.set_default_timeout(120_000)
        page.goto(f"{served.origin}/plans")
        shown = page.locator("form.action code").last.inner_text()
        assert shown == f"tacit run {tmp_path}/plans/small.toml --runs {runs} --quiet --no-report"
        page.get_by_role("button", name="Start").first.click()
        page.get_by_text("codec.delta is required").wait_for()
        page.get_by_role("button", name="Start").last.click()
        page.get_by_role("link", name="small-1").click()
        page.get_by_text("of 4,000 rounds,").first.wait_for()
        assert "kill -INT" in page.locator("#part-state code").inner_text()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Resume").wait_for()
        assert f"tacit resume {runs}/small-1" in page.locator("#part-state code").inner_text()
        before = (runs / "small-1" / "record.jsonl").stat().st_size
        page.get_by_role("button", name="Resume").click()
        page.get_by_role("button", name="Stop").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Resume").wait_for()
        content = (runs / "small-1" / "record.jsonl").read_text()
        assert '"kind": "resumed"' in content[before - 1 :]
        assert (found.errors, found.foreign) == ([], [])


def test_selected_runs_are_compared_and_a_search_hides_the_others(
    browser: Any, tmp_path: Path
) -> None:
    write_runs(tmp_path)
    with (
        serve(build_runs_pages(tmp_path)) as served,
        open_page(browser, served.link) as (page, found),
    ):
        page.get_by_role("searchbox").fill("newsgr")
        assert page.locator("#part-runs tbody tr:visible").count() == 1
        page.get_by_label("Select newsgroups-1").check()
        page.get_by_role("searchbox").fill("")
        page.get_by_label("Select sweep-1").check()
        page.get_by_role("button", name="Compare selected").click()
        page.wait_for_selector("#chart-metric svg")
        names = page.evaluate("document.getElementById('chart-metric').data.map((one) => one.name)")
        assert sorted(names) == ["newsgroups-1", "sweep-1"]
        assert page.get_by_role("cell", name="local.lr").count() == 1
        assert page.evaluate("document.getElementById('chart-tradeoff').data.length") == 2
        assert (found.errors, found.foreign) == ([], [])


def test_hostile_names_run_no_script_in_the_browser(browser: Any, tmp_path: Path) -> None:
    name = write_hostile_run(tmp_path)
    with (
        serve(build_runs_pages(tmp_path)) as served,
        open_page(browser, served.link) as (page, found),
    ):
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for path in list_paths(name):
            page.goto(served.origin + path)
            page.wait_for_timeout(150)
            assert page.locator("a[href^='javascript']").count() == 0, path
        assert dialogs == []
        assert (found.errors, found.foreign) == ([], [])
