"""Write a starting plan for a table, with suitable text features and notes on what to know before
running it.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace

from tacit import data
from tacit import plan as plans
from tacit.data import Starter, StarterRequest
from tacit.plan import Plan
from tacit.plan.presets.enough_people import noisy_rounds
from tacit.plan.presets.expected_accuracy import describe_expectation
from tacit.plan.presets.text_rule import describe_text_choice
from tacit.simulation.advice.text_reading import choose_reading

_ENCODER_WIDTH = 384
"""Numbers per text of the encoder that the preset chooses."""


def make_starter(
    table: object, asked: StarterRequest | None = None, *, file: str = "plan.toml"
) -> Starter:
    """Write a starting plan as `data.starter` does; notes say how texts are read, and whether there
    are too few people for epsilon.
    """
    start = data.build_starter(table, asked=asked, file=file)
    plan = plans.parse(tomllib.loads(start.text))
    if start.texts and not (asked and asked.one_bit):
        reading, note = choose_reading(start, plan.features.buckets)
        start = replace(start, text=start.write(reading), notes=(*start.notes, note))
        plan = plans.parse(tomllib.loads(start.text))
    notes = (describe_text_choice(plan), *_describe_people(start, plan))
    return replace(start, notes=(*start.notes, *(_as_sentence(note) for note in notes if note)))


def _as_sentence(note: str) -> str:
    return note[:1].upper() + note[1:].rstrip(".") + "."


def _describe_people(start: Starter, plan: Plan) -> tuple[str, str]:
    """The accuracy to expect with as many clients, and a warning if they are too few for epsilon,
    from the table's columns and classes.
    """
    roles = {guess.column: guess.role for guess in start.guesses}
    classes = start.rows[plan.data.columns.label or ""].drop_nulls().n_unique()
    columns = sum(
        start.rows[name].n_unique() if role == "categorical" else role == "numeric"
        for name, role in roles.items()
    )
    inputs = (
        (plan.features.buckets if start.texts and plan.features.word_form else 0)
        + (_ENCODER_WIDTH if plan.features.has_encoder else 0)
        + columns
        + int(plan.features.constant > 0)
    )
    noise = noisy_rounds(plan, inputs * (1 if classes <= 2 else classes))
    people = plan.privacy.clients if plan.privacy and plan.privacy.clients else plan.data.clients
    expected = describe_expectation(plan, classes, columns, people)
    return expected, noise.describe_few(people) if noise else ""
