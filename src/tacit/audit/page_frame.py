"""Frame of an audit's page: a single file that works offline, in light and dark themes."""

from __future__ import annotations

from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --line: #d9dee3; --back: #fff; --bad: #b42318; --good: #18794e; }
@media (prefers-color-scheme: dark) {
 :root { --ink: #e8ebee; --soft: #9aa4ae; --line: #333b43; --back: #14181c; --bad: #ff8a7a; --good: #6fdba3; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back);
 max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } p { max-width: 48rem; } .soft { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number, td.name { white-space: nowrap; } th { vertical-align: bottom; } th.who { white-space: nowrap; vertical-align: top; }
ul { max-width: 60rem; padding-left: 1.2rem; } tr.within td:first-child { border-bottom-color: transparent; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); }
.read { background: color-mix(in srgb, var(--bad) 22%, transparent); border-radius: 3px; padding: 0 .15em; }
"""


def frame_page(title: str, *parts: str) -> str:
    """Build a page from a title and HTML parts."""
    return "\n".join(
        [
            (
                "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport'"
                " content='width=device-width'>"
            ),
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            *parts,
            "</body></html>",
        ]
    )


def format_list(sentences: list[str]) -> str:
    """Format sentences as an HTML list."""
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def write(page: str, path: Path) -> None:
    """Write a page, creating its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
