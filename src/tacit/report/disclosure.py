"""What would leave, as one small page for the data owner: no script, nothing loaded from anywhere."""

from __future__ import annotations

from html import escape
from typing import Any

from tacit.record import DisclosedRows

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1a2230; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 1.6rem; }
table { border-collapse: collapse; font-size: .92rem; }
td, th { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #dfe3ea; }
.shared { fill: #d9730d; } .kept { fill: #1f5fd0; } text { font: 12px system-ui, sans-serif; fill: #556074; }
.no { color: #b02a5b; font-weight: 600; }
"""
_WIDTH, _ROW = 620, 22
_MOST_BARS = 40


def disclosure_page(shared: DisclosedRows, rows_per_client: list[int], looks: list[dict[str, Any]], refused: list[str]) -> str:
    """Return the page: the sentence to read, bars of rows kept and shared, labels on either side, and some classes.

    `looks` are classes that would leave (`values`, `rows`, `labels`); `refused` says where the owner's policy is broken.
    """
    share = 100 * shared.rows / max(1, shared.of_rows)
    clients = list(zip(shared.rows_per_client, rows_per_client, strict=True))[:_MOST_BARS]
    labels = [(name, rows, shared.labels_kept.get(name, 0)) for name, rows in shared.labels_disclosed.items()][:_MOST_BARS]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>What would leave</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{_STYLE}</style></head><body>
<h1>What would leave: {shared.rows:,} of {shared.of_rows:,} rows ({share:.1f} %)</h1>
{"".join(f'<p class="no">Refused: {escape(sentence)}.</p>' for sentence in refused)}
<p>Each of these rows leaves in full: {escape(", ".join(shared.columns))}. {100 * shared.unique_share:.1f} % of them are unique in
all columns but the label; {100 * shared.single_label_share:.1f} % are in classes where everybody has the same label.</p>
<h2>Rows of each client: orange leaves, blue stays</h2>
{_bars([(f"client {number}", given, held - given) for number, (given, held) in enumerate(clients)])}
<h2>Labels: orange leaves, blue stays</h2>
{_bars(labels)}
<h2>Some classes that would leave</h2>
<table><tr>{"".join(f"<th>{escape(name)}</th>" for name in shared.key)}<th>rows</th><th>labels</th></tr>
{"".join(_class(look) for look in looks)}</table>
</body></html>
"""


def _bars(rows: list[tuple[str, int, int]]) -> str:
    """Return one bar per row as SVG: what is shared, then what is kept."""
    longest = max((given + kept for _, given, kept in rows), default=0) or 1
    scale = (_WIDTH - 250) / longest
    drawn = []
    for number, (name, given, kept) in enumerate(rows):
        top, said = number * _ROW, f"{given:,} of {given + kept:,}"
        drawn.append(
            f'<text x="0" y="{top + 15}">{escape(name[:18])}</text>'
            f'<rect class="shared" x="130" y="{top + 3}" width="{given * scale:.1f}" height="16"/>'
            f'<rect class="kept" x="{130 + given * scale:.1f}" y="{top + 3}" width="{kept * scale:.1f}" height="16"/>'
            f'<text x="{136 + (given + kept) * scale:.1f}" y="{top + 15}">{said}</text>'
        )
    return f'<svg role="img" width="{_WIDTH}" height="{len(rows) * _ROW + 4}">{"".join(drawn)}</svg>'


def _class(look: dict[str, Any]) -> str:
    labels = ", ".join(f"{escape(str(name))} {count:,}" for name, count in look["labels"].items() if count)
    values = "".join(f"<td>{escape(str(value))}</td>" for value in look["values"].values())
    return f"<tr>{values}<td>{look['rows']:,}</td><td>{labels}</td></tr>"
