"""The page: offline, escaped, and with the figures the terminal shows."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import asdict, replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tacit import report
from tacit.privacy import ledger
from tacit.privacy.claim import Pure, Repeated, Total, Unproven
from tacit.report.audits import build_grids
from tacit.report.pages.cards import build_cards
from tacit.report.pages.charts import build_charts
from tacit.report.pages.plot_library import read_library
from tacit.runs.record import (
    RUN,
    Audited,
    Entry,
    Finished,
    Released,
    Round,
    Spent,
    read,
    select_entries,
)
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
        self.loads += [
            value or ""
            for key, value in attrs
            if key in ("src", "href", "srcset", "data", "action")
        ]
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
    assert len(page.scripts) == 1
    allowed = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in (*page.scripts, read_library())
    ]
    assert re.findall(r"'sha256-([^']*)'", page.policy) == allowed


def test_the_library_is_in_the_page_once_and_small(page_text: str) -> None:
    (text,) = re.findall(r'id="library" data-bytes="\d+">([^<]*)</script>', page_text)
    (length,) = re.findall(r'id="library" data-bytes="(\d+)"', page_text)
    assert not set(text) & set("<&")
    small = base64.b85decode(text.translate(str.maketrans(",.", "<&")))[: int(length)]
    assert gzip.decompress(small).decode() == read_library()
    assert len(page_text) < 2_000_000


def test_hostile_names_are_shown_not_run(tmp_path: Path) -> None:
    entries = made_up.record(rounds=3, name=HOSTILE, classes=2)
    prepared = entries[1]
    prepared.classes[0] = HOSTILE  # type: ignore[union-attr]
    text = report.write(made_up.folder(tmp_path, entries, name="<b>bold<b>")).read_text(
        encoding="utf-8"
    )
    page = Page(text)
    assert len(page.scripts) == 1
    assert "img" not in page.tags
    assert "b" not in page.tags
    assert escape(HOSTILE) in text or "&#34;&gt;&lt;script&gt;" in text
    small = report.render_snippet(entries)
    assert "<script" not in small
    assert "<img" not in small


def test_page_shows_the_table_of_the_summary(page_text: str) -> None:
    run = report.summarise(made_up.record(), name="newsgroups-1")
    for arm in run.arms:
        for text in report.list_cells(arm):
            assert text in page_text
    for card in build_cards(run):
        assert card.figure in page_text
    for total in run.privacy.totals:
        assert total.text in page_text
    assert made_up.STATEMENT in page_text


def test_no_epsilon_stands_alone(page_text: str) -> None:
    shown = re.sub(
        r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page_text, flags=re.DOTALL
    )
    for found in re.finditer(r"epsilon ([\d][\d.,]*)", shown):
        assert re.match(r"\s*(per|is|\d)", shown[found.end() : found.end() + 12]), shown[
            found.start() : found.end() + 30
        ]
    assert "eps =" not in shown


def test_summary_of_three_arms() -> None:
    run = report.summarise(made_up.record())
    assert [arm.name for arm in run.arms] == [RUN, "fedavg", "central"]
    assert run.finished
    assert run.state == "finished"
    assert run.leading == "accuracy"
    ours = run.arm(RUN)
    assert ours is not None
    assert ours.bytes_up == 12_620
    assert ours.privacy == "epsilon 200,040 per update"
    assert [arm.privacy for arm in run.arms[1:]] == [
        "none: sent in the clear",
        "none: rows are pooled in one place",
    ]
    ratio = report.compare_with_plain(run)
    assert ratio is not None
    assert ratio[0] == pytest.approx(400_180 / 12_620)


def test_bytes_are_compared_with_a_model_of_as_many_parameters() -> None:
    """FedAvg may have features of its own, and so a larger model."""
    run = report.summarise(made_up.record())
    assert run.data is not None
    larger = replace(
        run,
        arms=[replace(arm, bytes_up=900_000) if arm.name == "fedavg" else arm for arm in run.arms],
    )
    ratio = report.compare_with_plain(larger)
    assert ratio is not None
    assert ratio[1] == 4 * run.data.parameters


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 30])
def test_a_record_cut_short_gives_what_it_holds(length: int, tmp_path: Path) -> None:
    entries: list[Entry] = made_up.record()[:length]
    run = report.summarise(entries)
    assert not run.finished
    assert run.state.startswith("stopped")
    report.render_snippet(entries)
    assert report.write(made_up.folder(tmp_path, entries)).exists()


def test_an_unfinished_arm_counts_bytes_per_client() -> None:
    ours = report.summarise(made_up.record(stop=7)).arm(RUN)
    assert ours is not None
    assert (ours.rounds, ours.planned, ours.bytes_up, ours.bytes_down) == (7, 40, 12_620, 400_200)
    assert report.list_cells(ours)[1] == "7/40"


def test_two_classes_lead_with_auc() -> None:
    run = report.summarise(made_up.record(rounds=2, classes=2))
    assert run.leading == "auc"
    assert next(iter(build_charts(run)["metric"])) == "AUC"


def test_charts_are_valid_plotly_figures() -> None:
    import plotly.graph_objects as go

    drawn = build_charts(report.summarise(made_up.record()))
    assert set(drawn) == {"metric", "loss", "bytes", "spread", "rows"}
    for choices in drawn.values():
        for figure in choices.values():
            go.Figure(json.loads(json.dumps(figure)))


def test_an_audit_of_a_later_version_is_shown_in_words(tmp_path: Path) -> None:
    later = Audited(name="of tomorrow", findings={"sentences": ["Nothing was found."]})
    text = report.write(made_up.folder(tmp_path, [*made_up.record(rounds=2), later])).read_text(
        encoding="utf-8"
    )
    assert "Audit: of tomorrow" in text
    assert "Nothing was found." in text
    assert build_grids(later) == []


def test_weights_by_rows_are_named_as_what_they_tell() -> None:
    entries = made_up.record(rounds=2)
    assert not any(
        "The number of rows" in sentence
        for sentence in report.summarise(entries).privacy.unprotected
    )
    entries[0].plan["server"]["weights"] = "rows"
    assert any(
        "The number of rows" in sentence
        for sentence in report.summarise(entries).privacy.unprotected
    )


def cleartext(what: str) -> Released:
    return ledger.build_release(
        replace(made_up.PLAIN, mechanism=what, unit="run"),
        RUN,
        0,
        "features",
        clients=100,
        busiest=1,
    )


def test_what_was_read_in_the_clear_is_named_all_of_it() -> None:
    entries = made_up.record(rounds=2)
    columns = [f"categories of column {number}" for number in range(30)]
    others = [
        "categories of race",
        "smallest and largest value of age",
        "the list of words in all clients' texts",
    ]
    run = report.summarise([*entries[:2], *map(cleartext, [*columns, *others]), *entries[2:]])
    (sentence,) = [
        sentence for sentence in run.privacy.unprotected if "to build features" in sentence
    ]
    for text in (sentence, run.privacy.statement):
        assert (
            "categories of column 0 to column 29, race; smallest and largest value of age; the list"
            " of words" in text
        )
    assert not any("sent in the clear" in sentence for sentence in run.privacy.unprotected)
    assert columns[0] not in run.privacy.mechanisms


def test_totals_are_folded_from_what_left_and_not_from_what_was_noted() -> None:
    """Eight rounds at epsilon 2 per bit, then a changed plan: the last entry says little was spent."""
    entries = made_up.record(rounds=8, stop=8)
    cheap = replace(made_up.BITS, event=Repeated(Pure(0.5), 100_020))
    low = [
        asdict(Total(unit=unit, epsilon=0.5, delta=0.0, basis="exact"))
        for unit in ("bit", "update", "run")
    ]
    entries += [
        ledger.build_release(cheap, RUN, 9, "train", clients=100, busiest=1),
        made_up.round_of(RUN, 9, 9, 0.6, 12_620),
    ]
    entries += [Spent(arm=RUN, round_no=9, totals=low, statement="epsilon 0.5 per run")]
    run = report.summarise(entries)
    assert {one.total.unit: one.total.epsilon for one in run.privacy.totals if not one.total.delta} == {
        "bit": 2.0, "update": 200_040.0, "run": 8 * 200_040.0 + 50_010.0,
    }  # fmt: skip
    ours = run.arm(RUN)
    assert ours is not None
    assert ours.privacy == "epsilon 200,040 per update"
    assert "1,650,330 per run (9 updates" in run.privacy.statement
    assert "0.5 per run" not in run.privacy.statement


def test_one_round_in_the_clear_leaves_no_number() -> None:
    entries = made_up.record(rounds=8, stop=8)
    run = report.summarise(
        [*entries, ledger.build_release(made_up.PLAIN, RUN, 9, "train", clients=100, busiest=1)]
    )
    assert {one.total.epsilon for one in run.privacy.totals} == {None}
    assert run.privacy.statement.startswith("Owners are simulated")
    assert "There is no protection" in run.privacy.statement
    assert (
        "8 updates as one-bit randomised response (clip ±0.02) and 1 update as plain float32 update"
        in run.privacy.statement
    )


def test_an_unproven_mechanism_is_refused_and_the_page_still_made(tmp_path: Path) -> None:
    entries = made_up.record(rounds=2, stop=2)
    secret = replace(made_up.BITS, mechanism="home-made scrambling", event=Unproven())
    entries = [*entries, ledger.build_release(secret, RUN, 3, "train", clients=100, busiest=1)]
    run = report.summarise(entries)
    assert "home-made scrambling: no bound is proved" in run.privacy.statement
    assert not run.privacy.totals
    assert report.write(made_up.folder(tmp_path, entries)).exists()


@pytest.mark.parametrize("text", ["hashed words", "word table", ""])
def test_only_hashed_words_are_called_hashed(text: str) -> None:
    entries = made_up.record(rounds=2)
    entries[1] = replace(entries[1], text=text)  # type: ignore[type-var]
    assert any(
        "hash" in sentence for sentence in report.summarise(entries).privacy.unprotected
    ) == (text == "hashed words")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "he held-out test rows: results on them are exact, without noise, after every round."),
        ({"data": {"divide_test": True}}, "lients' own held-out rows: results on them are exact"),
        ({"data": {"local_test": 0.2}}, "its own held-out rows"),
        (
            {"server": {"patience": 3, "evaluate_every": 5}},
            "after every 5 rounds. They decide when training stops",
        ),
    ],
)
def test_exact_figures_on_held_out_rows_are_not_protected(settings: dict, said: str) -> None:
    entries = made_up.record(rounds=2)
    for table, values in settings.items():
        entries[0].plan[table].update(values)  # type: ignore[union-attr]
    assert any(said in sentence for sentence in report.summarise(entries).privacy.unprotected)


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, ""),
        (
            {"accuracy": 0.5, "accuracy_noise": 0.1},
            "results of sites that send exact counts have no",
        ),
        ({"accuracy": 0.5}, "results on them are exact, without noise"),
    ],
)
def test_results_on_held_out_rows_are_named_if_there_are_any(metrics: dict, said: str) -> None:
    entries = [
        replace(entry, metrics=metrics) if isinstance(entry, Round | Finished) else entry
        for entry in made_up.record(rounds=2)
    ]
    found = report.summarise(entries).privacy.unprotected
    assert [said in one for one in found if "held-out test rows: " in one] == [True] * bool(said)


def test_a_run_of_an_early_version_is_still_shown(tmp_path: Path) -> None:
    """Entries as version 0.1 wrote them, with losses spelt out and totals by the words they were shown in."""
    loss = {
        "mechanism": "rr",
        "relation": "replace all rows of one client",
        "view": "server",
        "trust": [],
        "source": "s",
    }
    many = {
        "arm": "run",
        "clients": 3,
        "loss": "pure",
        "epsilon": 2.0,
        "unit": "bit",
        "count": 10,
        **loss,
    }
    noisy = {
        **many,
        "round_no": 0,
        "loss": "approximate",
        "epsilon": 1.0,
        "unit": "decision (delta=1e-06)",
        "count": 1,
    }
    handed = {
        **many,
        "round_no": 0,
        "loss": "disclosed",
        "epsilon": None,
        "unit": "row",
        "count": 7,
        "mechanism": "7 rows",
    }
    spent = {
        "arm": "run",
        "round_no": 2,
        "totals": {"bit": 2.0, "run (delta=1e-05)": None},
        "statement": "epsilon 0.1 per run",
    }
    lines = [
        {"kind": "released", **{**noisy, "view": "everyone"}}, {"kind": "released", **handed},
        {"kind": "released", "round_no": 1, **many}, {"kind": "released", "round_no": 2, **many}, {"kind": "spent", **spent},
    ]  # fmt: skip
    path = tmp_path / "record.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    entries = list(read(path))
    run = report.summarise(entries)
    assert [one.text for one in run.privacy.totals][:3] == [
        "2 per bit",
        "20 per update",
        "40 per run",
    ]
    assert any(
        "beyond epsilon 1 per decision, delta 1e-06" in sentence
        for sentence in run.privacy.unprotected
    )
    assert any(
        "The rows sent to the server: 7 rows" in sentence for sentence in run.privacy.unprotected
    )
    assert select_entries(entries, Spent)[0].totals[1] == {
        "unit": "run",
        "epsilon": None,
        "delta": 1e-05,
        "basis": "as recorded",
    }


def test_a_live_run_is_running_and_not_stopped() -> None:
    assert report.summarise([], running=True).state == "running, before round 1"
    assert (
        report.summarise(made_up.record(rounds=4, stop=2), running=True).state
        == "running, 2 of 4 rounds done"
    )
    assert report.summarise(made_up.record(rounds=4), running=True).state == "finished"
    assert report.summarise(made_up.record(rounds=4, stop=2)).state == "stopped after round 2 of 4"


def test_the_statement_says_what_stays() -> None:
    from tacit.privacy.statement.prose_rows import describe_private_parameters

    assert describe_private_parameters({"words": "all"}).startswith(
        "The vectors of all words stay with each client and are never sent"
    )
    assert describe_private_parameters({"words": "digits", "parameters": ["lstm.*"]}).startswith(
        "The vectors of words with a digit and the parameters lstm.* stay"
    )
    assert describe_private_parameters({"words": "none", "parameters": []}) == ""
