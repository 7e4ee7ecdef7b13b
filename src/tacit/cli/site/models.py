"""tacit site models: the models that a site received from the runs it took part in."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.cli import tables
from tacit.cli.folders import (
    find_last_change,
    format_result,
    list_run_folders,
    summarise_listed_run,
)
from tacit.cli.options import AsJson, SiteFolder
from tacit.errors import RunError, TacitError

CARD = "README.md"


def models(
    folder: SiteFolder,
    as_json: AsJson = False,
) -> None:
    """List the models that a site received, oldest first.

    Each is a folder DIR/models/RUN, which `tacit predict`, `tacit export`,
    `tacit runs privacy` and `tacit runs verify` read like the folder of a run.

    \b
    Examples:
      tacit site models hospital-a
      tacit predict hospital-a/models/newsgroups-3-1f2e3d4c new.csv
    """
    from tacit.deployment.site.models.received_model import MODELS
    from tacit.deployment.site.site_folder import read_site_settings

    read_site_settings(folder)
    found = [_describe(one) for one in list_run_folders(folder / MODELS)]
    if as_json:
        tables.print_json("models/1", {"models": found})
    elif not found:
        tables.say(f"{folder}: no model yet; a run delivers its model when it ends")
    else:
        headings = ("run", "received", "plan", "result", "privacy", "sha256")
        rows = [tuple(str(one[heading]) for heading in headings) for one in found]
        tables.table(
            [*headings[:-1], "SHA-256"],
            [(*row[:-1], row[-1][:16]) for row in rows],
            prose=range(len(headings)),
        )


def _describe(folder: Path) -> dict[str, Any]:
    when = datetime.fromtimestamp(find_last_change(folder)).astimezone()
    facts = {"run": folder.name, "folder": str(folder), "received": f"{when:%Y-%m-%d %H:%M}"}
    try:
        run = summarise_listed_run(folder)
    except RunError:
        return {**facts, "plan": "", "result": "damaged record", "privacy": "", "sha256": ""}
    own = run.arm("run")
    return {
        **facts,
        "plan": run.plan.get("name", ""),
        "result": format_result(run),
        "privacy": own.privacy if own else "",
        "sha256": _read_hash(folder),
    }


def _read_hash(folder: Path) -> str:
    """SHA-256 of the model file as the record states it."""
    from tacit.runs import record, run_folder

    stored = record.select_entries(list(run_folder.entries(folder)), record.Stored)
    return stored[-1].sha256.get(run_folder.MODEL, "") if stored else ""


def write_card(folder: Path) -> None:
    """Write the model card into the folder of a received model; without one the model is usable
    all the same.
    """
    from tacit.api import Run
    from tacit.files import replace_file

    try:
        replace_file(folder / CARD, Run(folder).render_card().encode())
    except (TacitError, OSError) as error:
        tables.line(f"{folder}: the model has no card ({error})", stderr=True)
