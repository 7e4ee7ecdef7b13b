"""Predictions of personal models: the shared parameters with a client's stored private ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import RunError
from tacit.randomness import Draws
from tacit.rows import Inputs, Vector
from tacit.training.private.learner import PartialLearner, get_tokens
from tacit.training.private.store import Arrays
from tacit.training.private.vocabulary import OwnWords

_NOTHING = Draws(b"")  # a stored model draws nothing


class PersonalPart(NamedTuple):
    """A client's private parameters after its last round, and what numbers its words, if any."""

    number: int
    arrays: Arrays
    own: OwnWords | None


def has_personal_part(learner: PartialLearner, number: int, before: int) -> bool:
    """Whether private parameters of a client are stored from a round before `before`."""
    return learner.store.find_last_round(number, before) is not None


def read_personal_part(learner: PartialLearner, number: int, before: int) -> PersonalPart:
    """Read a client's private parameters after its last round before `before`; raise RunError if
    they are missing, damaged or not the model's.
    """
    found = learner.store.read_with_facts(number, before)
    where = learner.store.folder / str(number)
    if found is None:
        raise RunError(f"{where}: has no private parameters of the client")
    arrays, facts = found
    named = dict(learner.module.named_parameters())
    if sorted(arrays) != sorted(learner.split.private) or any(
        arrays[name].shape[1:] != tuple(named[name].shape)[1:] for name in arrays
    ):
        raise RunError(f"{where}: these private parameters do not match the run's model")
    if learner.wordings is None:
        return PersonalPart(number, arrays, None)
    if not facts:
        raise RunError(
            f"{where}: was written by an earlier version of Tacit, without the client's words; train"
            " the plan again"
        )
    return PersonalPart(number, arrays, OwnWords.from_json(facts))


def predict_personal(
    learner: PartialLearner, model: Vector, part: PersonalPart, inputs: Inputs
) -> NDArray[np.float32]:
    """Return the logits of one client's model for rows of that client.

    Words that the client's texts did not have count as unknown, except where their vectors are
    public (`private.start`). A client's secret rotation is not stored, so under it such words are
    unknown too.
    """
    worker, words, arrays = learner.worker(), None, part.arrays
    if learner.wordings is not None and part.own is not None:
        slot = ClientSlot(part.number, 0, ClientRandomness(_NOTHING, part.number))
        rotated = learner.home.private.start == "rotated"
        words = learner.wordings.number(slot, part.own, None if rotated else get_tokens(inputs))
        arrays = arrays if rotated else learner.extend_rows(slot, words, arrays)
    worker.assemble(model, arrays)
    return worker.logits(inputs, words)
