"""Checks of a delivered model. The server chose every byte of it: nothing is used before its
signature, its hashes, its sizes and its agreement with plan and terms are verified.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from tacit import plan as plans
from tacit import training
from tacit.assembly.rowless_model import RowlessModel
from tacit.deployment.bodies import Terms
from tacit.deployment.model_delivery import is_for_sites
from tacit.errors import RunError, WireError
from tacit.plan import Plan
from tacit.printable import printable_name
from tacit.rows import Vector
from tacit.runs import record, run_folder
from tacit.runs.completeness import list_missing
from tacit.runs.record import Entry, Finished, Prepared, Started, Stored

Kind = TypeVar("Kind")
_SOURCE = Path("the delivered record")
_MAX_HEADER_BYTES = 1 << 20
"""Room for names and shapes in a model file, besides the parameters."""
_MAX_TEXT = 10_000


class DeliveredRecord:
    """The verified entries of a delivered record, by their meaning."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.started = _find_only(entries, Started)
        self.prepared = _find_only(entries, Prepared)
        self.finished = _find_only(entries, Finished)
        self.hashes = {
            name: digest
            for stored in record.select_entries(entries, Stored)
            for name, digest in stored.sha256.items()
        }


def read_delivered_record(content: bytes, terms: Terms) -> DeliveredRecord:
    """Parse a delivered record; raise WireError unless it is signed as a whole with the key in the
    terms, complete, well typed and printable.
    """
    if not terms.read_record_key:
        _refuse("the terms of the run have no key that could have signed it")
    try:
        entries, signed = record.parse_signed(content, _SOURCE)
    except RunError as error:
        _refuse(str(error))
    if signed is None or not signed.is_by(terms.read_record_key.hex()):
        _refuse("its record is not signed with the key in the run's terms")
    for entry in entries:
        _check_entry(entry)
    found = DeliveredRecord(entries)
    missing = list_missing(entries)
    if missing:
        _refuse(f"its record is not complete: {missing[0]}")
    return found


def check_agreement(found: DeliveredRecord, plan: Plan, terms: Terms, packed_terms: bytes) -> None:
    """Raise WireError unless a record is about this plan and these terms."""
    if found.started.key != terms.read_record_key.hex():
        _refuse("its record names another key than the run's terms")
    if found.started.data_fingerprint != hashlib.sha256(packed_terms).hexdigest():
        _refuse("its record is about other terms than this site agreed to")
    other = _find_difference(plan, found.started.plan)
    if other:
        _refuse(f"its record is about another plan than the run's: {other} differs")
    if found.prepared.clients != terms.clients:
        _refuse(
            f"its record is about {found.prepared.clients:,} clients, but the terms say"
            f" {terms.clients:,}"
        )


def check_shape(found: DeliveredRecord, built: RowlessModel) -> None:
    """Raise WireError unless a record's model has the parameters, inputs and classes that follow
    from plan and terms.
    """
    stated = found.prepared
    wanted = (built.learner.size, built.rows.inputs.width, list(built.fitted.classes))
    if (stated.parameters, stated.inputs, stated.classes) != wanted:
        _refuse(
            f"it must have {wanted[0]:,} parameters, {wanted[1]:,} inputs and the {len(wanted[2])}"
            " classes of the terms"
        )


def read_parameters(content: bytes, found: DeliveredRecord, learner: training.Learner) -> Vector:
    """Read the parameters of a model file; raise WireError unless it is the one that the record
    names, with the names, shapes and types of the plan's model and finite values.
    """
    most = 4 * learner.size + _MAX_HEADER_BYTES
    if len(content) > most:
        _refuse(f"its model file may have {most:,} bytes, got {len(content):,}")
    if hashlib.sha256(content).hexdigest() != found.hashes.get(run_folder.MODEL):
        _refuse("its model file does not match the SHA-256 in its record")
    try:
        arrays = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        _refuse(f"its model file is malformed ({type(error).__name__})")
    if any(array.dtype != np.float32 for array in arrays.values()):
        _refuse("its parameters must be 32-bit floating-point numbers")
    try:
        model = training.flatten_parameters(learner, arrays)
    except RunError as error:
        _refuse(printable_name(str(error)))
    if not np.isfinite(model).all():
        _refuse("its parameters must be finite")
    if hashlib.sha256(model.tobytes()).hexdigest() != found.finished.parameters_sha256:
        _refuse("its parameters do not match the SHA-256 in its record")
    return model


def _check_entry(entry: Entry) -> None:
    """Refuse an entry of another kind or arm, with fields of wrong types, or with text or numbers
    that are not printable and finite.
    """
    if not is_for_sites(entry):
        _refuse(
            f"its record has an entry of a kind that sites do not receive ({type(entry).__name__})"
        )
    try:
        msgspec.convert(dataclasses.asdict(entry), type=type(entry), strict=True)
    except (msgspec.ValidationError, ValueError, KeyError, TypeError):
        _refuse(f"its record has a malformed entry ({type(entry).__name__})")
    for value in _walk(dataclasses.asdict(entry)):
        if isinstance(value, float) and not math.isfinite(value):
            _refuse("its record has a number that is not finite")
        if isinstance(value, str) and (len(value) > _MAX_TEXT or printable_name(value) != value):
            _refuse("its record has text with control characters, or too much of it")


def _walk(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _walk(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _walk(inner)
    else:
        yield value


def _find_difference(plan: Plan, stated: dict[str, Any]) -> str:
    """The first setting of a plan that a record states otherwise; empty if all agree. A key that
    the record lacks has its default.
    """
    own, default = (
        _flatten(json.loads(json.dumps(tree)))
        for tree in (plans.dump(plan), plans.list_defaults(plan))
    )
    theirs = _flatten(stated)
    return next(
        (key for key, value in own.items() if theirs.get(key, default.get(key)) != value), ""
    )


def _flatten(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= _flatten(value, f"{path}{key}.")
        else:
            found[f"{path}{key}"] = value
    return found


def _find_only(entries: list[Entry], kind: type[Kind]) -> Kind:
    found = record.select_entries(entries, kind)
    if len(found) != 1:
        _refuse(f"its record must have one entry {kind.__name__!r}, got {len(found)}")
    return found[0]


def _refuse(why: str) -> NoReturn:
    raise WireError(f"model refused: {why}")
