"""Check whether a plan has enough people for its noise, as far as its rows show without training."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import polars as pl

from tacit import data, features
from tacit.plan import MLP, Logistic, Plan
from tacit.plan.presets.enough_people import NoisyRounds, noisy_rounds
from tacit.plan.presets.expected_accuracy import describe_expectation
from tacit.simulation.advice.client_count import Counted

_ENCODER_WIDTH = 384
"""Numbers per text of the encoder `minilm`."""


def describe_few_people(plan: Plan, counted: Counted) -> str:
    """A warning if the plan has too few clients for its epsilon, with a number of clients or an
    epsilon that would suffice.
    """
    found = find_noise(plan, counted.table)
    people = (
        counted.clients
        if plan.server.cohort_size is None
        else min(plan.server.cohort_size, counted.clients)
    )
    return found.describe_few(people) if found else ""


def describe_expected_accuracy(plan: Plan, counted: Counted) -> str:
    """The accuracy that public sets reached with as many people; empty where nothing similar was
    measured.
    """
    columns, settings = counted.table.columns, plan.features
    if columns.text and settings.has_encoder and settings.encoder == "minilm":
        language = features.find_language(counted.table.train, columns)
        if language.name and language.code != "en":
            return (
                f"unknown: the texts seem to be {language.name}, and the encoder minilm reads"
                " English; set features.text = 'binary' for words of any language"
            )
    inputs = len(columns.numeric) + _count_categories(counted.table, settings.categorical)
    known = replace(plan, data=replace(plan.data, columns=columns))
    classes = len(_categories(counted.table, columns.label or ""))
    return describe_expectation(known, classes, inputs, counted.clients)


def find_noise(plan: Plan, table: data.Table) -> NoisyRounds | None:
    """The noise of a plan on a table; None if it is not known without training."""
    weights = count_weights(plan, table)
    return noisy_rounds(plan, weights) if weights else None


def count_weights(plan: Plan, table: data.Table) -> int | None:
    """The number of parameters of the plan's model on a table, from columns and classes; None for
    other kinds of models.
    """
    inputs = _count_inputs(plan, table)
    if inputs is None or not isinstance(plan.model, Logistic | MLP):
        return None
    classes = len(_categories(table, table.columns.label or ""))
    widths = (inputs, *plan.model.hidden, 1 if classes <= 2 else classes)
    bias = not isinstance(plan.model, Logistic) or plan.model.bias
    return sum((before + bias) * after for before, after in pairwise(widths))


def _count_inputs(plan: Plan, table: data.Table) -> int | None:
    columns, settings = table.columns, plan.features
    if (
        columns.image
        or settings.quantise
        or (columns.text and settings.word_form not in (None, "binary", "listed"))
        or (settings.has_encoder and settings.encoder != "minilm")
    ):
        return None
    missing = sum(table.train[name].null_count() > 0 for name in columns.numeric)
    categories = _count_categories(table, settings.categorical)
    return (
        (settings.buckets if columns.text and settings.word_form else 0)
        + (_ENCODER_WIDTH if columns.text and settings.has_encoder else 0)
        + len(columns.numeric)
        + missing
        + categories
        + int(settings.constant > 0)
    )


def _count_categories(table: data.Table, categorical: str) -> int:
    """Number of inputs of the categorical columns."""
    onehot = categorical == "onehot"
    return sum(len(_categories(table, name)) if onehot else 1 for name in table.columns.categorical)


def _categories(table: data.Table, column: str) -> list[str]:
    kind = table.train.schema[column]
    return kind.categories.to_list() if isinstance(kind, pl.Enum) else []
