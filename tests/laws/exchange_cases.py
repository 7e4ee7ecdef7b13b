"""One case for each exchange: the plan tables with which a round contains it."""

from __future__ import annotations

from typing import Any

_EQUAL = {"server": {"rounds": 1, "weights": "equal"}}
_SECURE = {"secure_aggregation": {"helpers": 1, "min_clients": 2}, **_EQUAL}
_FILTER = {"lr": 0.5, "vote_epsilon": 4.0}
_HELD_OUT = {"local_test": 0.3}

CASES: dict[str, dict[str, Any]] = {
    "Train": {},
    "SecureTrain": _SECURE,
    "HelperSums": _SECURE,
    "Heads": {"filter": _FILTER, "data": _HELD_OUT},
    "Votes": {"filter": _FILTER, "data": _HELD_OUT},
    "SummedVotes": {
        "filter": {"lr": 0.5, "votes_epsilon": 8.0, "delta": 1e-3}, "data": _HELD_OUT, **_SECURE,
    },
    "DiscloseRows": {"data": {"share": {"rule": "k_anonymity", "k": 3}}},
}  # fmt: skip
"""Keyed by the class in `protocol/exchanges/`."""
