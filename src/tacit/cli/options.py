"""Options and arguments that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import PlanError

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
        help="Override one setting of the plan; VALUE none removes it. May be repeated.",
    ),
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Name of a run, as `tacit runs` lists it, or its folder.",
        show_default=False,
    ),
]
RunNames = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN RUN…", help="Two or more runs, by name or folder.", show_default=False
    ),
]
Runs = Annotated[
    Path, typer.Option("--runs", metavar="DIR", help="The folder that contains the runs.")
]
LogJson = Annotated[
    bool,
    typer.Option("--log-json", help="Log JSON objects, one per line; also by TACIT_LOG=json."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Maximum number of runs at the same time; by default one per core.",
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A policy (TOML file) to enforce; exit code 3 if it does not allow the plan.",
    ),
]
Shuffle = Annotated[
    int | None,
    typer.Option(
        "--shuffle",
        metavar="N",
        min=2,
        help="Also estimate epsilon if a shuffler mixed N messages in each round.",
    ),
]
Pieces = Annotated[
    bool,
    typer.Option(
        "--pieces",
        help="With --shuffle: each parameter is a message of its own (LDP-FL).",
    ),
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Allow Python classes named by the run's plan to run. Only for folders you trust.",
    ),
]
SiteFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The site's folder.", show_default=False)
]
ServerFolder = Annotated[Path, typer.Argument(metavar="[DIR]", help="The server's folder.")]
ReachedServer = Annotated[
    Path,
    typer.Argument(
        metavar="[DIR]", help="The server's folder, or your folder of access to a server elsewhere."
    ),
]
FolderOption = Annotated[
    Path,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="The server's folder, or your folder of access to a server elsewhere.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Seeds = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        metavar="S,S",
        help="Repeat with each of these seeds, instead of the usual ones.",
        show_default=False,
    ),
]
Page = Annotated[
    Path, typer.Option("--page", metavar="FILE", help="Where to write the page of results.")
]
PageOrNone = Annotated[
    Path | None,
    typer.Option(
        "--page", metavar="FILE", help="Also write a page of results.", show_default=False
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="The encoding of your file, such as cp1252.",
        show_default=False,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of your file contains column names.",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Show at most N rows.")]
Deadline = Annotated[
    float,
    typer.Option(
        "--deadline", metavar="SECONDS", help="Wait this long for the other side's response."
    ),
]
Log = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        metavar="KIND:PLACE",
        help="Also log figures to tensorboard:DIR, mlflow:DIR or URI, or wandb:DIR. May be repeated.",
    ),
]
LogOrPlan = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        metavar="KIND:PLACE",
        help="As --log of tacit run; `plan` uses the [track] table of the run's plan.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Compute on a Ray cluster: local:N, auto or HOST:PORT.",
    ),
]
ClusterOrNone = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="As --cluster of tacit run; `none` continues on this machine.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write a report page.")]

RUNS = Path("runs")
SERVER = Path("server")


def count_jobs(wanted: int | None) -> int:
    """The value of `--jobs`, or the number of cores if it was not given."""
    if wanted is not None and wanted < 1:
        raise PlanError(f"--jobs must be at least 1, got {wanted}; omit it for one run per core")
    return wanted or len(os.sched_getaffinity(0))


PageHost = Annotated[
    str,
    typer.Option(
        "--host", help="Address of the pages; beyond loopback they require TLS and a password."
    ),
]
PagePort = Annotated[int, typer.Option("--port", help="Port of the pages; 0 chooses a free one.")]
PageName = Annotated[
    list[str] | None,
    typer.Option(
        "--name", metavar="HOST", help="A host name by which browsers reach the pages; repeatable."
    ),
]
PageCertificate = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate for TLS (PEM).")
]
PageKey = Annotated[
    Path | None,
    typer.Option("--tls-key", metavar="FILE", help="Private key of the certificate (PEM)."),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        metavar="FILE",
        help="A file with the password of the pages, readable by you alone.",
    ),
]
Metrics = Annotated[
    bool,
    typer.Option("--metrics", help="Also serve /metrics for Prometheus (extra tacit[metrics])."),
]
