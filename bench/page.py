"""Put the measured figures into docs/benchmarks/speed.md, between its two marks: `python -m bench.page`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUT, PAGE = Path("bench/out"), Path("docs/benchmarks/speed.md")
BEGIN, END = "<!-- figures: written by python -m bench.page -->", "<!-- end of figures -->"


def main() -> None:
    """Write one table a figure file."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    parts = [_table(path.stem, json.loads(path.read_text())) for path in sorted(OUT.glob("*.json"))]
    PAGE.write_text(f"{before}{BEGIN}\n\n{chr(10).join(parts)}\n{END}{after}")


def _table(name: str, results: list[dict[str, Any]]) -> str:
    lines = [
        f"### `python -m bench {name}`",
        "",
        "| figure | ours | peer | theirs | ratio | bar | |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        sign = "≤" if result["better"] == "lower" else "≥"
        bar = f"{sign} {result['bar']:g}" if result["bar"] is not None else ""
        verdict = {True: "met", False: "**missed**", None: ""}[result["met"]]
        unit = f"{result['kind']} {result['unit']}" if result["kind"] != "count" else result["unit"]
        ours, theirs, ratio = (_short(result[key]) for key in ("ours", "theirs", "ratio"))
        lines.append(
            f"| {result['figure']} ({unit}) | {ours} | {result['peer']} | {theirs} | {ratio} |"
            f" {bar} | {verdict} |"
        )
    return "\n".join([*lines, ""])


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
