"""What PartFed's cells are made of besides plans: counts on the whole table, and measured times."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np

from tacit import data, local
from tacit import plan as plans
from tacit.data.disclose import examine, offer
from tacit.data.disclose.classes import alike
from tacit.draws import Draws
from tacit.engine.simulated_data import prepare
from tacit.papers.published import Figures
from tacit.seat import Own, Seat

Tree = dict[str, Any]

_LINK_BYTES_PER_SECOND = 500_000
_SERVER_POWER = 10


def table_facts() -> Figures:
    """Return Adult's number of rows and its largest classes: in age, race and sex, and in these with the label."""
    table = data.load(plans.Data(source="adult", test=0.0), Draws.seeded(1).at("data"))
    key = ["age", "race", "sex"]
    largest, with_label = (int(alike(table.train.select(names)).counts().max()) for names in (key, [*key, "income"]))
    return {"last": {"rows": float(table.train.height), "largest": float(largest), "largest_with_label": float(with_label)}}


def sharing(plan: Tree) -> Figures:
    """Return what a plan shares of the whole table, before any row is held out as test: the paper's Figure 4."""
    job = plans.parse({**plan, "data": {**plan["data"], "test": 0.0}})
    assert job.data.share is not None
    draws = Draws.seeded(job.seed)
    table = data.load(job.data, draws.at("data"))
    found = examine(offer(table, data.divide(table, job.data, draws.at("partition")), job.data.share, draws.at("share")))
    return {
        "last": {
            "share": found.share, "classes": float(found.classes), "single_label_classes": float(found.single_label_classes),
            "unique_share": found.unique_share, "single_label_share": found.single_label_share,
        }
    }  # fmt: skip


def matched_k(l: int) -> Figures:  # noqa: E741 (the paper's name for it)
    """Return the k with which k-anonymity shares the number of rows nearest to what label_k shares at l."""
    table = data.load(plans.Data(source="adult", test=0.0), Draws.seeded(1).at("data")).train
    sizes, labelled = (alike(table.select(names)).counts() for names in (["age", "race", "sex"], ["age", "race", "sex", "income"]))
    wanted = int(labelled[labelled >= l].sum())
    k = min(range(1, int(sizes.max()) + 2), key=lambda k: abs(int(sizes[sizes >= k].sum()) - wanted))
    return {"last": {"k": float(k)}}


def times(plan: Tree, measured_rounds: int, seed: int) -> Figures:
    """Return the seconds of the plan's rounds at the server, at the slowest client and on the link, and their totals.

    Training is measured in CPU seconds of one thread, round by round; the median round counts for all. The link is
    modelled: the largest message of rows at 500 KB/s, for clients send at the same time.
    """
    job = plans.parse({**plan, "seed": seed})
    disclosure = prepare(job, Draws.seeded(job.seed)).disclosure
    assert disclosure is not None
    holders, facts = disclosure.holders, disclosure.facts
    learner = local.build(job.model, job.local, disclosure.train, holders)
    model, worker, draws = learner.initial(Draws.seeded(1)), learner.worker(), Draws.seeded(2)
    busy = np.flatnonzero(holders.sizes()).tolist()  # who has no rows is not asked
    taken = [[_seconds(worker, model, holder, draws.at(turn)) for holder in busy] for turn in range(measured_rounds + 1)]
    # The first turn compiles.
    each = {holder: median(column) * job.server.rounds for holder, column in zip(busy, zip(*taken[1:], strict=True), strict=True)}
    server = each.pop(len(holders) - 1, 0.0)
    client = max(each.values(), default=0.0)
    transfer = max(facts.bytes_per_client) / _LINK_BYTES_PER_SECOND
    strong = server / _SERVER_POWER
    return {
        "last": {
            "server": server, "client": client, "transfer": transfer, "total": server + client + transfer,
            "overlapped": max(server, client) + transfer, "strong_server": strong, "strong_total": strong + client + transfer,
            "strong_overlapped": max(strong, client) + transfer,
        }
    }  # fmt: skip


def _seconds(worker: local.Worker, model: Any, holder: int, draws: Draws) -> float:
    begun = time.thread_time()
    worker.train(model, Seat(holder, holder, Own(draws, holder)), draws.at(holder))
    return time.thread_time() - begun
