"""Options and arguments that several commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PlanFile = Annotated[
    Path,
    typer.Argument(
        metavar="PLAN", help="The plan, a TOML file; `tacit init` writes one.", show_default=False
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--set",
        metavar="TABLE.KEY=VALUE",
        help="Change one setting of the plan, or take it away with VALUE none; may be repeated.",
    ),
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's name as `tacit runs` lists it, or its folder.",
        show_default=False,
    ),
]
RunNames = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN RUN…", help="Two runs or more, by name or folder.", show_default=False
    ),
]
Runs = Annotated[
    Path, typer.Option("--runs", metavar="DIR", help="The folder that holds the runs.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="What you allow, a TOML file; exit code 3 if the plan goes beyond.",
    ),
]
Shuffle = Annotated[
    int | None,
    typer.Option(
        "--shuffle",
        metavar="N",
        min=2,
        help="Also say what a shuffler of N messages a round would be worth.",
    ),
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Run the code of a Python class that the folder names; only for folders you trust.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report page.")]

RUNS = Path("runs")
