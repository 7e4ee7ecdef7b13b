"""tacit server ui: pages for the operator of a server."""

from __future__ import annotations

from tacit.cli import tables
from tacit.cli.options import (
    RUNS,
    SERVER,
    Metrics,
    PageCertificate,
    PageHost,
    PageKey,
    PageName,
    PagePort,
    PasswordFile,
    ReachedServer,
    Runs,
)


def ui(
    folder: ReachedServer = SERVER,
    runs: Runs = RUNS,
    host: PageHost = "127.0.0.1",
    port: PagePort = 0,
    name: PageName = None,
    tls_cert: PageCertificate = None,
    tls_key: PageKey = None,
    password_file: PasswordFile = None,
    metrics: Metrics = False,
) -> None:
    """Show a server in the browser: sites online, deployments, rounds, stragglers, refusals.

    It reads what `tacit server sites`, `runs` and `record` read, and the
    records of deployments below runs/. It changes nothing. The terminal shows
    a link that works once. Beyond this machine, the pages require TLS and a
    password.

    \b
    Examples:
      tacit server ui
      tacit server ui udo --runs runs
      tacit server ui --port 8702 --metrics
    """
    from tacit.ui.access.addresses import choose_address
    from tacit.ui.serve import serve_pages
    from tacit.ui.server.pages import build_server_pages

    address = choose_address(
        host, port, names=name or [], certificate=tls_cert, key=tls_key, password_file=password_file
    )
    serve_pages(build_server_pages(folder, runs, metrics=metrics), address, tables.line)
