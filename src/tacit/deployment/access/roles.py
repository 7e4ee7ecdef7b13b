"""Roles of people at a server, and what each may do there."""

from __future__ import annotations

from typing import Literal, get_args

Role = Literal["operator", "coordinator", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)

Call = Literal[
    "show-me",
    "replace-certificate",
    "list-sites",
    "list-runs",
    "list-people",
    "invite",
    "admit",
    "revoke",
    "restore",
    "renew-server-certificate",
    "open-run",
    "carry-messages",
    "close-run",
    "stop-run",
    "send-record",
    "read-record",
]
"""What a person may ask of a server. `carry-messages` stands for every request with which a
coordinator's run sends messages to sites and fetches replies.
"""

ALLOWED: dict[Call, frozenset[Role]] = {
    "show-me": frozenset(ROLES),
    "replace-certificate": frozenset(ROLES),
    "list-sites": frozenset(ROLES),
    "list-runs": frozenset(ROLES),
    "list-people": frozenset({"operator"}),
    "invite": frozenset({"operator"}),
    "admit": frozenset({"operator"}),
    "revoke": frozenset({"operator"}),
    "restore": frozenset({"operator"}),
    "renew-server-certificate": frozenset({"operator"}),
    "open-run": frozenset({"coordinator"}),
    "carry-messages": frozenset({"coordinator"}),
    "close-run": frozenset({"coordinator"}),
    "stop-run": frozenset({"coordinator"}),
    "send-record": frozenset({"coordinator"}),
    "read-record": frozenset({"auditor", "coordinator"}),
}
"""The roles that may make a call. A coordinator may open, stop and read runs of their own only."""


def describe_roles(call: Call) -> str:
    """The roles that may make a call, as a person reads them."""
    return " or ".join(role for role in ROLES if role in ALLOWED[call])
