"""What a site receives of a finished run: the parameters, and the part of the server's record that
states how they came about.

The record is an extract with a hash chain of its own, signed with the run's key, which sites know
from the terms. Its entries hold the hash of the model, the hash of the terms, the releases of every
round and the result. The extract leaves out which sites and clients were refused or voted down.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from tacit.runs.record import (
    RUN,
    Entry,
    Finished,
    Prepared,
    Released,
    Round,
    Started,
    Stored,
    WarmStarted,
)

MAX_RECORD_BYTES = 16 * 2**20
KINDS_AT_SITES = (Started, Prepared, WarmStarted, Released, Round, Stored, Finished)
"""Kinds of entries that sites receive; `signed` follows them."""


class ModelDelivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The final model of a run. `offer` are the bytes that the run was opened with, `record` the
    signed extract. `model` is the file `model.safetensors`, or empty where only clients can decode
    the model.
    """

    offer: Annotated[bytes, msgspec.Meta(max_length=2 * 2**20)]
    record: Annotated[bytes, msgspec.Meta(max_length=MAX_RECORD_BYTES)]
    model: bytes


def is_for_sites(entry: Entry) -> bool:
    """Whether sites receive an entry: one of their kinds, and about the run itself."""
    return isinstance(entry, KINDS_AT_SITES) and getattr(entry, "arm", RUN) == RUN
