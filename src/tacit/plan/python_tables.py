"""Plan tables constructed in Python: their errors read as those of a plan file."""

from __future__ import annotations

import functools
from typing import Any

from pydantic import ValidationError

from tacit.errors import PlanError
from tacit.plan.explain import explain


def raise_plan_errors(table: Any) -> None:
    """Make the constructor of a table raise PlanError instead of pydantic's error."""
    construct = table.__init__

    @functools.wraps(construct)
    def construct_or_explain(self: object, *values: object, **settings: object) -> None:
        try:
            construct(self, *values, **settings)
        except ValidationError as error:
            problems = explain(error.errors(), table)
            many = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise PlanError(
                "\n  ".join([f"tacit.{table.__name__}(…): {many}", *problems])
            ) from None

    table.__init__ = construct_or_explain
