"""tacit ui: a local web page over the runs folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import (
    RUNS,
    PageCertificate,
    PageHost,
    PageKey,
    PageName,
    PagePort,
    PasswordFile,
    Runs,
)

Plans = Annotated[
    Path | None,
    typer.Option(
        "--plans",
        metavar="DIR",
        help="A folder with plan files that the page may start; by default none.",
    ),
]


def ui(
    runs: Runs = RUNS,
    plans: Plans = None,
    host: PageHost = "127.0.0.1",
    port: PagePort = 0,
    name: PageName = None,
    tls_cert: PageCertificate = None,
    tls_key: PageKey = None,
    password_file: PasswordFile = None,
) -> None:
    """Show runs in the browser, live, until it is stopped.

    It reads the records below runs/ and can be started and stopped at any
    time; a run is neither locked nor slowed down. The terminal shows a link
    that works once. Beyond this machine, the pages require TLS and a password.

    \b
    Examples:
      tacit ui
      tacit ui --runs elsewhere/runs --plans examples
      tacit ui --host 0.0.0.0 --name lab.example.org \\
        --tls-cert cert.pem --tls-key key.pem --password-file password
    """
    from tacit.ui.access.addresses import choose_address
    from tacit.ui.runs.pages import build_runs_pages
    from tacit.ui.serve import serve_pages

    address = choose_address(
        host, port, names=name or [], certificate=tls_cert, key=tls_key, password_file=password_file
    )
    serve_pages(build_runs_pages(runs, plans), address, tables.line)
