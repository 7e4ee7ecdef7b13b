"""PartFed's runs that are not plans: counts on the whole table, and successive releases."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import data
from tacit import plan as plans
from tacit.data.k_anonymity import decide_release, examine
from tacit.data.k_anonymity.classes import group_equal_rows
from tacit.randomness import Draws
from tacit_papers.partfed.growing import Again, compare_releases
from tacit_papers.published import Figures

Tree = dict[str, Any]

_KEY = ["age", "race", "sex"]
_LABEL = "income"


def table_facts() -> Figures:
    """Adult's number of rows and its largest equivalence classes: in age, race and sex, and in
    these with the label.
    """
    table = _adult()
    largest, with_label = (
        int(group_equal_rows(table.train.select(names)).counts().max())
        for names in (_KEY, [*_KEY, _LABEL])
    )
    return {
        "last": {
            "rows": float(table.train.height),
            "largest": float(largest),
            "largest_with_label": float(with_label),
        }
    }


def sharing(plan: Tree) -> Figures:
    """What a plan shares of the whole table, before test rows are held out: the paper's Figure 4."""
    job = plans.parse({**plan, "data": {**plan["data"], "test": 0.0}})
    assert job.data.share is not None
    draws = Draws.seeded(job.seed)
    table = data.load(job.data, draws.at("data"))
    found = examine(
        decide_release(
            table,
            data.divide(table, job.data, draws.at("partition")),
            job.data.share,
            draws.at("share"),
        )
    )
    return {
         "last": { "rows": float(found.disclosed), "share": found.share, "classes":
        float(found.classes), "single_label_classes": float(found.single_label_classes),
        "unique_share": found.unique_share, "single_label_share": found.single_label_share, }
    }  # fmt: skip


def find_matching_k(l: int) -> Figures:  # noqa: E741 (the paper's name for it)
    """The k at which k-anonymity shares the number of rows nearest to that of label_k at l."""
    rows = _adult().train
    sizes, labelled = (
        group_equal_rows(rows.select(names)).counts() for names in (_KEY, [*_KEY, _LABEL])
    )
    wanted = int(labelled[labelled >= l].sum())
    k = min(
        range(1, int(sizes.max()) + 2), key=lambda k: abs(int(sizes[sizes >= k].sum()) - wanted)
    )
    return {"last": {"k": float(k)}}


def growing(releases: int, k: int, again: Again, seed: int) -> Figures:
    """What differences between releases reveal if Adult's rows arrive in random order, an equal
    share before each release.
    """
    rows = _adult().train
    places = Draws.seeded(seed).at("arrivals").generator().permutation(rows.height)
    labels = rows[_LABEL].to_physical().cast(int).to_numpy()
    found = compare_releases(
        group_equal_rows(rows.select(_KEY)),
        labels,
        np.asarray(places * releases // rows.height),
        k,
        again,
    )
    return {
         "last": { "share": found.shared / found.rows, "few_share": found.few / max(1,
        found.shared), "alone": float(found.alone), "few_one_label": float(found.few_one_label), }
    }  # fmt: skip


def _adult() -> data.Table:
    return data.load(plans.Data(source="adult", test=0.0), Draws.seeded(1).at("data"))
