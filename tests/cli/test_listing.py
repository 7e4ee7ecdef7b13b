"""tacit runs: what it reads of many records, and that it says the same as if it had read all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli.folders import figures, summarise_listed_run
from tacit.runs.record import lines
from tests.cli.made_up import tacit
from tests.report import made_up


def test_a_finished_run_is_listed_from_a_third_of_its_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed, parse = list[int](), lines._entry

    def count(path: Path, number: int, line: bytes) -> object:
        parsed.append(number)
        return parse(path, number, line)

    monkeypatch.setattr(lines, "_entry", count)
    entries = made_up.record(rounds=40)
    for number in range(1, 6):
        made_up.folder(tmp_path / "runs", entries, name=f"newsgroups-{number}")
    said = tacit(capsys, "runs", "--runs", str(tmp_path / "runs"))
    assert said.out.count("finished") == 5
    assert len(parsed) < 5 * len(entries) / 3


@pytest.mark.parametrize("stop", [None, 3])
def test_the_list_says_what_all_entries_say(tmp_path: Path, stop: int | None) -> None:
    folder = made_up.folder(tmp_path, made_up.record(rounds=5, stop=stop))
    brief, full = summarise_listed_run(folder), figures(folder)
    own, same = brief.arm("run"), full.arm("run")
    assert own is not None
    assert same is not None
    assert (brief.state, brief.leading, own.metrics, own.privacy) == (
        full.state,
        full.leading,
        same.metrics,
        same.privacy,
    )


def test_damage_in_an_entry_that_is_not_parsed_is_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_up.folder(tmp_path / "runs", made_up.record(rounds=5))
    path = folder / "record.jsonl"
    path.write_bytes(
        path.read_bytes().replace(
            b'"kind": "spent", "arm": "fedavg"', b'"kind": "spent", "arm": "fedavG"', 1
        )
    )
    assert "damaged record" in tacit(capsys, "runs", "--runs", str(tmp_path / "runs")).out
