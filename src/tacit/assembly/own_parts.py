"""User-defined parts that a plan names, imported and checked before a run reads data."""

from __future__ import annotations

from tacit.codecs import check_own
from tacit.plan import OwnModule, Plan, find_own_parts


def check_own_parts(plan: Plan, module: object | None = None) -> None:
    """Import every user-defined part, and raise PlanError for the first one that does not fit.

    `module` is the network itself, passed in Python; its class is then not imported. The
    caller has permission to run the code.
    """
    if module is not None and not plan.personal:
        from tacit.training.modules.own import refuse_private_parameters

        refuse_private_parameters(module, plan.model.name)
    if not find_own_parts(plan):
        return
    from tacit.data.k_anonymity.own_rule import check_own_sharing_rule
    from tacit.data.own import check_own_data_sets
    from tacit.server.rules.own import check_own_rule
    from tacit.training.own_attack import check_own_attack

    check_own(plan.codec)
    check_own_rule(plan.server)
    check_own_attack(plan.corrupt)
    check_own_data_sets(plan)
    check_own_sharing_rule(plan.data.share)
    if isinstance(plan.model, OwnModule) and module is None:
        from tacit.training.modules.own import import_class, refuse_private_parameters

        own = import_class(plan.model)
        if not plan.personal:
            refuse_private_parameters(own, plan.model.name)
