"""[ledger]: how the account of privacy is stated."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Gt, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Ledger:
    """How the account of privacy is stated."""

    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5
    """The delta of the (epsilon, delta) total per run; a codec with a delta of its own states totals at that."""
