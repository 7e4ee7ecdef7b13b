"""A ledger of thousands of clients, and one with flipped bytes: what takes longer than other tests of ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import LedgerError
from tacit.privacy.claim import GaussianNoise
from tests.privacy.claims import ADD, claim
from tests.privacy.policy.test_book import ASK, book_with, life
from tests.privacy.policy.test_book_damage import opened, write_ledger


def test_thousands_of_clients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from time import process_time

    book, noise = book_with(tmp_path), (claim(GaussianNoise(20.0), relation=ADD),)
    everybody = [
        row.tobytes() for row in np.random.default_rng(7).integers(0, 256, (5000, 16), np.uint8)
    ]
    began = process_time()
    for round_no in range(1, 6):
        assert book.reserve("r", round_no, "train", everybody, noise) == {}
        book.store("r", round_no, "train", ASK, bytes(50_000))
    paid = process_time()
    book.verify()
    with capsys.disabled():
        print(
            f"\n5,000 clients: {(paid - began) / 5:.3f} s of CPU per round, verify"
            f" {process_time() - paid:.3f} s"
        )
    assert len(set(life(book).values())) == 1


def contents(file: Path) -> list[Any]:
    """Return everything a ledger says."""
    book = opened(file)
    book.verify()
    said: list[Any] = [
        list(book.entries()),
        book.totals(),
        [book.find_response("r", n, "train", b"q" * 32) for n in range(1, 5)],
    ]
    book.close()
    return said


def test_flipped_bytes_are_found_or_change_nothing(tmp_path: Path) -> None:
    """SQLite leaves bytes of a page unused; a flip there changes nothing that the ledger says."""
    file = write_ledger(tmp_path / "book.db")
    whole, before, found = file.read_bytes(), contents(file), 0
    draws = np.random.default_rng(3)
    for place in draws.integers(0, len(whole), 150).tolist():
        for rest in ("-wal", "-shm"):
            file.with_name(file.name + rest).unlink(missing_ok=True)
        bad = bytearray(whole)
        bad[place] ^= 1 << int(draws.integers(8))
        file.write_bytes(bad)
        try:
            assert contents(file) == before, f"byte {place}"
        except LedgerError:
            found += 1
    used = 1 - whole.count(0) / len(whole)
    assert found > 0.5 * used * 150, (
        f"{found} of 150 flips found, {used:.0%} of the bytes are not zero"
    )
