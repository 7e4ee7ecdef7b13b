"""Plans as TOML text: read within limits, written with every setting."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tacit.errors import PlanError

LARGEST = 1_000_000
"""Maximum size of a plan in bytes. The longest lists of columns take a tenth of it."""

DEEPEST = 8
"""Maximum number of parts of a dotted key. Plans have three; the time and memory of a TOML parser
grow with their square.
"""

_NONE_IS_A_VALUE = ("privacy.preset", "private.words", "private.adapt", "private.store")
"""Keys for which "none" is a value; for any other key, `-o key=none` removes the key."""

# Strings and comments, ended or not, so that the search goes through a text once.
_QUOTED = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z)|'
    r"'''(?:[^']|'(?!''))*+(?:'''|\Z)|"
    r'"(?:[^"\\\n]|\\.)*+"?|'
    r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)


def read(path: Path) -> dict[str, Any]:
    """Read the tables of a plan file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        return tree_of(content.decode("utf-8"))
    except OSError as error:
        raise PlanError(
            f"{path} cannot be read ({error.strerror}); `tacit init` writes a plan to start from"
        ) from None
    except UnicodeDecodeError as error:
        raise PlanError(
            f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    except ValueError as error:
        hint = (
            f"; if it is a data file, `tacit init --from {path}` writes a plan for it"
            if path.suffix.lower() != ".toml"
            else ""
        )
        raise PlanError(f"{path} is not valid TOML: {error}{hint}") from None


def tree_of(text: str) -> dict[str, Any]:
    """Parse a TOML text into tables; raise ValueError if it is not TOML, or too large or too deep
    for a plan.

    Edge cases: size and depth are checked first, because a TOML parser may need gigabytes for 100
    kB of dots.
    """
    if len(text) > LARGEST:
        raise ValueError(f"a plan has at most {LARGEST:,} bytes")
    keys = re.sub(r"[ \t]+", "", re.sub(r"[\w-]+", "k", _QUOTED.sub("k", text)))
    if ".k" * DEEPEST in keys:
        raise ValueError(f"a key has at most {DEEPEST} parts between dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("lists and tables are nested too deeply") from None


def override(tree: dict[str, Any], setting: str) -> None:
    """Apply one `table.key=value` setting to a plan's tables."""
    key, equals, text = (part.strip() for part in setting.partition("="))
    tables = key.split(".")
    if not equals or not key or len(tables) > DEEPEST:
        raise PlanError(
            "-o must have the form table.key=value, such as -o codec.epsilon=1, got"
            f" {setting[:200]}"
        )
    for table in tables[:-1]:
        tree = tree.setdefault(table, {})
        if not isinstance(tree, dict):
            raise PlanError(f"-o {setting[:200]}: {table!r} is a value, not a table; check the key")
    if text in ("none", "None", "null") and key not in _NONE_IS_A_VALUE:
        tree.pop(tables[-1], None)  # as if the key were not in the file
        return
    try:
        tree[tables[-1]] = tree_of(f"value = {text}")["value"]
    except ValueError:
        tree[tables[-1]] = text


def write(tree: dict[str, Any]) -> str:
    """Tables as TOML text."""
    return "\n".join(_lines(tree, ())).strip() + "\n"


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [
        f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()
    ]
    if path and lines:
        lines.insert(0, f"[{'.'.join(map(_key, path))}]")
    for key, value in table.items():
        if isinstance(value, dict) and value:
            lines += ["", *_lines(value, (*path, key))]
    return lines


def _key(key: str) -> str:
    """Format a key for TOML: in quotes unless it consists of plain letters, digits, dashes and
    underscores.
    """
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
