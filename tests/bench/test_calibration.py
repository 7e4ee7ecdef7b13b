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
    for seed, accuracy in ((1, 0.84), (2, 0.86)):
        calibration.place_of("before", "onebit", 1.0, seed).write_text(json.dumps(run_of(accuracy)))
    calibration.place_of("after", "skellam", 2.0, 1).write_text(json.dumps(run_of(0.87)))
    calibration.write_page()
    assert page.read_text().splitlines()[4:6] == [
        "| `onebit` | 1 | before | 2 | 85.00 ± 12.71 | 90.00 ± 0.00 | 1,542 |",
        "| `skellam` | 2 | after | 1 | 87.00 | 90.00 | 1,542 |",
    ]
    assert page.read_text().startswith("before ")
    assert page.read_text().endswith(" after")


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(calibration, "OUT", tmp_path)
    asked = []
    monkeypatch.setattr(calibration, "measure", lambda *question: asked.append(question[1:]) or run_of(0.8))
    for _ in range(2):
        calibration.measure_all(calibration.SOURCE, "after", 1, ["onebit"])
    assert asked == [("onebit", 1.0, 1), ("onebit", 2.0, 1)]
