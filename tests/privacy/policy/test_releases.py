"""Everything that left a site counts together: rows are alike only if no release tells them apart."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import LedgerError, PolicyError
from tacit.privacy.policy import Limits, RowToRelease, SharePolicy, SiteLedger

FREE = SharePolicy(min_k=1, min_l=1, max_share=1.0)
Release = dict[int, int]
"""The class in which each row leaves."""


def opened(folder: Path) -> SiteLedger:
    return SiteLedger(folder / "ledger.sqlite", limits=Limits(), delta=1e-5)


def leave(
    book: SiteLedger, release: Release, share: SharePolicy, people: int, labels: int, run: str = "r"
) -> bool:
    rows = [
        RowToRelease(
            row.to_bytes(16, "big"),
            (row % people).to_bytes(16, "big"),
            (row % labels).to_bytes(16, "big"),
            bytes([alike]),
        )
        for row, alike in release.items()
    ]
    return book.disclose(rows, 40, {"run": run}, share)


def groups(releases: list[Release]) -> list[list[int]]:
    """Return rows by what an observer of all releases sees of each."""
    found = defaultdict(list)
    for row in sorted({row for release in releases for row in release}):
        found[tuple(release.get(row) for release in releases)].append(row)
    return list(found.values())


@pytest.mark.parametrize("seed", range(30))
def test_a_release_leaves_exactly_if_all_groups_stay_large_and_mixed(tmp_path, seed) -> None:
    """The ledger decides as somebody would who looks at all releases side by side, and what it refused changes nothing."""
    draw = np.random.default_rng(seed)
    share, people, labels = (
        SharePolicy(min_k=3, min_l=2, max_share=0.9),
        int(draw.integers(5, 40)),
        int(draw.integers(2, 4)),
    )
    accepted: list[Release] = []
    with closing(opened(tmp_path)) as book:
        for number in range(8):
            of, low, high = int(draw.integers(1, 4)), *sorted(draw.integers(0, 40, 2).tolist())
            release = {row: row * of // 40 for row in range(low, high)}
            seen = groups([*accepted, release])
            rows = sum(map(len, seen))
            fine = rows <= 0.9 * 40 and all(
                len({row % people for row in group}) >= 3
                and len({row % labels for row in group}) >= 2
                for group in seen
            )
            fine = fine or not release
            if fine:
                leave(book, release, share, people, labels, f"r{number}")
                accepted += [release] if release else []
            else:
                with pytest.raises(
                    PolicyError, match=r"share\.(min_k = 3|min_l = 2|max_share = 0.9): "
                ):
                    leave(book, release, share, people, labels, f"r{number}")
        book.verify()
        last = book.list_entries("disclosed")[-1:]
    for entry in last:
        assert entry["rows_of_all_runs"] == sum(map(len, groups(accepted)))
        assert entry["fewest_clients_alike"] == min(
            len({row % people for row in group}) for group in groups(accepted)
        )
        assert entry["fewest_labels_alike"] == min(
            len({row % labels for row in group}) for group in groups(accepted)
        )


def test_every_run_that_gets_rows_is_written_down(tmp_path) -> None:
    release = dict.fromkeys(range(10), 0)
    with closing(opened(tmp_path)) as book:
        assert leave(book, release, FREE, 10, 1, "one")
        assert not leave(book, release, FREE, 10, 1, "one")
        assert leave(book, release, FREE, 10, 1, "two")
        assert not leave(book, {}, FREE, 10, 1, "three")
        assert [entry["run"] for entry in book.list_entries("disclosed")] == ["one", "two"]


def test_rows_are_remembered_by_the_next_process(tmp_path) -> None:
    with closing(opened(tmp_path)) as book:
        leave(book, dict.fromkeys(range(10), 0), SharePolicy(min_k=5, min_l=1), 40, 1)
    with (
        closing(opened(tmp_path)) as book,
        pytest.raises(PolicyError, match="2 rows would be in groups of as few as 2 clients"),
    ):
        leave(book, dict.fromkeys(range(8), 0), SharePolicy(min_k=5, min_l=1), 40, 1, "next")


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM released", "UPDATE released SET alike = 0", "UPDATE released SET person = x'00'"],
)
def test_what_left_cannot_be_changed_unseen(tmp_path, change) -> None:
    with closing(opened(tmp_path)) as book:
        leave(book, {row: row % 2 for row in range(10)}, FREE, 10, 1)
        with book._disk.writing() as db:
            db.execute(change)
        for look in (book.verify, lambda: leave(book, {0: 0}, FREE, 10, 1)):
            with pytest.raises(
                LedgerError,
                match="damaged at entry 2: the released rows were changed",
            ):
                look()


def test_rows_nobody_wrote_down_are_found(tmp_path) -> None:
    with closing(opened(tmp_path)) as book:
        with book._disk.writing() as db:
            db.execute("INSERT INTO released VALUES (x'00', x'00', x'00', 0)")
        for look in (book.verify, lambda: leave(book, {0: 0}, FREE, 10, 1)):
            with pytest.raises(LedgerError, match="damaged at entry 1"):
                look()


def test_what_was_told_is_kept_once_per_run(tmp_path) -> None:
    with closing(opened(tmp_path)) as book:
        for run, clients in (("one", 5), ("one", 5), ("two", 5), ("one", 6)):
            book.record_cleartext(run, "client = 'patient'", {"clients": clients})
        assert [
            (entry["run"], entry["told"]["clients"]) for entry in book.list_entries("told")
        ] == [
            ("one", 5),
            ("two", 5),
            ("one", 6),
        ]
        book.verify()
        with book._disk.writing() as db:
            db.execute("DELETE FROM told WHERE entry = 3")
        with pytest.raises(
            LedgerError, match="damaged at entry 3: the facts it sent are not in the tables"
        ):
            book.verify()


def test_budgets_do_not_change_hands(tmp_path) -> None:
    with closing(opened(tmp_path)) as book:
        book.record_cleartext("one", "client = 'patient'", {})
        with pytest.raises(
            PolicyError,
            match=(
                r"site\.toml: client = 'visit': this site's ledger keeps its budgets under client = 'patient'"
            ),
        ):
            book.record_cleartext("two", "client = 'visit'", {})
        book.record_cleartext("two", "client = 'patient'", {})
