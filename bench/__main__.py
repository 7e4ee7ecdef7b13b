"""`python -m bench FIGURE`: measure, print a table, write bench/out/FIGURE.json."""

from __future__ import annotations

import argparse
import importlib
import sys

from bench.show import show

FIGURES = (
    "round",
    "parts",
    "overhead",
    "kernels",
    "growth",
    "start",
    "share",
    "step",
    "tally",
    "votes",
    "secure_aggregation",
    "modules",
)
PEERS = ("torch", "threads", "pfl", "flower", "opendp", "sklearn", "numpy")


def main() -> None:
    """Run the figures asked for."""
    if sys.argv[1:2] == ["faults"]:
        sys.exit(importlib.import_module("bench.faults.__main__").main(sys.argv[2:]))
    if sys.argv[1:2] in (["defaults"], ["few_people"], ["tuned"], ["sites"]):
        sys.exit(importlib.import_module(f"bench.{sys.argv[1]}").main(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "figure",
        choices=(*FIGURES, "all"),
        help="or: faults, defaults, few_people, tuned, sites, each with options of its own",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--repeats", type=int, default=7, help="interleaved repeats whose median counts (default 7)"
    )
    parser.add_argument(
        "--peers", default=",".join(PEERS), help=f"whom to measure against, of {', '.join(PEERS)}"
    )
    asked = parser.parse_args()
    peers = set(asked.peers.split(","))
    for name in FIGURES if asked.figure == "all" else (asked.figure,):
        figure = importlib.import_module(f"bench.figures.{name}")
        show(name, figure.run(max(1, asked.repeats), peers), asked.json)


if __name__ == "__main__":
    main()
