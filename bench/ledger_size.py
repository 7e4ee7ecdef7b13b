"""What takes the room in a site's ledger: bytes per client and round, by table, after some rounds.

    python -m bench.ledger_size --clients 48000 --rounds 5

Once with one response per client and once with one sum of the site. After the end of the run its
stored responses are dropped.
"""

from __future__ import annotations

import argparse
import hashlib
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tacit.privacy.claim import Claim, GaussianNoise
from tacit.privacy.policy import Limits, SiteLedger

_LIMITS = Limits(max_epsilon_per_run=100.0, max_epsilon_lifetime=1000.0, delta=1e-5)
_CLAIM = Claim(
    mechanism="noise", event=GaussianNoise(20.0), unit="update", relation="replace all rows of one client", view="server",
    trust=("nobody",), rests_on="nobody", source="bench",
)  # fmt: skip


def fill(file: Path, clients: int, rounds: int, response_bytes: int) -> float:
    """Charge every client in every round and store a response; return seconds per round."""
    people = [hashlib.sha256(number.to_bytes(8, "big")).digest()[:16] for number in range(clients)]
    began = time.perf_counter()
    with closing(SiteLedger(file, limits=_LIMITS, delta=1e-5)) as book:
        for round_no in range(1, rounds + 1):
            assert book.reserve("run-1", round_no, "train", people, (_CLAIM,)) == {}
            content = hashlib.shake_256(bytes([round_no])).digest(response_bytes)
            book.store("run-1", round_no, "train", bytes(32), content)
    return (time.perf_counter() - began) / rounds


def end(file: Path) -> None:
    """Drop the stored responses, as at the end of a run."""
    with closing(SiteLedger(file, limits=_LIMITS, delta=1e-5)) as book:
        book.drop_responses("run-1")


def measure(file: Path) -> dict[str, int]:
    """Bytes of content by table, and of the file."""
    with closing(sqlite3.connect(file)) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        found = {name: _measure_table(db, name) for name in tables}
        free = db.execute("PRAGMA freelist_count").fetchone()[0]
        page = db.execute("PRAGMA page_size").fetchone()[0]
    kept = {name: size for name, size in found.items() if size}
    return {**kept, "free pages": free * page, "file": file.stat().st_size}


def _measure_table(db: sqlite3.Connection, name: str) -> int:
    columns = [column for _, column, *_ in db.execute(f"PRAGMA table_info({name})")]
    lengths = " + ".join(f"coalesce(length(cast({column} AS BLOB)), 0)" for column in columns)
    return int(db.execute(f"SELECT coalesce(sum({lengths}), 0) FROM {name}").fetchone()[0])


def main() -> None:
    """Print the sizes."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--clients", type=int, default=48_000)
    given.add_argument("--rounds", type=int, default=5)
    given.add_argument("--message", type=int, default=150, help="bytes of one client's message")
    asked = given.parse_args()
    for how, size in (("each client", asked.clients * asked.message), ("site sum", 20_000)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ledger.sqlite"
            seconds = fill(file, asked.clients, asked.rounds, size)
            _print(f"{how}, {seconds:.2f} s a round", measure(file), asked)
            end(file)
            _print(f"{how}, after the end", measure(file), asked)
            began = time.perf_counter()
            with closing(SiteLedger(file, limits=_LIMITS, delta=1e-5)) as book:
                book.verify()
            print(f"  verified in {time.perf_counter() - began:.2f} s")


def _print(title: str, sizes: dict[str, int], asked: argparse.Namespace) -> None:
    print(title)
    for name, size in sizes.items():
        each = size / asked.clients / asked.rounds
        print(f"  {name:10} {size / 1e6:9.2f} MB {each:8.1f} bytes per client and round")


if __name__ == "__main__":
    main()
