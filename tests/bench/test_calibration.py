"""Stored runs become a table between the page's marks, and a run that was measured is not repeated."""

import json

from bench import calibration


def run_of(accuracy: float) -> dict[str, float]:
    return {"accuracy": accuracy, "auc": 0.9, "bytes_up": 1542, "epsilon": 1.0, "seconds": 1.0}


def test_stored_runs_become_a_table_on_the_page(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(calibration, "OUT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"before {calibration.BEGIN}\nold\n{calibration.END} after")
    monkeypatch.setattr(calibration, "PAGE", page)
    for label, seed, accuracy in (
        ("before", 1, 0.84),
        ("before", 2, 0.86),
        ("before", 3, 0.5),
        ("after", 1, 0.85),
        ("after", 2, 0.87),
    ):
        calibration.place_of(label, "onebit", 1.0, seed).write_text(json.dumps(run_of(accuracy)))
    calibration.place_of("after", "skellam", 2.0, 1).write_text(json.dumps(run_of(0.87)))
    calibration.write_page()
    onebit = (
        "85.00 ± 12.71 | 86.00 ± 12.71 | 1.00 ± 0.00 | 90.00 ± 0.00 | 90.00 ± 0.00 | 0.00 ± 0.00"
    )
    assert page.read_text().splitlines()[4:6] == [
        f"| `onebit` | 1 | 2 | {onebit} |",
        "| `skellam` | 2 | 1 | – | 87.00 | – | – | 90.00 | – |",
    ]
    assert page.read_text().startswith("before ")
    assert page.read_text().endswith(" after")


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(calibration, "OUT", tmp_path)
    asked = []
    monkeypatch.setattr(
        calibration, "measure", lambda *question: asked.append(question[1:]) or run_of(0.8)
    )
    for _ in range(2):
        calibration.measure_all(calibration.SOURCE, "after", 1, ["onebit"])
    assert asked == [("onebit", 1.0, 1), ("onebit", 2.0, 1)]
