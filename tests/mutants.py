"""What mutation testing found: killed and surviving mutants by package, each survivor with its reason or none.

`make mutants` runs mutmut over the packages that `[tool.mutmut]` names and then prints this. A survivor that changes no behaviour
that anybody could observe is *equivalent*; `tests/mutants.toml` lists those, with the reason. Exit code 1 if fewer than 90 % of the
others were killed.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

BAR = 0.9
_KINDS = {"killed": "killed", "timeout": "killed", "caught by type check": "killed", "not checked": "not run"}
_LINE = re.compile(r"^\s*(?P<name>tacit\.\S+): (?P<state>.+)$")


def states(text: str) -> dict[str, str]:
    """The state of every mutant, from what `mutmut results --all true` prints."""
    found = (_LINE.match(line) for line in text.splitlines())
    return {one["name"]: one["state"].strip() for one in found if one}


def package_of(name: str) -> str:
    """The module without its last part: `tacit.ledger.owner.book.xǁBookǁclose__mutmut_1` is in `ledger.owner`."""
    return ".".join(name.split(".")[1:-2])


def reason_for(name: str, reasons: dict[str, str]) -> str:
    """Why a mutant is equivalent; nothing if nobody said so."""
    return next((why for pattern, why in reasons.items() if fnmatch.fnmatchcase(name, pattern)), "")


def report(found: dict[str, str], reasons: dict[str, str]) -> tuple[str, float]:
    """The table by package with the list of survivors, and the share of non-equivalent mutants that were killed."""
    kinds: dict[str, Counter[str]] = {}
    survivors = []
    for name, state in sorted(found.items()):
        kind = _KINDS.get(state, "alive")
        if kind == "alive" and reason_for(name, reasons):
            kind = "equivalent"
        elif kind == "alive":
            survivors.append(f"  {name}: {state}")
        kinds.setdefault(package_of(name), Counter())[kind] += 1
    total = sum(kinds.values(), Counter[str]())
    lines = [f"{'package':32}{'killed':>8}{'alive':>8}{'equivalent':>12}{'not run':>9}{'killed of rest':>16}"]
    for package, count in [*sorted(kinds.items()), ("all", total)]:
        share = count["killed"] / max(1, count["killed"] + count["alive"])
        lines.append(f"{package:32}{count['killed']:8}{count['alive']:8}{count['equivalent']:12}{count['not run']:9}{share:16.1%}")
    if survivors:
        lines += ["", "alive, without a reason in tests/mutants.toml:", *survivors]
    return "\n".join(lines), total["killed"] / max(1, total["killed"] + total["alive"])


def main() -> int:
    """Print the report of the last run of mutmut."""
    command = [str(Path(sys.executable).parent / "mutmut"), "results", "--all", "true"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    reasons = tomllib.loads(Path("tests/mutants.toml").read_text(encoding="utf-8"))["equivalent"]
    text, share = report(states(printed), reasons)
    print(text)
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
