"""A sweep's table, charts and page, from made-up runs."""

import json
from dataclasses import replace

import pytest

from tacit.report import summarise
from tacit.report.figures import Summary
from tacit.report.sweeps.charts import build_charts
from tacit.report.sweeps.clients_needed import find_clients_needed
from tacit.report.sweeps.figures import Combination, Sweep, list_headings, list_rows, sweep_to_json
from tacit.report.sweeps.page import render
from tests.report import made_up

RUN = summarise(made_up.record(rounds=3))


def run(accuracy: float, epsilon: float = 2.0, up: int = 12_620) -> Summary:
    """Return the made-up run with another result, another epsilon per bit and other bytes."""
    own = replace(RUN.arms[0], metrics={"accuracy": accuracy}, bytes_up=up)
    totals = [
        replace(one, total=replace(one.total, epsilon=one.total.epsilon * epsilon / 2))
        for one in RUN.privacy.totals
    ]
    return replace(RUN, arms=[own], privacy=replace(RUN.privacy, totals=totals))


def made(seeds: int = 2) -> Sweep:
    beside = {"fedavg": [run(0.9)] * seeds}
    tried = [
        Combination(
            settings={"codec.epsilon": epsilon, "data.clients": clients},
            runs=[
                run(0.6 + 0.1 * float(epsilon) + 0.02 * seed, float(epsilon))
                for seed in range(seeds)
            ],
            baselines=beside,
        )
        for epsilon in ("0.5", "1", "2")
        for clients in ("10", "100")
    ]
    return Sweep(
        name="<b>mine</b>", keys=["codec.epsilon", "data.clients"], seeds=seeds, tried=tried
    )


def test_rows_have_means_with_intervals_units_and_baselines() -> None:
    found = made()
    assert list_headings(found) == [
        "codec.epsilon", "data.clients", "runs", "accuracy", "epsilon", "up / client / round", "time",
        "accuracy, FedAvg, unprotected",
    ]  # fmt: skip
    # Student's t with one degree of freedom is 12.706 at 97.5 %; two values .02 apart have a standard error of .01.
    assert list_rows(found)[0][:4] == ("0.5", "10", "2", "66.0 % ± 12.7")
    assert list_rows(found)[0][4].endswith("per run")
    assert list_rows(found)[0][5] == "12.6 kB"
    assert list_rows(made(seeds=1))[0][3] == "65.0 %"


def test_what_failed_is_in_the_table_and_on_the_page() -> None:
    found = made()
    found.tried[0].failed.append("it diverged; lower local.lr")
    found.tried[1].failed.extend(["out of memory"] * 2)
    empty = replace(
        found, tried=[found.tried[0], replace(found.tried[1], runs=[]), *found.tried[2:]]
    )
    assert [row[2] for row in list_rows(empty)[:2]] == ["2 of 3", "0 of 2"]
    assert list_rows(empty)[1][3] == "failed"
    page = render(empty, "")
    assert "codec.epsilon=0.5, data.clients=10: it diverged; lower local.lr" in page
    assert page.count("<li>codec.epsilon=0.5, data.clients=100: out of memory</li>") == 1
    assert "10 of 13 runs" in page


def test_lines_run_along_the_first_key_and_baselines_are_drawn_once() -> None:
    drawn = {chart.name: chart for chart in build_charts(made())}
    assert list(drawn) == [
        "privacy",
        "setting-1",
    ], "all send the same bytes, so there is nothing to draw against them"
    assert list(drawn["privacy"].figures) == [
        "epsilon per run",
        "epsilon per update",
        "epsilon per bit",
    ]
    figure = drawn["privacy"].figures["epsilon per bit"]
    assert [(trace["name"], trace["x"]) for trace in figure["data"]] == [
        ("10", [0.5, 1.0, 2.0]), ("100", [0.5, 1.0, 2.0]), ("FedAvg, unprotected", [0.5, 2.0]),
    ]  # fmt: skip
    assert figure["data"][0]["y"] == pytest.approx([0.66, 0.71, 0.81])
    assert [line.name for line in drawn["setting-1"].lines] == [
        "0.5",
        "1",
        "2",
        "FedAvg, unprotected",
    ]


def test_intervals_are_drawn_no_further_than_values_can_lie() -> None:
    best = Combination(
        settings={"codec.epsilon": "9", "data.clients": "10"}, runs=[run(0.9, 9.0), run(1.0, 9.0)]
    )
    found = made()
    figure = build_charts(replace(found, tried=[*found.tried, best]))[0].figures["epsilon per bit"]
    error = figure["data"][0]["error_y"]
    assert error["array"][-1] == pytest.approx(0.05)
    assert error["arrayminus"][-1] == pytest.approx(0.635, abs=1e-3)


def test_bytes_are_drawn_where_they_differ() -> None:
    found = made(seeds=1)
    other = Combination(
        settings={"codec.epsilon": "2", "data.clients": "1000"}, runs=[run(0.8, 2.0, up=400_000)]
    )
    drawn = {
        chart.name: chart for chart in build_charts(replace(found, tried=[*found.tried, other]))
    }
    assert (
        max(x for trace in drawn["bytes"].figures["bytes"]["data"] for x in trace["x"]) == 400_000
    )


def test_the_page_escapes_names_loads_nothing_and_says_what_epsilons_mean() -> None:
    page = render(made(), "name = '<script>'")
    assert "<b>mine</b>" not in page
    assert "name = &#39;&lt;script&gt;&#39;" in page
    assert "default-src &#39;none&#39;" in page
    assert "Neighbouring data sets: replace all rows of one client." in page
    assert "guarantees differ" not in page
    assert "Every combination sends 12.6 kB per client and round." in page
    assert 'id="chart-setting-1"' in page


def test_different_guarantees_are_told_apart() -> None:
    found = made()
    trusting = replace(found.tried[0].runs[0], privacy=replace(RUN.privacy, trust=["the server"]))
    page = render(
        replace(found, tried=[replace(found.tried[0], runs=[trusting]), *found.tried[1:]]), ""
    )
    assert "These guarantees differ" in page
    assert "<strong>codec.epsilon=0.5, data.clients=10.</strong>" in page


def test_json_has_every_point_with_its_units() -> None:
    told = json.loads(json.dumps(sweep_to_json(made()), allow_nan=False))
    assert (told["over"], told["seeds"], told["metric"]) == (
        ["codec.epsilon", "data.clients"],
        2,
        "accuracy",
    )
    first = told["points"][0]
    assert first["metrics"]["accuracy"]["mean"] == pytest.approx(0.66)
    assert first["epsilon"]["bit"] == {"epsilon": 0.5, "delta": 0.0}
    assert first["baselines"]["fedavg"]["mean"] == 0.9
    assert first["trust"] == ["nobody, since each client randomises before anything leaves"]


def needing(
    tried: dict[tuple[str, str], float], over: str = "codec.epsilon"
) -> list[tuple[float, list[tuple[float, float]]]]:
    """Return what is read off runs of some accuracies, by epsilon per bit and number of clients."""
    points = [
        Combination(
            settings={over: epsilon, "data.clients": clients}, runs=[run(accuracy, float(epsilon))]
        )
        for (epsilon, clients), accuracy in tried.items()
    ]
    found = find_clients_needed(
        Sweep(name="mine", keys=[over, "data.clients"], seeds=1, tried=points), "bit"
    )
    return [(round(one.level, 2), [(x, round(y, 6)) for x, y in one.points]) for one in found]


def test_clients_needed_lie_between_those_tried_and_there_is_no_point_beyond_them() -> None:
    tried = {(e, c): a for e in ("1", "2") for c, a in (("1000", 0.615), ("10", 0.595))} | {
        ("4", "10"): 0.7,
        ("4", "1000"): 0.8,
    }
    assert needing(tried) == [
        (0.6, [(1.0, round(10**1.5, 6)), (2.0, round(10**1.5, 6))]),
        (0.61, [(1.0, round(10**2.5, 6)), (2.0, round(10**2.5, 6))]),
    ]


def test_where_more_clients_are_no_better_the_first_crossing_counts_and_other_settings_stand_in_the_way() -> (
    None
):
    tried = {
        (e, c): a
        for e in ("1", "2")
        for c, a in (("10", 0.5), ("20", 0.6), ("40", 0.55), ("80", 0.62))
    }
    clients = {level: points[0][1] for level, points in needing(tried)}
    assert clients[0.51] == pytest.approx(10 * 2**0.1)
    assert 40 < clients[0.62] <= 80
    assert all(count <= 20 for level, count in clients.items() if level < 0.6)
    assert needing(tried, over="server.lr") == []


def test_the_page_draws_clients_needed_where_both_were_varied() -> None:
    tried = [
        Combination(settings={"codec.epsilon": e, "data.clients": c}, runs=[run(0.5 + 0.1 * float(e) + int(c) / 1000, float(e))])
        for e in ("0.5", "1", "2") for c in ("10", "50", "200")
    ]  # fmt: skip
    drawn = {
        one.name: one
        for one in build_charts(
            Sweep(name="mine", keys=["codec.epsilon", "data.clients"], seeds=1, tried=tried)
        )
    }
    assert drawn["needed"].keys == "accuracy"
    assert all("%" in line.name for line in drawn["needed"].lines)
    assert "needed" not in {one.name for one in build_charts(made(1))}
