"""Page of the audit of messages."""

from __future__ import annotations

from html import escape

from tacit.audit.messages.audit import MessageAudit, write_sentences
from tacit.audit.messages.grids import Grid, build_example_grids, build_grids, write_heading
from tacit.audit.page_frame import format_list, frame_page


def render_page(audit: MessageAudit) -> str:
    """Render the page as HTML; it shows clients' words only if the audit contains examples."""
    parts = [
        "<h1>What does a client's message reveal?</h1>",
        f"<p>{escape(audit.source)} {escape(write_heading(audit))}</p>",
        format_list(write_sentences(audit)),
        *map(_table, build_grids(audit)),
    ]
    if audit.examples:
        parts += [
            "<h2>Side by side</h2>",
            *(_table(grid, figures=False) for grid in build_example_grids(audit)),
        ]
    return frame_page("Message audit", *parts)


def _table(grid: Grid, *, figures: bool = True) -> str:
    title, headings, rows = grid
    kinds = ["", *([" class='number'" if figures else ""] * (len(headings) - 1))]
    head = "".join(
        f"<th{kind}>{escape(text)}</th>" for kind, text in zip(kinds, headings, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{escape(text)}</td>' for kind, text in zip(kinds, row, strict=True))}</tr>"
        for row in rows
    )
    level = "h2" if figures else "h3"
    return (
        f"<{level}>{escape(title)}</{level}><div"
        f" class='wide'><table><tr>{head}</tr>{body}</table></div>"
    )
