"""The report page: one file that works offline, asks nobody for anything, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tacit import record
from tacit.report.audits import grids, latest
from tacit.report.cards import cards, facts
from tacit.report.charts import charts
from tacit.report.figures import HEADINGS, Summary, cells, summary
from tacit.report.phrasing import experiment
from tacit.report.votes_page import section

FILE = "report.html"


def write(folder: Path) -> Path:
    """Return the path of `report.html` in a run's folder, written anew from its record.

    Guarantees: the page is there whole or not at all.
    """
    source = folder / "record.jsonl"
    run = summary(record.read(source), name=folder.resolve().name)
    written = datetime.fromtimestamp(source.stat().st_mtime, tz=UTC)
    half = folder / f".{FILE}.part"
    half.write_text(render(run, _plan_text(folder, run), f"{written:%Y-%m-%d %H:%M} UTC"), encoding="utf-8")
    os.replace(half, folder / FILE)
    return folder / FILE


def render(run: Summary, plan_text: str, when: str = "") -> str:
    """Return the page as HTML text."""
    from plotly.offline import get_plotlyjs

    rooms = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rooms.policies["json.dumps_kwargs"] = {"sort_keys": False}  # the first choice of a chart is the one shown
    drawn, found = charts(run), run.corrupted
    scripts = [get_plotlyjs(), rooms.get_template("script.html").render()] if drawn else []
    return rooms.get_template("page.html").render(
        run=run,
        cards=cards(run),
        experiment=experiment(found.corruption, len(found.clients), found.of_clients) if found else "",
        facts=facts(run),
        headings=HEADINGS,
        rows=[(arm, cells(arm)) for arm in run.arms],
        charts=drawn,
        votes=section(run.votes) if run.votes else None,
        audits=[(audit, grids(audit)) for audit in latest(run.audits)],
        scripts=[Markup(script) for script in scripts],  # ours and plotly's, never from a run
        rules=_rules(scripts),
        plan=plan_text,
        when=when,
    )


def _rules(scripts: list[str]) -> str:
    """Return the content security policy: nothing is loaded, and only these very scripts run."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts)
    # Charts set styles on their elements, which the policy can only allow wholesale.
    return f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; style-src 'unsafe-inline'; img-src data: blob:"


def _plan_text(folder: Path, run: Summary) -> str:
    path = folder / "plan.toml"
    return path.read_text(encoding="utf-8") if path.exists() else json.dumps(run.plan, indent=2, ensure_ascii=False)
