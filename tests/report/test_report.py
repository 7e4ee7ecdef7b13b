"""The page: offline, escaped, and with the figures the terminal shows."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tacit import report
from tacit.record import RUN, Entry
from tacit.report import phrasing
from tacit.report.cards import cards
from tacit.report.charts import charts
from tests.report import made_up

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


class Page(HTMLParser):
    """Collects what a browser would load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.scripts: list[str] = []
        self.tags: list[str] = []
        self.policy = ""
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "data", "action")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        self._script = tag == "script" and "type" not in given
        if self._script:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._script = False


@pytest.fixture(scope="module")
def page_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = report.write(made_up.folder(tmp_path_factory.mktemp("runs"), made_up.record()))
    assert path.name == "report.html"
    return path.read_text(encoding="utf-8")


def test_loads_nothing_and_runs_only_its_own_scripts(page_text: str) -> None:
    page = Page(page_text)
    assert page.loads == ["data:,"]
    assert "@import" not in page_text.split("<script")[0]
    assert page.policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in page.policy
    assert "script-src 'unsafe-inline'" not in page.policy
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts]
    assert len(hashes) == 2
    assert all(f"'sha256-{one}'" in page.policy for one in hashes)


def test_plotly_is_inlined_once(page_text: str) -> None:
    assert len(re.findall(r"\* plotly\.js v", page_text)) == 1


def test_hostile_names_are_shown_not_run(tmp_path: Path) -> None:
    entries = made_up.record(rounds=3, name=HOSTILE, classes=2)
    prepared = entries[1]
    prepared.classes[0] = HOSTILE  # type: ignore[union-attr]
    text = report.write(made_up.folder(tmp_path, entries, name="<b>bold<b>")).read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.scripts) == 2
    assert "img" not in page.tags
    assert "b" not in page.tags
    assert escape(HOSTILE) in text or "&#34;&gt;&lt;script&gt;" in text
    small = report.snippet(entries)
    assert "<script" not in small
    assert "<img" not in small


def test_page_shows_the_table_of_the_summary(page_text: str) -> None:
    run = report.summary(made_up.record(), name="newsgroups-1")
    for arm in run.arms:
        for text in report.cells(arm):
            assert text in page_text
    for card in cards(run):
        assert card.figure in page_text
    for total in run.privacy.totals:
        assert total.text in page_text
    assert made_up.STATEMENT in page_text


def test_no_epsilon_stands_alone(page_text: str) -> None:
    shown = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page_text, flags=re.DOTALL)
    for found in re.finditer(r"epsilon ([\d][\d.,]*)", shown):
        assert re.match(r"\s*(per|is|\d)", shown[found.end() : found.end() + 12]), shown[found.start() : found.end() + 30]
    assert "eps =" not in shown


def test_summary_of_three_arms() -> None:
    run = report.summary(made_up.record())
    assert [arm.name for arm in run.arms] == [RUN, "fedavg", "central"]
    assert run.finished
    assert run.state == "finished"
    assert run.leading == "accuracy"
    ours = run.arm(RUN)
    assert ours is not None
    assert ours.bytes_up == 12_620
    assert ours.privacy == "epsilon 200,040 per update"
    assert [arm.privacy for arm in run.arms[1:]] == ["none: sent in the clear", "none: rows are pooled"]
    ratio = report.against_plain(run)
    assert ratio is not None
    assert ratio[0] == pytest.approx(400_180 / 12_620)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 30])
def test_a_record_cut_short_gives_what_it_holds(length: int, tmp_path: Path) -> None:
    entries: list[Entry] = made_up.record()[:length]
    run = report.summary(entries)
    assert not run.finished
    assert run.state.startswith("stopped")
    report.snippet(entries)
    assert report.write(made_up.folder(tmp_path, entries)).exists()


def test_an_unfinished_arm_counts_bytes_per_client() -> None:
    ours = report.summary(made_up.record(stop=7)).arm(RUN)
    assert ours is not None
    assert (ours.rounds, ours.planned, ours.bytes_up, ours.bytes_down) == (7, 40, 12_620, 400_200)
    assert report.cells(ours)[1] == "7/40"


def test_two_classes_lead_with_auc() -> None:
    run = report.summary(made_up.record(rounds=2, classes=2))
    assert run.leading == "auc"
    assert next(iter(charts(run)["metric"])) == "AUC"


def test_charts_are_valid_plotly_figures() -> None:
    import plotly.graph_objects as go

    drawn = charts(report.summary(made_up.record()))
    assert set(drawn) == {"metric", "loss", "bytes", "spread", "rows"}
    for choices in drawn.values():
        for figure in choices.values():
            go.Figure(json.loads(json.dumps(figure)))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1.0000000002, "1"), (2.19722, "2.198"), (0.1, "0.1"), (15, "15"), (8_001_600, "8,001,600"), (1234.2, "1,235")],
)
def test_bounds_are_rounded_up(value: float, text: str) -> None:
    assert phrasing.bound(value) == text


def test_weights_by_rows_are_named_as_what_they_tell() -> None:
    entries = made_up.record(rounds=2)
    assert not any("How many rows" in sentence for sentence in report.summary(entries).privacy.unprotected)
    entries[0].plan["server"]["weights"] = "rows"
    assert any("How many rows" in sentence for sentence in report.summary(entries).privacy.unprotected)


def test_what_was_read_in_the_clear_is_named() -> None:
    entries = made_up.record(rounds=2)
    first = next(entry for entry in entries if type(entry).__name__ == "Released")
    cleartext = type(first)(**{**vars(first), "round_no": 0, "mechanism": "categories of job", "loss": "open", "epsilon": None})
    run = report.summary([*entries[:2], cleartext, *entries[2:]])
    assert any("categories of job" in sentence for sentence in run.privacy.unprotected)
    assert not any("sent in the clear" in sentence for sentence in run.privacy.unprotected)
    assert "categories of job" not in run.privacy.mechanisms


def test_a_live_run_is_running_and_not_stopped() -> None:
    assert report.summary([], running=True).state == "running, before round 1"
    assert report.summary(made_up.record(rounds=4, stop=2), running=True).state == "running, 2 of 4 rounds done"
    assert report.summary(made_up.record(rounds=4), running=True).state == "finished"
    assert report.summary(made_up.record(rounds=4, stop=2)).state == "stopped after round 2 of 4"
