"""Facts about a simulation's rows for the record, and the claim of central training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit import features, training
from tacit.plan import Plan
from tacit.privacy.claim import Claim, Open
from tacit.privacy.statement import prose_rows
from tacit.runs import record
from tacit.simulation.prepared_rows import SimulatedData


def pooled_rows(plan: Plan) -> Claim:
    """The claim of central training: every row is pooled, possibly with quantised numbers."""
    settings, form = plan.features.quantise, ""
    trust: tuple[str, ...] = ("the party that holds the rows",)
    if settings is not None:
        form = f", with {prose_rows.describe_quantisation(settings)}; not differentially private"
        if settings.trained_on == "tokens":
            trust = (
                *trust,
                "that nobody gives the clients' secret to the party that holds the rows",
            )
    return Claim(
        mechanism=f"all rows in one place{form}",
        event=Open(),
        unit="row",
        relation="replace all rows of one client",
        view="server",
        trust=trust,
        rests_on="nobody",
        source="none: central training needs the rows themselves",
    )


def prepared(plan: Plan, data: SimulatedData, learner: training.Learner) -> record.Prepared:
    """Describe the data of the run for the record."""
    return record.Prepared(
        source=data.source,
        clients=len(data.clients),
        rows_train=len(data.train),
        rows_test=len(data.test),
        rows_per_client=data.clients.sizes().tolist(),
        parameters=learner.size,
        inputs=data.train.inputs.width,
        classes=list(data.train.classes),
        text=features.text_form(data.columns, plan.features) if plan.statistics is None else "",
        wordless=_count_wordless(plan, data),
        leaks=list(data.leaks),
        label_skew=label_skew(data),
        words_seen=data.words_seen,
    )


def _count_wordless(plan: Plan, data: SimulatedData) -> int:
    """Rows without a word that the model reads; queries have no model."""
    if plan.statistics is not None:
        return 0
    return features.count_wordless_rows(data.train, data.columns, plan.features, data.fitted)


def label_skew(data: SimulatedData) -> float:
    """Label skew: the mean over rows of the distance between their client's labels and all labels,
    minus that of randomly assigned labels.

    Distances are total variation distances, from 0 to 1.
    """
    labels, holders = (
        data.train.labels,
        np.repeat(np.arange(len(data.clients)), data.clients.sizes()),
    )
    dealt = np.random.default_rng(0).permutation(
        labels
    )  # a fixed seed: this is only used for a statistic
    found = max(
        0.0,
        _distance(labels, holders, len(data.train.classes))
        - _distance(dealt, holders, len(data.train.classes)),
    )
    return round(found, 4)


def _distance(labels: NDArray[np.int32], holders: NDArray[np.int64], classes: int) -> float:
    """The mean over rows of the total variation distance between their client's labels and all
    labels.
    """
    if not len(labels) or not classes:
        return 0.0
    pairs, counts = np.unique(holders * classes + labels, return_counts=True)
    overall = np.bincount(labels, minlength=classes) / len(labels)
    sizes = np.bincount(holders)
    shared = np.minimum(
        counts / sizes[pairs // classes], overall[pairs % classes]
    )  # 1 - distance is the overlap of both distributions
    return float(1 - (shared * sizes[pairs // classes]).sum() / len(labels))
