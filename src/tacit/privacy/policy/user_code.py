"""Whether a data owner allows the code that a plan names; decided before any of it is imported."""

from __future__ import annotations

from collections.abc import Iterable

from tacit import extensions
from tacit.extensions import Reference
from tacit.plan import Plan, find_own_parts
from tacit.privacy.policy.policy import Policy


def find_user_code(plan: Plan) -> tuple[Reference, ...]:
    """Find the code that a plan names, pinned to the file on this machine; code that is not
    installed here has no pin.
    """
    return tuple(dict.fromkeys(map(extensions.pin_here, find_own_parts(plan).values())))


def refuse_user_code(policy: Policy, code: Iterable[Reference]) -> list[str]:
    """List each part whose code, as installed on this machine, is not in the policy, one sentence
    each.
    """
    return [
        f"allow.user_code: the plan names Python code, {one.path!r}; {_describe_remedy(one)}"
        for one in code
        if not one.sha256 or one not in policy.allow.user_code
    ]


def allows_code(policy: Policy, plan: Plan) -> bool:
    """Whether all code that a plan names may run on this machine."""
    return not refuse_user_code(policy, find_user_code(plan))


def _describe_remedy(one: Reference) -> str:
    if not one.sha256:
        return "it is not installed on this machine, so it cannot be read or allowed"
    return f"if you have read {extensions.find_code(one)} and it may run here, add {one!r}"
