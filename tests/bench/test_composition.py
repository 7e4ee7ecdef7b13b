"""The lines of the composition table are plans, and their figures become a table."""

import pytest

from bench.composition import ALL, LINES, SYSTEMS, table, tree_of
from tacit import plan


@pytest.mark.parametrize("line", LINES, ids=lambda line: "+".join(line) or "none")
def test_every_line_is_a_plan_with_these_systems_and_no_others(line) -> None:
    made = plan.parse(tree_of(line, 1))
    there = {
        "bits": made.secure_aggregation is not None, "words": made.private.words == "all", "rows": made.data.share is not None,
        "votes": made.filter is not None, "tokens": made.features.quantise is not None,
    }  # fmt: skip
    assert there == {system: system in line for system in SYSTEMS}


def test_figures_become_a_table() -> None:
    run = {
        "auc": 0.8,
        "accuracy": 0.7,
        "bytes": 2000.0,
        "rows": 0.25,
        "train": 7.998,
        "votes": 0.0,
        "heads": 0.0,
    }
    clear = {**run, "train": None, "recall": 1.0, "precision": 0.9}
    lines = table({ALL: [run, {**run, "auc": 0.9}], ("votes",): [clear]}).splitlines()
    assert lines[2] == "| all five | 2 | 0.850 ± 0.635 | 2.0 | 8.00 | – | – | 25 % | – |"
    assert lines[3] == "| votes | 1 | 0.800 | 2.0 | none | – | – | 25 % | 1.00, 0.90 |"
