"""A made-up but realistic record: three arms, forty rounds, one-bit updates beside plain ones."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path

from tacit.privacy import ledger
from tacit.privacy.claim import Claim, Open, Pure, Repeated
from tacit.runs.record import Entry, Finished, Prepared, Round, Spent, Spread, Started, Writer

BITS = Claim(
    mechanism="one-bit randomised response (clip ±0.02)",
    event=Repeated(Pure(2.0), 100_020),
    unit="bit",
    relation="replace all rows of one client",
    view="server",
    trust=("nobody, since each client randomises before anything leaves",),
    rests_on="nobody",
    source="randomised response (Warner 1965), composed over bits",
)
PLAIN = replace(
    BITS, mechanism="plain float32 update", event=Open(), unit="update", trust=("the server",)
)
STATEMENT = "Only a single bit has a meaningful epsilon; a whole update and the run do not."
"""How the statement of the made-up run begins."""


def record(
    rounds: int = 40, name: str = "newsgroups", classes: int = 20, stop: int | None = None
) -> list[Entry]:
    """Return the entries of a run with baselines; `stop` cuts it after that round of the first arm."""
    plan = {
        "name": name,
        "seed": 0,
        "baselines": ["fedavg", "central"],
        "data": {
            "source": "newsgroups20",
            "clients": 100,
            "partition": "dirichlet",
            "alpha": 1.0,
            "test": 0.2,
        },
        "features": {"text": "binary", "buckets": 5000},
        "model": {"name": "logistic", "hidden": []},
        "local": {"method": "fedavg", "optimizer": "adam", "lr": 0.01, "epochs": 1, "batch": 16},
        "codec": {"name": "rr", "epsilon": 2.0, "clip": 0.02, "decoder": "corrected"},
        "server": {"rounds": rounds, "cohort": "all", "optimizer": "sgd", "lr": 1.0},
    }
    sizes = [113 + (7 * k) % 9 - 4 for k in range(100)]
    names = [f"topic.{k}" for k in range(classes)]
    entries: list[Entry] = [
        Started(plan=plan, versions={"tacit": "0.1.0", "python": "3.11.9", "numpy": "2.3.0"}),
        Prepared(
            source="newsgroups20",
            clients=100,
            rows_train=sum(sizes),
            rows_test=7532,
            rows_per_client=sizes,
            parameters=100_020,
            inputs=5000,
            classes=names,
            text="hashed words",
        ),
    ]
    for arm, top, up in (("run", 0.645, 12_620), ("fedavg", 0.672, 400_180)):
        for number in range(1, rounds + 1):
            entries += one_round(arm, number, rounds, top, up)
            if stop == number:
                return entries
        entries += ending(arm, rounds, top, up)
    for number in range(1, rounds + 1):
        entries.append(round_of("central", number, rounds, 0.695, 0))
    return [*entries, *ending("central", rounds, 0.695, 0)]


def one_round(arm: str, number: int, rounds: int, top: float, up: int) -> list[Entry]:
    claim = BITS if arm == "run" else PLAIN
    released = ledger.build_release(claim, arm, number, "train", clients=100, busiest=number)
    account = ledger.charge(ledger.Account(), (claim,), number, uses=number)
    spent = Spent(
        arm=arm,
        round_no=number,
        totals=[asdict(total) for total in ledger.compute_totals(account, 1e-5)],
    )
    return [released, round_of(arm, number, rounds, top, up), spent]


def round_of(arm: str, number: int, rounds: int, top: float, up: int) -> Round:
    wiggle = 0.006 * math.sin(number * 1.7) if arm == "run" else 0.002 * math.sin(number)
    return Round(
        arm=arm,
        round_no=number,
        rounds=rounds,
        cohort=100 if arm != "central" else 1,
        seconds=0.8,
        bytes_up=up * 100,
        bytes_down=400_200 * 100 if arm != "central" else 0,
        metrics=metrics(top * (1 - math.exp(-number / 7)) + wiggle, number, floor=2.1 - 1.7 * top),
    )


def metrics(accuracy: float, number: int, floor: float = 0.9) -> dict[str, float]:
    return {
        "accuracy": accuracy,
        "auc": 0.5 + 0.7 * accuracy,
        "f1": accuracy * 0.98,
        "loss": floor + 2.0 * math.exp(-number / 9),
    }


def ending(arm: str, rounds: int, top: float, up: int) -> list[Entry]:
    spread = [
        max(0.0, min(1.0, top + 0.22 + 0.13 * math.sin(k * 2.4) * math.cos(k))) for k in range(100)
    ]
    last = round_of(arm, rounds, rounds, top, up)
    down = 400_200 if arm != "central" else 0
    end = Finished(
        arm=arm,
        rounds=rounds,
        metrics=last.metrics,
        parameters_sha256="5b" * 32,
        bytes_up=up,
        bytes_down=down,
        seconds=0.8 * rounds,
    )
    return [*([Spread(arm=arm, accuracy=spread)] if arm != "central" else []), end]


def folder(root: Path, entries: list[Entry], name: str = "newsgroups-1") -> Path:
    """Return a run folder holding these entries."""
    place = root / name
    place.mkdir(parents=True)
    writer = Writer(place / "record.jsonl")
    for entry in entries:
        writer.append(entry)
    writer.close()
    (place / "plan.toml").write_text('name = "newsgroups"\n\n[data]\nsource = "newsgroups20"\n')
    return place
