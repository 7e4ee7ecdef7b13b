"""The record: versions, unknown and old entries, and damage, which is always told in one sentence."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import RunError
from tacit.privacy import ledger
from tacit.runs import record

STARTED = record.Started(plan={"name": "x"}, versions={"tacit": "1"}, version=record.VERSION)
ROUNDS = [
    record.Round(arm="run", round_no=n, rounds=3, cohort=2, seconds=0.5, bytes_up=1, bytes_down=1)
    for n in (1, 2, 3)
]


def written(path: Path, entries: list[record.Entry]) -> record.Mark:
    writer = record.Writer(path)
    for entry in entries:
        writer.append(entry)
    mark = writer.sync()
    writer.close()
    return mark


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "record.jsonl"


def test_what_was_written_is_read(path) -> None:
    entries = [
        STARTED,
        record.Resumed(arm="run", round_no=0),
        *ROUNDS,
        record.Refused(arm="run", round_no=1, exchange="train", sender="7", reason="weight"),
        record.Audited(name="reconstruct", findings={"recall": 0.5}),
    ]
    written(path, entries)
    assert list(record.read(path)) == entries
    assert json.loads(path.read_bytes().split(b"\n")[0])["version"] == record.VERSION


def test_every_kind_has_a_name_of_its_own() -> None:
    assert set(record.KINDS.values()) == set(record.Entry.__args__)


def test_fields_and_kinds_of_later_versions_are_passed_over(path) -> None:
    lines = [
        {"kind": "started", "plan": {}, "versions": {}, "colour": "green"},
        {"kind": "from_the_future", "what": 1},
        {"kind": "spread", "arm": "run", "accuracy": [1.0], "more": {}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert list(record.read(path)) == [
        record.Started(plan={}, versions={}),
        record.Spread(arm="run", accuracy=[1.0]),
    ]


def test_records_of_version_one_are_still_read(path) -> None:
    shared = {
        "kind": "shared", "rule": "k", "k": 2, "l": None, "release": "whole_row", "counts": "local", "epsilon": None,
        "delta": None, "key": [], "columns": [], "rows": 1, "of_rows": 2, "rows_per_client": [1], "bytes_per_client": [9],
        "classes": 1, "smallest_class": 1, "unique_share": 0.0, "single_label_share": 0.0, "labels_shared": {"a": 1},
        "labels_kept": {},
    }  # fmt: skip
    tried = {
        "kind": "tried",
        "arm": "run",
        "round_no": 1,
        "clients": [0],
        "global_accuracy": [1.0],
        "local_accuracy": [0.5],
    }
    started = {"kind": "started", "plan": {}, "versions": {}}
    path.write_text("".join(json.dumps(line) + "\n" for line in (started, shared, tried)))
    first, disclosed, evaluated = record.read(path)
    assert isinstance(first, record.Started)
    assert first.version == 1
    assert isinstance(disclosed, record.DisclosedRows)
    assert disclosed.labels_disclosed == {"a": 1}
    assert isinstance(evaluated, record.ClientsEvaluated)


def test_a_last_line_cut_short_by_a_crash_is_passed_over(path) -> None:
    written(path, [STARTED, *ROUNDS])
    path.write_bytes(path.read_bytes()[:-5])
    assert list(record.read(path)) == [STARTED, *ROUNDS[:2]]


def test_but_not_if_a_checkpoint_covers_it(path) -> None:
    mark = written(path, [STARTED, *ROUNDS])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunError, match=r"record\.jsonl: is damaged"):
        list(record.read(path, at_least=mark.length))


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[1, 2]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"kind": "round", "arm": "run"}'],
)
def test_a_line_that_is_no_entry_is_named(path, line) -> None:
    path.write_bytes(b'{"kind": "started", "plan": {}, "versions": {}}\n' + line + b"\n")
    with pytest.raises(RunError, match=r"record\.jsonl: entry 2 is damaged"):
        list(record.read(path))


def test_flipped_bits_are_always_found(path) -> None:
    mark = written(path, [STARTED, *ROUNDS])
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    for place, bit in zip(
        random.integers(0, len(whole), 200), random.integers(0, 8, 200), strict=True
    ):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        with pytest.raises(RunError, match=r"record\.jsonl: .*damaged"):
            list(record.read(path, at_least=mark.length))
        with pytest.raises(RunError, match=r"record\.jsonl: .*damaged"):
            record.verify(path, mark)


@pytest.mark.parametrize("change", ["drop", "swap", "repeat"])
def test_lines_lost_moved_or_repeated_are_found(path, change) -> None:
    written(path, [STARTED, *ROUNDS])
    first, *rest = path.read_bytes().splitlines(keepends=True)
    rest = {"drop": rest[1:], "swap": [rest[1], rest[0], rest[2]], "repeat": [rest[0], *rest]}[
        change
    ]
    path.write_bytes(first + b"".join(rest))
    with pytest.raises(RunError, match=r"entry \d is damaged"):
        list(record.read(path))


def released(
    round_no: int, request: str = "q", clients: int = 2, busiest: int | None = None
) -> record.Released:
    claim = {
        "mechanism": "m", "event": {"event": "pure", "epsilon": 1.0}, "unit": "update",
        "relation": "replace all rows of one client", "view": "server", "trust": [], "source": "s",
    }  # fmt: skip
    return record.Released(
        arm="run", round_no=round_no, exchange="train", clients=clients, busiest=busiest or round_no, claim=claim,
        request=f"{request}{round_no}",
    )  # fmt: skip


def went_on(path: Path, mark: record.Mark, entries: list[record.Entry]) -> list[record.Entry]:
    """Resume a record from a mark, append entries, and return what is read of it."""
    end = record.repair_end(path)
    before = path.read_bytes()
    writer = record.Writer(path, end)
    for entry in (
        record.Resumed(arm="run", round_no=1, length=mark.length, checksum=mark.checksum),
        *entries,
    ):
        writer.append(entry)
    writer.close()
    assert path.read_bytes().startswith(before)  # appended, and nothing else
    return [entry for entry in record.read(path) if not isinstance(entry, record.Resumed)]


def test_a_resume_supersedes_what_its_checkpoint_does_not_cover_and_removes_nothing(path) -> None:
    mark = written(path, [STARTED, ROUNDS[0]])
    writer = record.Writer(path, mark)
    writer.append(ROUNDS[1])
    writer.close()
    assert went_on(path, mark, [ROUNDS[2]]) == [STARTED, ROUNDS[0], ROUNDS[2]]
    assert [
        entry for _, entry in record.read_lines(path) if isinstance(entry, record.Round)
    ] == ROUNDS


def stopped_after_the_second_charge(path: Path) -> record.Mark:
    mark = written(path, [STARTED, released(1), ROUNDS[0]])
    writer = record.Writer(path, mark)
    writer.append(released(2))
    writer.sync()
    writer.close()
    return mark


def paid(entries: list[record.Entry]) -> int:
    account = ledger.fold_releases(entry for entry in entries if isinstance(entry, record.Released))
    return account.charges[0].times


def test_a_charge_that_is_repeated_after_a_resume_counts_once(path) -> None:
    mark = stopped_after_the_second_charge(path)
    assert paid(list(record.read(path))) == 2
    assert went_on(path, mark, [released(2), ROUNDS[1]]) == [
        STARTED,
        released(1),
        ROUNDS[0],
        released(2),
        ROUNDS[1],
    ]
    assert paid(list(record.read(path))) == 2


def test_a_charge_that_is_not_repeated_counts_all_the_same(path) -> None:
    mark = stopped_after_the_second_charge(path)
    assert went_on(path, mark, []) == [
        STARTED,
        released(1),
        ROUNDS[0],
        replace(released(2), superseded=True),
    ]
    assert paid(list(record.read(path))) == 2


@pytest.mark.parametrize(
    "other", [released(2, request="another"), released(2, clients=1)], ids=["request", "clients"]
)
def test_a_round_that_asks_something_else_after_a_resume_is_paid_twice(path, other) -> None:
    mark = stopped_after_the_second_charge(path)
    went_on(path, mark, [other, ROUNDS[1]])
    assert paid(list(record.read(path))) == 3
    went_on(path, mark, [other, ROUNDS[1]])
    assert paid(list(record.read(path))) == 3


def test_only_a_line_that_was_never_complete_is_removed(path) -> None:
    whole = written(path, [STARTED, *ROUNDS])
    content = path.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1
    for length in range(last, len(content)):
        path.write_bytes(content[:length])
        end = record.repair_end(path)
        complete = length >= len(content) - 1
        assert path.read_bytes() == (content if complete else content[:last])
        assert (end == whole) == complete


def test_a_damaged_line_is_not_removed(path) -> None:
    written(path, [STARTED, *ROUNDS])
    content = path.read_bytes().replace(b'"round_no": 3', b'"round_no": 2')
    path.write_bytes(content)
    with pytest.raises(RunError, match="entry 4 is damaged"):
        record.repair_end(path)
    assert path.read_bytes() == content


def test_the_record_of_another_run_is_refused(path) -> None:
    mark = written(path, [STARTED, *ROUNDS])
    path.unlink()
    written(path, [STARTED, *ROUNDS[:2], ROUNDS[0]])
    with pytest.raises(RunError, match="it does not belong to its checkpoint"):
        record.verify(path, mark)


def test_an_audit_is_added_to_a_record_that_has_ended(path) -> None:
    written(path, [STARTED, *ROUNDS])
    found = record.Audited(name="inversion", findings={"recall": 0.1})
    record.add(path, found)
    assert list(record.read(path)) == [STARTED, *ROUNDS, found]
