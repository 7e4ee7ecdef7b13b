"""What PartFed's cells are made of besides plans: counts on the whole table, and releases that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import data
from tacit import plan as plans
from tacit.data.disclose import differences, examine, offer
from tacit.data.disclose.classes import alike
from tacit.data.disclose.growing import Again
from tacit.draws import Draws
from tacit.papers.published import Figures

Tree = dict[str, Any]

_KEY = ["age", "race", "sex"]
_LABEL = "income"


def table_facts() -> Figures:
    """Return Adult's number of rows and its largest classes: in age, race and sex, and in these with the label."""
    table = _adult()
    largest, with_label = (int(alike(table.train.select(names)).counts().max()) for names in (_KEY, [*_KEY, _LABEL]))
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
            "rows": float(found.disclosed), "share": found.share, "classes": float(found.classes),
            "single_label_classes": float(found.single_label_classes), "unique_share": found.unique_share,
            "single_label_share": found.single_label_share,
        }
    }  # fmt: skip


def matched_k(l: int) -> Figures:  # noqa: E741 (the paper's name for it)
    """Return the k with which k-anonymity shares the number of rows nearest to what label_k shares at l."""
    rows = _adult().train
    sizes, labelled = (alike(rows.select(names)).counts() for names in (_KEY, [*_KEY, _LABEL]))
    wanted = int(labelled[labelled >= l].sum())
    k = min(range(1, int(sizes.max()) + 2), key=lambda k: abs(int(sizes[sizes >= k].sum()) - wanted))
    return {"last": {"k": float(k)}}


def growing(releases: int, k: int, again: Again, seed: int) -> Figures:
    """Return what subtraction shows if Adult's rows come in a random order, an equal part of them before each release."""
    rows = _adult().train
    places = Draws.seeded(seed).at("arrivals").generator().permutation(rows.height)
    labels = rows[_LABEL].to_physical().cast(int).to_numpy()
    found = differences(alike(rows.select(_KEY)), labels, np.asarray(places * releases // rows.height), k, again)
    return {
        "last": {
            "share": found.shared / found.rows, "few_share": found.few / max(1, found.shared), "alone": float(found.alone),
            "few_one_label": float(found.few_one_label),
        }
    }  # fmt: skip


def _adult() -> data.Table:
    return data.load(plans.Data(source="adult", test=0.0), Draws.seeded(1).at("data"))
