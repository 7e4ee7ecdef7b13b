"""A user's own codec: imported, its settings checked, and built before training starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tacit import extensions, plan
from tacit.codecs.contract import Codec, Extent
from tacit.errors import PlanError
from tacit.extensions import Reference

_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class OwnMechanism:
    """A codec as a user's module declares it.

    `settings` is a dataclass: its fields are the keys of `[codec.settings]`, with their types and
    defaults. Its `__post_init__` raises ValueError for invalid values. `make` builds the codec for
    a run of some extent. The codec carries its claims and traits.
    """

    settings: type[Any]
    make: Callable[[Any, Extent], Codec]


def build_own(settings: plan.OwnCodec, extent: Extent) -> Codec:
    """Import the codec that a plan names, check its settings, and build it.

    The caller has permission to run the code.
    """
    where = f"codec.name = {Reference(settings.name).path!r}"
    mechanism, chosen = load_own(settings)
    codec = mechanism.make(chosen, extent)
    if not isinstance(codec, Codec):
        raise PlanError(f"{where}: `make` must return a tacit.codecs.Codec, got {codec!r}")
    if not 0 < len(codec.name) <= _LONGEST_NAME:
        raise PlanError(f"{where}: give the codec a name of 1 to {_LONGEST_NAME} characters")
    if codec.keyed is not None or codec.decoded_by == "clients":
        raise PlanError(
            f"{where}: a codec of your own cannot have a secret that clients share; only the"
            " server can decode it"
        )
    if extent.helpers and codec.integers is None:
        raise PlanError(
            f"{where}: secure aggregation adds integers, and this codec has no `integers`; remove"
            " [secure_aggregation], or give the codec one"
        )
    return codec


def load_own(settings: plan.OwnCodec) -> tuple[OwnMechanism, Any]:
    """Import the codec that a plan names, and read its settings; raise PlanError if they do not
    fit.
    """
    reference = Reference(settings.name)
    found = extensions.load("codec.name", reference)
    if not isinstance(found, OwnMechanism):
        raise PlanError(
            f"codec.name = {reference.path!r} must be a tacit.codecs.OwnMechanism, got {found!r}"
        )
    return found, _read_settings(found.settings, settings.settings)


def check_own(settings: plan.Codec) -> None:
    """Import a user's own codec, if the plan names one; raise PlanError if it is not a codec or if
    its settings do not fit. A run calls this before it reads data.
    """
    if isinstance(settings, plan.OwnCodec):
        load_own(settings)


def _read_settings(table: type[Any], given: dict[str, Any]) -> Any:
    adapter = TypeAdapter(table)
    unknown = sorted(set(given) - set(getattr(table, "__dataclass_fields__", {})))
    if unknown:
        known = ", ".join(table.__dataclass_fields__) or "none"
        raise PlanError(
            f"codec.settings.{unknown[0]} is not a setting of this codec; known are {known}"
        )
    try:
        return adapter.validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        raise PlanError("\n".join(map(_explain, error.errors()))) from None


def _explain(problem: Any) -> str:
    key = ".".join(["codec.settings", *map(str, problem["loc"])])
    return f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}, got {problem['input']!r}"
