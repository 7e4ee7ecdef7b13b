"""One client's local steps at a million hash buckets, against the same at five thousand: cost must
follow the text.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.clock import Taken, measure
from bench.compare import Result, interleave, seconds
from bench.rows import DRAWS, even_clients
from tacit import data, features, plan, training
from tacit.client import ClientRandomness, ClientSlot

CLIENTS, ROWS = 20, 5000
MODELS: dict[str, plan.Model] = {
    "logistic": plan.Logistic(),
    "embedding": plan.Embedding(embedding=100, hidden=(100, 50, 25)),
}


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Seconds of one client's local epoch on 250 IMDB reviews; encoding is not part of
    it.
    """
    table = data.load(plan.Data(source="imdb", limit=ROWS), DRAWS.at("step"))
    results: list[Result] = []
    for name, model in MODELS.items():
        large, small = (_steps(table, model, buckets) for buckets in (1_000_000, 5000))
        pair = interleave(large, small, repeats)
        results += seconds(
            f"client step, {name}, 1,000,000 buckets",
            "ours at 5,000",
            pair,
            repeats=repeats,
            wall_bar=2.0,
        )
    return results


def _steps(table: data.Table, model: plan.Model, buckets: int) -> Callable[[], Taken]:
    settings = plan.Features(buckets=buckets, text=model.reads[0])
    fitted = features.fit(table.train, table.columns, settings)
    rows = features.encode(table.train, table.columns, settings, fitted)
    learner = training.build(
        model, plan.Local(epochs=1, batch=25), rows, even_clients(len(rows), CLIENTS)
    )
    start, worker = learner.initial(DRAWS.at("initial")), learner.worker()

    def every_client() -> None:
        for client in range(CLIENTS):
            worker.train(
                start, ClientSlot(client, client, ClientRandomness(DRAWS, client)), DRAWS.at(client)
            )

    every_client()  # compile and touch every page first
    return lambda: measure(every_client).scaled(1 / CLIENTS)
