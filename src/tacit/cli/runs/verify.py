"""tacit runs verify: check the integrity of a run's files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.folders import locate_run
from tacit.cli.options import RUNS, AsJson, RunName, Runs
from tacit.errors import RunError


def verify(
    run: RunName,
    key: Annotated[
        str,
        typer.Option(
            "--key", metavar="HEX", help="The public key that must have signed the record."
        ),
    ] = "",
    head: Annotated[
        str,
        typer.Option(
            "--head", metavar="HEX", help="A hash the record must contain, as a site received it."
        ),
    ] = "",
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Check the integrity of a run's record, plan, checkpoint and model.

    RUN is a name that `tacit runs` lists, or a folder.
    Files that were edited, truncated or replaced are named, and the exit
    code is 6. The record must be signed and contain a release for every
    round with clients. The signing key is stored in the record, so only
    --key or --head from another source detects a forged folder:
    `tacit site status` prints both at every participating site.

    \b
    Examples:
      tacit runs verify newsgroups-3
      tacit runs verify newsgroups-3 --json
      tacit runs verify newsgroups-3 --key 5b0c… --head 91aa…
    """
    from tacit.runs.verify import verify_files

    folder = locate_run(run, runs)
    found = verify_files(folder, key=key.lower(), head=head.lower())
    broken = [one for one in found if one.state == "not intact"]
    if as_json:
        tables.print_json(
            "verification/1",
            {"run": folder.name, "intact": not broken, "files": [asdict(one) for one in found]},
        )
    else:
        tables.table(
            ("file", "state", "reason"),
            [(one.file, one.state, one.why) for one in found],
            prose=range(3),
        )
    if broken:
        raise RunError(
            f"{folder} is not intact: {', '.join(dict.fromkeys(one.file for one in broken))}; do"
            " not rely on this run"
        )
