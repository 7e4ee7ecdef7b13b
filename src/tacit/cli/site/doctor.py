"""tacit site doctor: check the machine of a site, and suggest remedies."""

from __future__ import annotations

from tacit.cli.findings import Quick, report_findings
from tacit.cli.options import AsJson, SiteFolder


def doctor(folder: SiteFolder, quick: Quick = False, as_json: AsJson = False) -> None:
    """Check a site and its server, and suggest a remedy for each problem.

    It checks versions, disk, clock, certificate, permissions of secret files,
    policy, rows, every entry of the ledger, and whether the server responds.
    It changes nothing. Exit code 1 if there is a problem; warnings do not
    count. With --quick it is a problem if no process acts for the site.

    \b
    Examples:
      tacit site doctor hospital-a
      tacit site doctor hospital-a --quick
      tacit site doctor hospital-a --json
    """
    from tacit.deployment.doctor import diagnose_machine, diagnose_site, diagnose_site_quickly

    if quick:
        report_findings((("site", one) for one in diagnose_site_quickly(folder)), as_json=as_json)
        return
    found = [("machine", one) for one in diagnose_machine()]
    found += [("site", one) for one in diagnose_site(folder)]
    report_findings(found, as_json=as_json)
