"""Figures that the pages over runs show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tacit.plan.grid import BASELINE_NOTE
from tacit.runs.record import Started, Writer, repair_end
from tacit.ui.records.catalogue import RunCatalogue
from tacit.ui.records.index import RecordIndex
from tacit.ui.runs.live_charts import describe_cohort
from tacit.ui.runs.message_views import view_attack, view_message
from tacit.ui.runs.searches import chart_search, describe_progress, find_searches
from tests.report import made_up


def test_a_run_that_trains_shows_the_totals_of_its_last_round_and_words_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = made_up.record(rounds=6)
    place = made_up.folder(tmp_path, made_up.record(rounds=6, stop=1), "grows-1")
    known = len(made_up.record(rounds=6, stop=1))
    path = place / "record.jsonl"
    catalogue, writer = RunCatalogue(tmp_path), Writer(path, repair_end(path))
    monkeypatch.setattr(catalogue, "is_running", lambda name: True)
    catalogue.summary("grows-1", in_words=True)
    for entry in entries[known : known + 9]:
        writer.append(entry)
    writer.sync()
    shown = catalogue.summary("grows-1", in_words=True).privacy
    assert tuple(one.total for one in shown.totals) == catalogue.index("grows-1").spent.last
    assert catalogue.index("grows-1").spent.by_round()[-1][0] == 4
    assert shown.statement == ""
    assert shown.unprotected
    for entry in entries[known + 9 :]:
        writer.append(entry)
    writer.close()
    assert catalogue.summary("grows-1", in_words=True).privacy.statement


def test_the_cohort_of_a_round_says_who_dropped_out(tmp_path: Path) -> None:
    entries = made_up.record(rounds=3, stop=3)
    made_up.folder(tmp_path, entries, "all-1")
    fewer = [
        replace(one, cohort=90) if getattr(one, "cohort", 0) == 100 else one for one in entries
    ]
    made_up.folder(tmp_path, fewer, "fewer-1")
    found = []
    for name in ("all-1", "fewer-1"):
        index = RecordIndex(tmp_path, name)
        index.update()
        found.append(describe_cohort(index))
    assert found == [
        "Round 3: 100 clients took part.",
        "Round 3: 90 of 100 clients took part, 10 dropped out.",
    ]


def test_a_sweep_separates_its_runs_from_its_baselines(tmp_path: Path) -> None:
    note = "tacit plan sweep: one of 2 runs over codec.epsilon on the same rows, to choose from"
    for number, arm in enumerate(["", "", "central"]):
        started, *rest = made_up.record(rounds=2)
        assert isinstance(started, Started)
        plan = {**started.plan, "baselines": [], "selected_by": note}
        plan["codec"] = {**started.plan["codec"], "epsilon": 1.0 + number}
        if arm:
            plan |= {"selected_by": f"{note}{BASELINE_NOTE}{arm}", "codec": {"name": "plain"}}
        made_up.folder(tmp_path, [replace(started, plan=plan), *rest], f"sweep-{number}")
    (found,) = find_searches(RunCatalogue(tmp_path).rows())
    assert sorted(row.name for row in found.rows) == ["sweep-0", "sweep-1"]
    assert [(arm, row.name) for arm, row in found.baselines] == [("central", "sweep-2")]
    assert found.settings == ("codec.epsilon",)
    assert describe_progress(found).startswith("2 of 2 runs finished, and 1 of 1 baselines, best")
    (chart,) = chart_search(found)["search"].values()
    assert [line["name"] for line in chart["data"]] == ["runs", "mean", "central, mean"]


def test_a_baseline_of_a_sweep_says_so_in_its_plan(tmp_path: Path) -> None:
    """The mark fits into the longest note, which a plan takes."""
    from tacit.cli.plan.sweep import _MAX_NOTE

    assert _MAX_NOTE + len(f"{BASELINE_NOTE}same_features") <= 300


def test_an_attack_is_shown_with_its_control_and_each_word_once_right() -> None:
    def guesses(**found: bool) -> list[dict[str, object]]:
        return [{"place": word, "true": [word] if there else []} for word, there in found.items()]

    seen = {"client": 3, "what": "words", "held": 9}
    view = view_attack(
        {
            "sentences": ["One."],
            "notes": ["One.", "Two."],
            "examples": [
                {**seen, "who": "control: the update", "guesses": guesses(apple=True, pear=True)},
                {**seen, "who": "the server", "guesses": guesses(apple=True, plum=False)},
            ],
        }
    )
    (text,) = view.texts
    assert (text.own, view.notes) == ("apple pear", ("Two.",))
    assert [one.who for one in text.readings] == ["control: the update", "the server"]
    assert text.readings[1].words == (("apple", True), ("plum", False))


def test_rows_that_would_leave_are_counted_by_client() -> None:
    view = view_message(
        {
            "rows": 10,
            "disclosed": 7,
            "share": 0.7,
            "columns": ["age", "y"],
            "rows_per_client": [5, 5],
            "disclosed_per_client": [3, 4],
            "largest": [{"values": {"age": 30}, "rows": 4, "labels": {"u": 4, "v": 0}}],
        }
    )
    assert view.sentences[0].startswith("7 of 10 rows (70.0%) pass")
    clients, classes = view.grids
    assert clients.rows == [("client 0", "3", "5"), ("client 1", "4", "5")]
    assert classes.rows == [("age 30", "4", "u 4, v 0")]
