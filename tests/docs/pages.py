"""Documents, and templates whose text people read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PRINTED = (
    "src/tacit/report/*.html",
    "src/tacit/cli/*.py",
    "src/tacit/plan/presets/starter.py",
    "examples/*.*",
)
TEMPLATES = sorted(page for pattern in PRINTED for page in ROOT.glob(pattern))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in DOCS)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: str, language: str) -> list[str]:
    """Fenced blocks of one language on a page."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$",
        (ROOT / page).read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
