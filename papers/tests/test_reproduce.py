"""The mechanism of reproduction: each run once, kept, resumed, judged."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import plan, simulation
from tacit.errors import PlanError
from tacit.reproduction import ReproductionOptions, Scale
from tacit.runs import record
from tacit_papers import former, page, selection, tables_page
from tacit_papers.checks import AtLeast
from tacit_papers.claims import PaperClaim
from tacit_papers.estimate import Estimate
from tacit_papers.fill import fill_cells
from tacit_papers.paper import Paper
from tacit_papers.published import At, CellOutcome, Figures, PaperCell, PaperTable, PaperTrial
from tacit_papers.settings_note import describe_settings
from tests.simulation.small import small_plan, write_csv

SCALES = {"smoke": "tiny.", "quick": "small.", "full": "small."}


def paper_of(tables: tuple[PaperTable, ...], **runners: Callable[..., Figures]) -> Paper:
    return Paper(
        name="p", title="P", first_words="Epsilon is per bit.", scales=SCALES, tables=lambda scale: tables, runners=runners
    )  # fmt: skip


def means(outcomes: list[CellOutcome]) -> list[float | None]:
    return [None if outcome.ours is None else outcome.ours.mean for outcome in outcomes]


def silent(done: int, total: int, next_run: str | None) -> None:
    pass


def reproduce(
    paper: Paper, cache: Path, watch: simulation.Observer | None = None, jobs: int = 1
) -> list[CellOutcome]:
    return fill_cells(paper, paper.tables("quick"), cache, silent, watch, jobs)


@pytest.fixture
def paper(tmp_path) -> Paper:
    job = plan.dump(small_plan(write_csv(tmp_path / "r.csv"), server__rounds=3))
    trial = PaperTrial(kind="plan", settings=job, seeds=(3,))
    cells = (
        PaperCell(row="R=1", column="N=20", paper=0.5, trial=trial, metric="auc", round_no=1),
        PaperCell(row="R=3", column="N=20", paper=0.99, trial=trial, metric="auc"),
        PaperCell(row="R=3", column="never", paper=0.99, trial=trial, metric="auc"),
    )
    return paper_of((PaperTable(name="1", title="small", cells=cells),))


def test_cells_are_filled_and_kept(paper, tmp_path) -> None:
    first = reproduce(paper, tmp_path / "cache")
    assert [outcome.place for outcome in first] == [
        None,
        None,
        None,
    ], "one seed is compared with nothing"
    assert set(first[0].as_json()) == {
        "table",
        "row",
        "column",
        "paper",
        "ours",
        "low",
        "high",
        "seeds",
        "place",
    }
    kept = list((tmp_path / "cache").iterdir())
    assert len(kept) == 1, "one run serves all its cells, and its run folder is gone"
    again = reproduce(paper, tmp_path / "cache", jobs=0)
    assert [outcome.ours for outcome in again] == [outcome.ours for outcome in first]


def test_the_first_seed_of_every_trial_runs_first(tmp_path) -> None:
    order: list[tuple[str, int]] = []

    def measure(name: str, seed: int) -> Figures:
        order.append((name, seed))
        return {"last": {"auc": 0.5}}

    trials = [
        PaperTrial(kind="measure", settings={"name": name}, seeds=seeds)
        for name, seeds in (("a", (1, 2, 3)), ("b", (1, 2)))
    ]
    cells = tuple(
        PaperCell(row=str(number), column="", paper=None, trial=one, metric="auc")
        for number, one in enumerate(trials)
    )
    reproduce(
        paper_of((PaperTable(name="1", title="two", cells=cells),), measure=measure), tmp_path
    )
    assert order == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]


def test_runs_side_by_side_give_what_runs_in_turn_give(tmp_path) -> None:
    here, others = os.getpid(), set(multiprocessing.active_children())

    def measure(name: str, seed: int) -> Figures:
        assert os.getpid() != here, "each has a process of its own"
        if name == "broken" and seed == 3:
            raise PlanError("measure(seed=3) fails")
        return {"last": {"accuracy": len(name) + seed}}

    def made(*names: str) -> Paper:
        trials = [
            PaperTrial(kind="measure", settings={"name": name}, seeds=(1, 2, 3)) for name in names
        ]
        return paper_of(
            (PaperTable(name="1", title="several", cells=tuple(cell(one) for one in trials)),),
            measure=measure,
        )

    assert means(reproduce(made("a", "bb"), tmp_path, jobs=2)) == [3.0, 4.0]
    with pytest.raises(PlanError, match="seed=3"):
        reproduce(made("a", "broken"), tmp_path, jobs=3)
    assert len(list(tmp_path.glob("*.json"))) >= 6, "what ended before is kept"
    until = (
        time.monotonic() + 30
    )  # the pool's own thread notes that a child has ended, a moment after it did
    while (left := set(multiprocessing.active_children()) - others) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left


def test_nothing_runs_when_only_the_cache_is_asked(paper, tmp_path) -> None:
    assert {outcome.ours for outcome in reproduce(paper, tmp_path / "cache", jobs=0)} == {None}


def test_a_stopped_plan_is_taken_up(paper, tmp_path) -> None:
    from tests.simulation.test_job import StopsAt

    whole = [outcome.ours for outcome in reproduce(paper, tmp_path / "whole")]
    with pytest.raises(KeyboardInterrupt):
        reproduce(paper, tmp_path / "cut", StopsAt(2))
    assert [outcome.ours for outcome in reproduce(paper, tmp_path / "cut")] == whole


def test_a_plan_that_was_stopped_after_its_end_is_not_run_again(paper, tmp_path) -> None:
    (run,) = paper.tables("quick")[0].cells[0].trial.runs
    simulation.start(plan.parse(run.settings), tmp_path / "cut" / run.key)
    asked: list[object] = []

    class Notes(simulation.Silence):
        def entry(self, entry: object) -> None:
            asked.append(entry)

    cut = [outcome.ours for outcome in reproduce(paper, tmp_path / "cut", Notes())]
    assert cut == [outcome.ours for outcome in reproduce(paper, tmp_path / "whole")]
    assert not any(isinstance(entry, record.Round) for entry in asked)


class Recited:
    """A runner whose accuracies are given by seed; notes what it is asked for, and is stopped at the given seed."""

    def __init__(self, accuracies: dict[int, float], stops_at: int | None = None) -> None:
        self.accuracies, self.stops_at = accuracies, stops_at
        self.asked: list[tuple[str, int]] = []

    def __call__(self, words: str, seed: int) -> Figures:
        if seed == self.stops_at:
            raise KeyboardInterrupt
        self.asked.append((words, seed))
        return {"last": {"accuracy": self.accuracies[seed] + (0.5 if words == "better" else 0.0)}}


def seeded(words: str = "plain", seeds: tuple[int, ...] = (1, 2, 3)) -> PaperTrial:
    return PaperTrial(kind="recited", settings={"words": words}, seeds=seeds)


def recited_paper(runner: Recited, *cells: PaperCell) -> Paper:
    return paper_of((PaperTable(name="1", title="recited", cells=cells),), recited=runner)


def cell(trial: PaperTrial, column: str = "", **more: object) -> PaperCell:
    return PaperCell(row="r", column=column, paper=None, trial=trial, metric="accuracy", **more)


def test_a_stop_loses_one_seed_at_most(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3}, stops_at=3)
    with pytest.raises(KeyboardInterrupt):
        reproduce(recited_paper(runner, cell(seeded())), tmp_path)
    assert runner.asked == [("plain", 1), ("plain", 2)]
    runner.stops_at, runner.asked = None, []
    (outcome,) = reproduce(recited_paper(runner, cell(seeded())), tmp_path)
    assert runner.asked == [("plain", 3)], "the first two are kept by themselves"
    assert outcome.ours is not None
    assert (outcome.ours.mean, outcome.ours.seeds) == (pytest.approx(0.2), 3)


def test_trials_with_some_seeds_in_common_share_those_runs(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3})
    outcomes = reproduce(
        recited_paper(runner, cell(seeded(seeds=(1, 2)), "two"), cell(seeded(), "three")), tmp_path
    )
    assert [seed for _, seed in runner.asked] == [1, 2, 3]
    assert means(outcomes) == pytest.approx([0.15, 0.2])


def test_a_cell_shows_the_seeds_there_are(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3})
    reproduce(recited_paper(runner, cell(seeded(seeds=(1, 2)))), tmp_path)
    (outcome,) = reproduce(recited_paper(runner, cell(seeded())), tmp_path, jobs=0)
    assert outcome.ours is not None
    assert (outcome.ours.mean, outcome.ours.seeds) == (pytest.approx(0.15), 2)


def test_the_interval_is_student_s_and_needs_two_seeds(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3})
    outcomes = reproduce(
        recited_paper(runner, cell(seeded()), cell(seeded(seeds=(1,)), "one seed")), tmp_path
    )
    half = 4.302653 * 0.1 / 3**0.5  # t at 97.5 % with two degrees of freedom, deviation .1
    assert outcomes[0].ours is not None
    assert outcomes[0].ours.interval == pytest.approx((0.2 - half, 0.2 + half))
    assert outcomes[1].ours is not None
    assert outcomes[1].ours.interval is None


def test_a_difference_is_taken_seed_by_seed(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.9})
    (outcome,) = reproduce(recited_paper(runner, cell(seeded("better"), minus=seeded())), tmp_path)
    assert outcome.ours is not None
    assert outcome.ours.interval == pytest.approx((0.5, 0.5)), "no spread is left in the difference"


def test_what_is_printed_is_the_same_if_it_could_be_one_more_seed(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3})
    papers = (
        0.2,
        0.69,
        0.70,
        -0.29,
        -0.30,
    )  # one more seed lies within .2 ± 4.302653 · .1 · sqrt(4 / 3) = .2 ± .4968
    cells = [replace(cell(seeded(), f"{paper}"), paper=paper) for paper in papers]
    outcomes = reproduce(recited_paper(runner, *cells), tmp_path)
    assert [outcome.place for outcome in outcomes] == ["same", "same", "below", "same", "above"]


def test_a_count_must_be_the_printed_number(tmp_path) -> None:
    count = PaperTrial(kind="count", settings={"words": "x"}, seeds=())
    cells = tuple(
        replace(cell(count, f"{paper}"), paper=paper, digits=0) for paper in (554.0, 553.0)
    )
    paper = paper_of(
        (PaperTable(name="1", title="t", cells=cells),),
        count=lambda words: {"last": {"accuracy": 554.0}},
    )
    assert [outcome.place for outcome in reproduce(paper, tmp_path)] == ["same", "above"]


def test_without_seeds_a_trial_is_run_once_and_not_told_a_seed(tmp_path) -> None:
    count = PaperTrial(kind="count", settings={"words": "x"}, seeds=())
    paper = paper_of(
        (PaperTable(name="1", title="t", cells=(cell(count),)),),
        count=lambda words: {"last": {"accuracy": 0.25}},
    )
    assert means(reproduce(paper, tmp_path)) == [0.25]


def test_the_page_keeps_what_people_wrote_around_the_claims(paper, tmp_path) -> None:
    outcomes = reproduce(paper, tmp_path / "cache")
    every = page.collect_scales(paper, lambda some: outcomes)
    assert [one.scale for one in page.choose_scales(every)] == ["full"]
    page.write(paper, every, tmp_path, pictures=False)
    written = tmp_path / "papers" / "p.md"
    written.write_text(
        written.read_text().replace(
            "Epsilon is per bit.", "Epsilon is per bit.\n\nWritten by hand."
        )
        + "\nAfterword.\n"
    )
    page.write(paper, every, tmp_path, pictures=False)
    text = written.read_text()
    assert text.index("Written by hand.") < text.index("| claim |") < text.index("Afterword.")
    assert "| R=3 |" not in text, "tables have a page of their own"
    tables = (tmp_path / "papers" / "tables" / "p.md").read_text()
    assert tables.count("| R=3 |") == 1
    assert "Ran at full scale: 1 seed; clients 20; rounds 3; epochs" in tables
    assert len(json.loads((tmp_path / "results" / "p.json").read_text())["cells"]) == 3


def test_the_note_below_a_table_states_the_settings_that_ran_and_no_others(tmp_path) -> None:
    def trial(epochs: int, seeds: tuple[int, ...]) -> PaperTrial:
        settings = {"local": {"epochs": epochs}, "server": {"rounds": 4}, "words": "plain"}
        return PaperTrial(kind="recited", settings=settings, seeds=seeds)

    short, long = cell(trial(200, (1, 2, 3)), "short"), cell(trial(2_000, (1,)), "long")
    ours = Estimate(0.5, 0.1, 3)
    ran = CellOutcome(table="1", cell=short, ours=ours, scale="quick")
    missing = CellOutcome(table="1", cell=long, ours=None, scale="quick")
    assert describe_settings([ran]) == "Ran at quick scale: 3 seeds; rounds 4; epochs 200."
    assert describe_settings([ran, missing]).endswith("epochs 200. 1 of 2 cells were not run.")
    both = describe_settings([ran, replace(missing, ours=Estimate(0.5, None, 1), scale="full")])
    assert both.startswith("Ran at full scale: 1 seed; rounds 4; epochs 2,000. Ran at quick")


def test_the_note_takes_no_setting_of_another_table_for_the_clients_or_their_training() -> None:
    settings = {"data": {"clients": 100}, "local": {"epochs": 10}, "corrupt": {"clients": 0.4}}
    trial = PaperTrial(
        kind="plan", settings={**settings, "public": {"epochs": 20, "batch": 500}}, seeds=(1,)
    )
    ran = CellOutcome(table="1", cell=cell(trial), ours=Estimate(0.5, None, 1), scale="quick")
    assert describe_settings([ran]) == "Ran at quick scale: 1 seed; clients 100; epochs 10."


def test_a_printed_number_counts_once_and_not_at_all_if_the_interval_is_too_wide(tmp_path) -> None:
    best = replace(cell(seeded(), "best"), paper=0.5)
    worst = replace(cell(seeded(), "worst"), paper=0.45)
    last = replace(cell(seeded(), "last"), paper=0.5, again=True)
    table = PaperTable(name="1", title="t", cells=(best, worst, last))
    assert table.effect == pytest.approx(0.05)
    narrow, wide = Estimate(0.5, 0.001, 3), Estimate(0.5, 0.1, 3)

    def count(*ours: Estimate) -> str:
        outcomes = [
            CellOutcome(table="1", cell=one, ours=mine, effect=table.effect)
            for one, mine in zip(table.cells, ours, strict=True)
        ]
        shown = page.show_at("full", (table,), outcomes)
        return tables_page.render(paper_of((table,)), [], shown, tmp_path)

    text = count(narrow, narrow, narrow)
    assert "Of 2 printed numbers" in text
    assert " 1 could be one more seed of ours (=), ours lie above 1 (▲)" in text
    twin = count(wide, narrow, narrow)
    assert "Of 1 printed numbers" in twin
    assert "A further 1 have an interval wider" in twin
    assert ".500 ± .248 (.500) ~" in twin


def test_the_index_counts_the_verdicts_of_the_results(paper, tmp_path) -> None:
    claims = (PaperClaim(claim="c", where="w", untestable="no data"),)
    outcomes = reproduce(paper, tmp_path / "cache")
    index = tmp_path / "papers" / "index.md"
    index.parent.mkdir()
    index.write_text(
        "<!-- claims: written by tacit reproduce, do not edit --><!-- end of claims -->"
    )
    judged = replace(paper, claims=claims)
    page.write(judged, page.collect_scales(judged, lambda some: outcomes), tmp_path, pictures=False)
    assert "| [P](p.md) | 0 | 0 | 0 | 0 | 1 |" in index.read_text()


def test_a_claim_is_decided_by_the_largest_scale_that_decides_it_and_a_page_says_what_is_missing(
    tmp_path,
) -> None:
    run, other, third = cell(seeded()), cell(seeded(), "other"), cell(seeded(), "third")
    table = PaperTable(name="1", title="t", cells=(run, other, third), cost="a day")
    claims = tuple(
        PaperClaim(claim=one.row, where="", checks=(AtLeast(At("1", one.row, one.column), 0.5),)) for one in (run, other)
    )  # fmt: skip
    both = replace(paper_of((table,)), claims=claims)

    def at(scale: Scale, *figures: float | None) -> page.TableAtScale:
        ours = [None if one is None else Estimate(one, 0.01, 3) for one in figures]
        outcomes = [
            CellOutcome(table="1", cell=one, ours=mine)
            for one, mine in zip(table.cells, ours, strict=True)
        ]
        (shown,) = page.show_at(scale, (table,), outcomes)
        return shown

    every = [at("full", 0.9, None, 0.9), at("quick", 0.1, 0.9, None)]
    (shown,) = page.choose_scales(every)
    assert [shown.scale, *(one.scale for one in shown.outcomes)] == [
        "full",
        "full",
        "quick",
        "full",
    ], "a cell it lacks"
    assert page.choose_scales([at("full", None, None, 0.9), every[1]])[0].scale == "quick", (
        "more of its cells can be compared there"
    )
    first, second = page.judge_claims(both, every)
    assert (first.verdict, "scale" in first.reason) == ("holds", False)
    assert (second.verdict, "(quick scale)" in second.reason) == ("holds", True)
    page.write(both, every, tmp_path, pictures=False)
    text = (tmp_path / "papers" / "tables" / "p.md").read_text()
    assert "Not all run at the full scale: a day. The rest" in text
    assert text.count("<sup>q</sup>") == 1
    assert [
        one["scale"] for one in json.loads((tmp_path / "results" / "p.json").read_text())["cells"]
    ] == ["full", "quick", "full"]
    page.write(both, [at("full", 0.9, 0.9, 0.9), every[1]], tmp_path, pictures=False)
    assert "Not all run" not in (tmp_path / "papers" / "tables" / "p.md").read_text()


def test_a_smaller_scale_decides_nothing_that_a_larger_one_leaves_open() -> None:
    run = cell(seeded())
    table = PaperTable(name="1", title="t", cells=(run,))
    claim = PaperClaim(claim="c", where="", checks=(AtLeast(At("1", run.row, run.column), 0.5),))
    paper = replace(paper_of((table,)), claims=(claim,))

    def at(scale: Scale, ours: Estimate) -> page.TableAtScale:
        outcome = CellOutcome(table="1", cell=run, ours=ours)
        (shown,) = page.show_at(scale, (table,), [outcome])
        return shown

    sure, unsure = Estimate(0.9, 0.01, 3), Estimate(0.51, 0.2, 3)
    (judged,) = page.judge_claims(paper, [at("full", unsure), at("quick", sure)])
    assert judged.verdict == "inconclusive"
    (judged,) = page.judge_claims(paper, [at("full", sure), at("quick", unsure)])
    assert judged.verdict == "holds"


def test_a_long_note_stands_under_the_first_of_its_tables_only(tmp_path) -> None:
    long, short = "Each figure is a mean over clients. " * 4, "Seed by seed."
    tables = tuple(
        PaperTable(name=name, title=f"Table of {name}", cells=(cell(seeded()),), note=note)
        for name, note in (("a", long), ("b", short), ("c", long), ("d", short))
    )
    paper = paper_of(tables)
    shown = [page.TableAtScale("full", table, []) for table in tables]
    text = tables_page.render(paper, [], shown, tmp_path)
    assert (text.count(long), text.count(short)) == (1, 2)
    assert text.index("The note under “Table of a” applies here too.") > text.index("Table of c")


def test_figures_of_a_former_page_are_found_again_and_more_seeds_join_them(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3})
    few, all_ = (recited_paper(runner, cell(seeded(seeds=seeds))) for seeds in ((1, 2), (1, 2, 3)))
    page.write(
        few,
        page.collect_scales(few, lambda some: reproduce(few, tmp_path / "cache")),
        tmp_path,
        pictures=False,
    )
    before = former.read(all_, tmp_path)

    def again(cache: str, before: dict[str, former.Former], jobs: int = 1) -> Estimate | None:
        (found,) = fill_cells(
            all_, all_.tables("quick"), tmp_path / cache, silent, jobs=jobs, former=before
        )
        return found.ours

    lost = again("empty", before, jobs=0)
    assert lost is not None
    assert (lost.mean, lost.seeds) == (pytest.approx(0.15), 2)
    runner.asked = []
    fuller = again("other machine", before)
    assert runner.asked == [("plain", 3)], "two seeds stand on the page"
    assert fuller is not None
    assert (fuller.mean, fuller.seeds) == (pytest.approx(0.2), 3)


def test_a_page_without_seeds_counts_where_it_says_more(tmp_path) -> None:
    runner = Recited({1: 0.1, 2: 0.2, 3: 0.3})
    paper = recited_paper(runner, cell(seeded()))
    key = paper.tables("quick")[0].cells[0].key

    def found(estimate: Estimate) -> Estimate | None:
        before = {key: former.Former(estimate)}
        (outcome,) = fill_cells(paper, paper.tables("quick"), tmp_path, silent, former=before)
        return outcome.ours

    five = Estimate(0.5, 0.1, 5)
    assert (found(five), runner.asked) == (five, []), "nothing to add"
    unknown = found(Estimate(0.5, None, 9))
    assert unknown is not None
    assert unknown.seeds == 3, "nine seeds of unknown spread say less"


def test_new_seeds_join_a_page_that_has_no_values_by_seed(tmp_path) -> None:
    values = {1: 0.1, 2: 0.25, 3: 0.3, 4: 0.2, 5: 0.9}
    runner, paper = Recited(values), recited_paper(Recited(values), cell(seeded()))
    key = paper.tables("quick")[0].cells[0].key
    wider = recited_paper(runner, cell(seeded(seeds=(1, 2, 3, 4, 5))))
    first = Estimate.of([0.1, 0.25, 0.3])
    (outcome,) = fill_cells(
        wider, wider.tables("quick"), tmp_path, silent, former={key: former.Former(first)}
    )
    assert [seed for _, seed in runner.asked] == [4, 5], "the first three are in the mean"
    whole = Estimate.of(list(values.values()))
    assert outcome.ours is not None
    assert (outcome.ours.mean, outcome.ours.deviation, outcome.ours.seeds) == (
        pytest.approx(whole.mean), pytest.approx(whole.deviation), 5,
    )  # fmt: skip
    assert outcome.values == {4: 0.2, 5: 0.9}, "only known values are stored by seed"
    page.write(
        wider, page.show_at("full", wider.tables("full"), [outcome]), tmp_path, pictures=False
    )
    before = former.read(wider, tmp_path)
    (again,) = fill_cells(
        wider, wider.tables("quick"), tmp_path / "empty", silent, jobs=0, former=before
    )
    assert again.ours == outcome.ours
    runner.asked = []
    fill_cells(wider, wider.tables("quick"), tmp_path / "other", silent, former=before)
    assert runner.asked == []


def test_scales_that_share_a_cell_store_the_seeds_of_both() -> None:
    few, many = ({seed: 0.1 * seed for seed in range(1, last)} for last in (3, 6))
    outcomes = [
        CellOutcome(table="1", cell=cell(seeded()), ours=None, values=values)
        for values in (many, few)
    ]
    (stored,) = former.as_json(outcomes).values()
    assert list(stored) == ["1", "2", "3", "4", "5"]


def test_further_seeds_are_run_for_every_trial_of_a_cell_and_the_page_says_how(tmp_path) -> None:
    runner = Recited({seed: 0.1 * seed for seed in range(1, 6)})
    exact = PaperTrial(kind="recited", settings={"words": "exact"}, seeds=())
    difference = cell(seeded("better"), minus=seeded())
    (table,) = selection.add_seeds(recited_paper(runner, difference, cell(exact)).tables("full"), 5)
    assert [one.trial.seeds for one in table.cells] == [(1, 2, 3, 4, 5), ()]
    assert table.cells[0].minus == seeded(seeds=(1, 2, 3, 4, 5))
    assert selection.add_seeds((table,), 2) == (table,), "at least as many"
    paper = recited_paper(runner, difference)

    def page_with(seeds: int | None) -> str:
        options = ReproductionOptions(
            scale="quick", cache=tmp_path / "cache", jobs=1, min_seeds=seeds, page=tmp_path
        )
        paper.reproduce(options, silent)
        return (tmp_path / "papers" / "tables" / "p.md").read_text()

    assert "--min-seeds" not in page_with(None)
    assert "3 seeds" in page_with(2)
    text = page_with(5)
    assert (
        "Ran at full scale: 5 seeds. `tacit reproduce p --table 1 --scale full --min-seeds 5`"
        in text
    )
    assert page_with(None) == text, "seeds on the page stay"


def test_of_tables_that_share_a_cell_the_one_with_more_seeds_counts(tmp_path) -> None:
    def stored(seeds: int) -> dict[str, object]:
        return {"key": "k", "ours": 0.5, "deviation": 0.1 if seeds > 1 else None, "seeds": seeds}

    (tmp_path / "results").mkdir()
    everything = {
        "cells": [stored(3), stored(1)],
        "seeds": {"k": {"1": 0.4}, "new": {"exact": 2.0}},
    }
    (tmp_path / "results" / "p.json").write_text(json.dumps(everything))
    found = former.read(paper_of(()), tmp_path)
    assert found["k"].estimate == Estimate(0.5, 0.1, 3)
    assert found["new"].values == {None: 2.0}
