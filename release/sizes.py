"""Disk space of an environment's packages. Runs under the environment's own Python: `python sizes.py`.

Prints JSON: for each distribution its bytes on disk, compiled bytecode and programs included.
Standard library only.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import Distribution, distributions

NOT_COUNTED = ("pip", "setuptools")
"""What an empty environment holds."""


def measure() -> dict[str, int]:
    """Bytes on disk of each installed distribution, largest first."""
    found = {
        each.metadata["Name"].lower().replace("_", "-"): _measure_one(each)
        for each in distributions()
    }
    kept = {name: size for name, size in found.items() if name not in NOT_COUNTED}
    return dict(sorted(kept.items(), key=lambda each: -each[1]))


def _measure_one(distribution: Distribution) -> int:
    """Allocated bytes of all files of a distribution; files that do not exist count nothing."""
    total = 0
    for file in distribution.files or ():
        try:
            total += os.stat(file.locate()).st_blocks * 512
        except OSError:
            continue
    return total


if __name__ == "__main__":
    print(json.dumps(measure()))
