"""Where every client has a model of its own, how good are they? Clients are tried one by one, in processes."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import record
from tacit.draws import Draws
from tacit.local import Figures, Learner
from tacit.rows import Vector

_inherited: dict[str, Any] = {}


def try_clients(
    learner: Learner, model: Vector, clients: NDArray[np.int64], round_no: int, draws: Draws, workers: int,
    tick: Callable[[int], None],
) -> tuple[list[Figures], list[Figures]]:  # fmt: skip
    """Return figures of clients' models before and after the training they would do in `round_no`; nothing is kept or sent."""
    _inherited.update(learner=learner, model=model, round_no=round_no, draws=draws)
    before, after = [], []
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork"), initializer=_begin) as pool:
            for done, (one, other) in enumerate(pool.map(_try, clients.tolist()), start=1):
                before.append(one)
                after.append(other)
                tick(done)
    finally:
        _inherited.clear()
    return before, after


def _begin() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _inherited["worker"] = _inherited["learner"].worker()


def _try(client: int) -> tuple[Figures, Figures]:
    draws = _inherited["draws"].at(_inherited["round_no"], client).at("train")
    found: tuple[Figures, Figures] = _inherited["worker"].try_out(_inherited["model"], client, draws, _inherited["round_no"])
    return found


def tried(arm: str, round_no: int, clients: NDArray[np.int64], figures: list[Figures]) -> record.Tried:
    """Return the record's entry of how clients' models did."""
    return record.Tried(
        arm=arm,
        round_no=round_no,
        clients=clients.tolist(),
        global_accuracy=[round(one["accuracy"], 4) for one in figures],
        local_accuracy=[_none_as_zero(one["local_accuracy"]) for one in figures],
    )


def averaged(figures: list[Figures]) -> Figures:
    """Return arithmetic means over clients of every figure, and the geometric means of the two accuracies."""
    if not figures:
        return {}
    means = {name: float(np.nanmean([one[name] for one in figures])) for name in figures[0]}
    return {
        **means,
        "global_accuracy": means["accuracy"],
        "global_geometric": geometric([one["accuracy"] for one in figures]),
        "local_geometric": geometric([one["local_accuracy"] for one in figures]),
    }


def best_rounds(entries: list[record.Tried], clients: int) -> Figures:
    """Return the paper's form: each client's best accuracy over the rounds it took part in, averaged over all clients.

    It is optimistic: the round is chosen on the test rows. A client that never took part counts as 0.
    """
    best = np.zeros((2, clients))
    for entry in entries:
        np.maximum.at(best[0], entry.clients, entry.global_accuracy)
        np.maximum.at(best[1], entry.clients, entry.local_accuracy)
    seen = {client for entry in entries for client in entry.clients}
    share = len(seen) / clients if clients else 0.0
    return {
        "best_global": float(best[0].mean()),
        "best_local": float(best[1].mean()),
        "best_global_seen": float(best[0].mean() / share) if share else 0.0,
        "best_local_seen": float(best[1].mean() / share) if share else 0.0,
        "clients_seen": share,
    }


def geometric(values: list[float]) -> float:
    """Return the geometric mean; values at 0 count as one in a thousand, so that one client does not decide alone."""
    present = [max(value, 1e-3) for value in values if not math.isnan(value)]
    return math.exp(sum(math.log(value) for value in present) / len(present)) if present else 0.0


def _none_as_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else round(value, 4)
