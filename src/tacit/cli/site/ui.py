"""tacit site ui: pages for the owner of a site."""

from __future__ import annotations

from tacit.cli import tables
from tacit.cli.options import (
    Metrics,
    PageCertificate,
    PageHost,
    PageKey,
    PageName,
    PagePort,
    PasswordFile,
    SiteFolder,
)


def ui(
    folder: SiteFolder,
    host: PageHost = "127.0.0.1",
    port: PagePort = 0,
    name: PageName = None,
    tls_cert: PageCertificate = None,
    tls_key: PageKey = None,
    password_file: PasswordFile = None,
    metrics: Metrics = False,
) -> None:
    """Show a site in the browser: who asks, what leaves, what was spent, what is left, how to stop.

    The owner approves or refuses runs, edits the policy and verifies the
    ledger. Every button shows its command. It works while `tacit site
    join` runs. The terminal shows a link that works once. Beyond this
    machine, the pages require TLS and a password.

    \b
    Examples:
      tacit site ui hospital-a
      tacit site ui hospital-a --port 8701 --metrics
      tacit site ui hospital-a --host 0.0.0.0 --name data.example.org \\
        --tls-cert cert.pem --tls-key key.pem --password-file password
    """
    from tacit.ui.access.addresses import choose_address
    from tacit.ui.serve import serve_pages
    from tacit.ui.site.pages import build_site_pages

    address = choose_address(
        host, port, names=name or [], certificate=tls_cert, key=tls_key, password_file=password_file
    )
    serve_pages(build_site_pages(folder, metrics=metrics), address, tables.line)
