"""tacit verify: whether a run's folder is as it was written."""

from __future__ import annotations

from dataclasses import asdict

from tacit.cli import tables
from tacit.cli.folders import folder_of
from tacit.cli.options import RUNS, AsJson, RunName, Runs
from tacit.errors import RunError


def verify(run: RunName, runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Check that a run's record, plan, checkpoint and model are as they were written.

    RUN is a name that `tacit runs` lists, or a folder.
    Files that were edited, cut short or swapped are named; exit code 6 then.
    Checksums have no key, so this finds accidents and careless edits, not
    somebody who writes a whole folder anew. The report is made from the record.

    \b
    Examples:
      tacit verify newsgroups-3
      tacit verify newsgroups-3 --json
    """
    from tacit.engine.verify import verified

    folder = folder_of(run, runs)
    found = verified(folder)
    broken = [one for one in found if one.state == "not intact"]
    if as_json:
        tables.print_json({"run": folder.name, "intact": not broken, "files": [asdict(one) for one in found]})
    else:
        tables.table(("file", "state", "because"), [(one.file, one.state, one.why) for one in found], prose=range(3))
    if broken:
        raise RunError(f"{folder}: is not intact: {', '.join(dict.fromkeys(one.file for one in broken))}; do not rely on this run")
