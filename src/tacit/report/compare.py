"""Differences between runs: the settings of their plans side by side."""

from __future__ import annotations

from typing import Any

from tacit.report import phrasing


def find_differences(plans: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Find the settings that are not equal in all plans: key to run to value."""
    flat = {name: _flat(plan) for name, plan in plans.items()}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings)
    values = {key: {name: settings.get(key) for name, settings in flat.items()} for key in keys}
    return {
        key: of for key, of in values.items() if len({repr(value) for value in of.values()}) > 1
    }


def format_setting(value: Any) -> str:
    """Format a setting for a table."""
    return (
        phrasing.NONE
        if value is None
        else ", ".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )


def _flat(table: dict[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= (
            _flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
        )
    return found
