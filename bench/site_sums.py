"""What sums at sites save: seconds per round, size of a site's ledger, and bytes sent, by `server.sum_at`.

    python -m bench.site_sums --clients 48000 --rounds 4

The server and three sites run in this process, without a network. Each client has one row.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from tacit import plan as plans
from tacit.deployment.server.job import deploy
from tacit.plan import Plan
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.deployment.local_post import owner, sites_of

_WORDS = np.array(
    [
        "good",
        "fine",
        "lovely",
        "bright",
        "bad",
        "dull",
        "awful",
        "grey",
        "the",
        "film",
        "was",
        "and",
        "a",
        "story",
        "of",
    ]
)
_SITES = ("a", "b", "c")


def write_rows(path: Path, clients: int, draw: np.random.Generator) -> None:
    """Write a table with one row for each client."""
    texts = [" ".join(row) for row in draw.choice(_WORDS, (clients, 8))]
    labels = np.where(draw.integers(0, 2, clients), "up", "down")
    names = [f"{path.stem}-{number}" for number in range(clients)]
    pl.DataFrame({"client": names, "opinion": texts, "stars": labels}).write_parquet(path)


def build_job(sum_at: str, rounds: int) -> Plan:
    """A small logistic regression under `dp_sum`; the server evaluates only the last model."""
    columns = {"text": ["opinion"], "label": "stars", "client": "client"}
    return plans.parse(
        {
            "name": "sums",
            "data": {"source": "given", "columns": columns},
            "features": {"buckets": 300},
            "model": {"name": "logistic"},
            "local": {"lr": 0.01, "epochs": 1, "batch": 8},
            "codec": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-5, "clip": 0.5},
            "server": {"rounds": rounds, "evaluate_every": rounds, "sum_at": sum_at},
        }
    )


def measure(sum_at: str, clients: int, rounds: int, folder: Path) -> str:
    """Run the plan, and describe what it took."""
    draw, owners = np.random.default_rng(0), []
    for name in _SITES:
        write_rows(folder / f"{name}.parquet", clients // len(_SITES), draw)
        owners.append(owner(name, folder / f"{name}.parquet", folder / name))
    sites, ledger = sites_of(owners, deadline=600), folder / "a" / "ledger.sqlite"
    sent, largest = 0, 0

    def watch(site: str, reply: bytes) -> bytes:
        nonlocal sent, largest
        sent += len(reply)
        largest = max(largest, sum(file.stat().st_size for file in ledger.parent.glob("ledger*")))
        return reply

    sites.transport.spoil = watch  # type: ignore[attr-defined]
    began = time.perf_counter()
    place = deploy(build_job(sum_at, rounds), sites, folder / "runs")
    total = time.perf_counter() - began
    found = record.select_entries(list(record.read(place / RECORD)), record.Round)
    seconds = ", ".join(f"{one.seconds:.1f}" for one in found)
    return (
        f"{sum_at}: {total:.1f} s, rounds of {seconds} s; ledger of a site {largest / 1e6:.1f} MB during"
        f" the run, {ledger.stat().st_size / 1e6:.1f} MB after it; {sent / 1e6:.1f} MB sent"
    )


def main() -> None:
    """Print one line for sums at the server, and one for sums at the sites."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--clients", type=int, default=48_000)
    given.add_argument("--rounds", type=int, default=4)
    asked = given.parse_args()
    for sum_at in ("server", "auto"):
        with tempfile.TemporaryDirectory() as folder:
            print(measure(sum_at, asked.clients, asked.rounds, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
