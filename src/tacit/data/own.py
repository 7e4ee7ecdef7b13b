"""User-defined data sets that a plan names, checked before a run reads data."""

from __future__ import annotations

from tacit.data.named.catalogue import load_own_data_set
from tacit.data.named.entry import NamedDataSet
from tacit.errors import PlanError
from tacit.extensions import Reference
from tacit.plan import Plan
from tacit.plan.tables.rows.data import list_missing_roles, list_missing_test_rows


def check_own_data_sets(plan: Plan) -> None:
    """Import the data sets of the user's own that a plan names; raise PlanError if one is none, or
    if the plan lacks the column roles that a function's rows require.

    The caller has permission to run the code.
    """
    data, public = plan.data, plan.public
    if isinstance(data.source, Reference):
        found = load_own_data_set(data.source)
        missing = [*list_missing_roles(data), *list_missing_test_rows(data)]
        if missing and not isinstance(found, NamedDataSet):
            raise PlanError(
                "\n".join(
                    f"data.source = {data.source.path!r} returns rows: {one}" for one in missing
                )
            )
    if public is not None and isinstance(public.source, Reference):
        load_own_data_set(public.source, "public.source")
