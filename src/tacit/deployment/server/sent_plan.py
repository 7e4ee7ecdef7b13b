"""The plan of a run as sites receive it, kept in the run's folder.

A server that is updated in the middle of a run must send the same text again: its hash is in every
message.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacit.deployment.versions import find_version, write_settings
from tacit.errors import RunError
from tacit.files import replace_file
from tacit.plan import Plan, to_short_toml

_SENT_PLAN = "sent.json"


class SentPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The text of a plan without defaults, all its settings, and the version that wrote them."""

    text: str
    settings: str
    version: str


def store_sent_plan(place: Path, plan: Plan) -> None:
    """Store the plan as sites will receive it in the folder of a run."""
    sent = SentPlan(to_short_toml(plan), write_settings(plan), find_version())
    replace_file(place / _SENT_PLAN, msgspec.json.encode(sent))


def load_sent_plan(place: Path) -> SentPlan:
    """Load the plan as sites received it."""
    try:
        return msgspec.json.decode((place / _SENT_PLAN).read_bytes(), type=SentPlan)
    except (OSError, msgspec.MsgspecError) as error:
        raise RunError(
            f"{place / _SENT_PLAN} cannot be read ({type(error).__name__}), so the run cannot"
            " continue; start the plan as a new run"
        ) from None
