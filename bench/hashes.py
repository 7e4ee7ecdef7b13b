"""`python -m bench.hashes [--against CHECKOUT]`: the model hashes of all examples at short
settings, of one or two checkouts.

A change that must not change results is shown not to: each checkout runs its own `examples/*.toml`
with its own package, and every model file must have the same SHA-256. An example whose data set is
not at hand is left out, with the reason. Hashes of two machines may differ in the last bits of
floating-point sums, so they are compared in one run and not stored.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import ROOT

SHORT: dict[str, tuple[str, ...]] = {
    "all_five": (
        "server.rounds=1",
        "server.evaluate_every=1",
        "data.limit=6000",
        "data.clients=40",
    ),
    "fedvocab": ("server.rounds=1", "server.evaluate_every=1"),
    "hashcomb": (),
    "imdb": ("server.rounds=2", "server.evaluate_every=1", "data.limit=5000"),
    "imdb_private": (
        "server.rounds=3",
        "server.evaluate_every=1",
        "data.limit=5000",
        "data.clients=1000",
    ),
    "lazyinf": (
        "server.rounds=2",
        "server.evaluate_every=1",
    ),
    "newsgroups": (
        "server.rounds=3",
        "server.evaluate_every=1",
    ),
    "partfed": (
        "server.rounds=5",
        "server.evaluate_every=1",
    ),
    "sites": (),
}
"""Settings with which each example takes seconds; an example that is missing here runs as it is."""


def hash_of(checkout: Path, example: str) -> str:
    """The SHA-256 of the model file an example ends in, or why there is none."""
    settings = ("baselines=[]", *SHORT.get(example, ()))
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "tacit",
            "run",
            str(checkout / "examples" / f"{example}.toml"),
            "--json",
            "--quiet",
        ]
        command += [
            "--no-report",
            "--runs",
            folder,
            *(word for one in settings for word in ("-o", one)),
        ]
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = (
                done.stderr.strip().splitlines()
                or done.stdout.strip().splitlines()
                or ["no reason given"]
            )
            return f"not run: {lines[-1].strip()[:100]}"
        (model,) = Path(folder).glob("*/model.safetensors")
        return hashlib.sha256(model.read_bytes()).hexdigest()


def _is_missing(hashed: str) -> bool:
    return hashed.startswith("not run")


def _state(hashes: list[str]) -> str:
    if len(hashes) == 1 or any(map(_is_missing, hashes)):
        return ""
    return "same" if len(set(hashes)) == 1 else "DIFFERENT"


def main() -> int:
    """Print the table; 1 if two checkouts end in different models."""
    parser = argparse.ArgumentParser(prog="python -m bench.hashes", description=__doc__)
    parser.add_argument("--against", type=Path, help="the root of another checkout to compare with")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("examples", nargs="*", help="names of examples (default: all)")
    asked = parser.parse_args()
    checkouts = [ROOT, *([asked.against.resolve()] if asked.against else [])]
    names = asked.examples or sorted(path.stem for path in (ROOT / "examples").glob("*.toml"))
    found: dict[str, list[str]] = {}
    for name in names:
        found[name] = [hash_of(checkout, name) for checkout in checkouts]
        if not asked.json:
            print(
                f"{name:14}"
                f" {'  '.join(one if _is_missing(one) else one[:16] for one in found[name])} "
                f" {_state(found[name])}",
                flush=True,
            )
    if asked.json:
        print(json.dumps(found, indent=1))
    return int(any(_state(hashes) == "DIFFERENT" for hashes in found.values()))


if __name__ == "__main__":
    sys.exit(main())
