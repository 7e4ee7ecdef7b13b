"""tacit server doctor: check the machine of a server, and suggest remedies."""

from __future__ import annotations

from tacit.cli.findings import Quick, report_findings
from tacit.cli.options import SERVER, AsJson, ReachedServer


def doctor(folder: ReachedServer = SERVER, quick: Quick = False, as_json: AsJson = False) -> None:
    """Check a server, and suggest a remedy for each problem.

    It checks versions, disk, clock, certificates, port, permissions of
    secret files, and which sites are online. It changes nothing. Exit code 1
    if there is a problem; warnings do not count. With --quick it is a problem
    if the server was never started. In a folder of access it checks the
    certificate, the proxy and the server's response.

    \b
    Examples:
      tacit server doctor
      tacit server doctor server --quick
      tacit server doctor server --json
    """
    from tacit.deployment.doctor import (
        diagnose_machine,
        diagnose_server,
        diagnose_server_quickly,
    )

    if quick:
        report_findings(
            (("server", one) for one in diagnose_server_quickly(folder)), as_json=as_json
        )
        return
    found = [("machine", one) for one in diagnose_machine()]
    if (folder / "access.toml").exists():
        from tacit.deployment.doctor.access import diagnose_access

        found += [("access", one) for one in diagnose_access(folder)]
    else:
        found += [("server", one) for one in diagnose_server(folder)]
    report_findings(found, as_json=as_json)
