"""The page of a search: what changed is said in words, and the plan and the best stand out."""

import json
import re

from tacit.report.sweeps.tune_page import SearchRun, TuneSearch, render

OWN = {"server.lr": "0.2", "server.rounds": "20", "local.lr": "0.1"}


def searched(accuracy: float | None, **changed: str) -> SearchRun:
    return SearchRun(
        settings={**OWN, **{key.replace("_", "."): value for key, value in changed.items()}},
        accuracy=accuracy,
    )


def test_the_plan_and_the_best_are_named_and_the_others_are_grey() -> None:
    planned, best = searched(0.9), searched(0.95, server_lr="0.4", server_rounds="40")
    tried = [searched(0.7, server_rounds="5"), searched(0.8, server_lr="0.4", server_rounds="5")]
    tried += [
        searched(None, local_lr="9"),
        searched(0.6, local_lr="0.3", server_rounds="5"),
        planned,
        best,
    ]
    page = render(TuneSearch(name="mine", tried=tried, planned=planned, best=best), "rounds = 40")
    figure = json.loads(re.findall(r'id="charts">(.*?)</script>', page)[0])["search"]["accuracy"]
    assert [(line["name"], line["showlegend"]) for line in figure["data"]] == [
        ("local.lr = 0.3", False), ("the plan", True), ("server.lr = 0.4", True),
    ]  # fmt: skip
    assert figure["data"][1]["x"] == [5, 20]
    assert "server.lr = 0.4, with 40 rounds." in page
    assert "failed" in page
    assert "prefers-color-scheme: dark" in page


def test_a_plan_that_nothing_beats_is_said_to_be_the_best() -> None:
    planned = searched(0.9)
    page = render(TuneSearch(name="mine", tried=[planned], planned=planned, best=planned), "")
    assert "No other setting is better than the plan" in page
