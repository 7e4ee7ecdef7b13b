"""tacit site peers, confirm, rekey: the keys of a site and of the other sites."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, SiteFolder


def peers(folder: SiteFolder, as_json: AsJson = False) -> None:
    """Show the fingerprints of this site and of the other sites.

    The others are those that the server admits. Sites that take part in
    secure aggregation must know each other's keys.
    The list comes from the server, so it proves nothing: call the owner of
    each site, compare all digits, and confirm with `tacit site confirm`.

    \b
    Examples:
      tacit site peers hospital-a
    """
    from msgspec import to_builtins

    from tacit.deployment.provisioning.admission import describe_fingerprint
    from tacit.deployment.provisioning.enrolment import read_fingerprint
    from tacit.deployment.provisioning.peers import list_peers
    from tacit.deployment.site.site_folder import read_site_settings

    name, own = read_site_settings(folder).name, read_fingerprint(folder)
    if not as_json:
        tables.line(describe_fingerprint(f"this site, {name}", own))
    found = list_peers(folder)
    if as_json:
        tables.print_json(
            "peers/1", {"name": name, "fingerprint": own, "peers": to_builtins(found)}
        )
        return
    for peer in found:
        notes = {
            "confirmed": "confirmed",
            "not confirmed": "not confirmed",
            "changed": "NOT the key that you confirmed; call its owner",
        }
        tables.line(describe_fingerprint(f"{peer.name}, {notes[peer.state]}", peer.fingerprint))
    if not found:
        tables.line("the server admits no other site yet", stderr=True)


def confirm(
    folder: SiteFolder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The other site's name.")],
    fingerprint: Annotated[
        list[str],
        typer.Argument(
            metavar="FINGERPRINT",
            help="All 64 digits, as the owner of that site reads them; blanks do not matter.",
        ),
    ],
) -> None:
    """Confirm the signing key of another site by its fingerprint.

    The server offers the key; the fingerprint must come from the other
    site's owner. The key is written to [peers] in site.toml only if they
    agree.

    \b
    Examples:
      tacit site confirm hospital-a hospital-b "3f2a 91bc …"
    """
    from tacit.deployment.provisioning.fingerprint import parse_fingerprint
    from tacit.deployment.provisioning.peers import confirm_peer

    confirm_peer(folder, name, parse_fingerprint("".join(fingerprint)))
    tables.line(f"site {name} is confirmed; its key is in [peers] of {folder / 'site.toml'}")


def rekey(folder: SiteFolder) -> None:
    """Give a site new keys. Rows, policy and ledger stay.

    Use it if a key may have been read by others. Stop the site first, and
    send the .request file to the server's operator; the old keys are revoked
    when it is admitted. Other owners confirm the new fingerprint.

    \b
    Examples:
      tacit site rekey hospital-a
    """
    from tacit.deployment.provisioning.admission import describe_fingerprint
    from tacit.deployment.provisioning.enrolment import read_fingerprint, replace_keys

    request = replace_keys(folder)
    tables.line(f"{folder}: new keys; send {request} to the server's operator")
    tables.line(describe_fingerprint("this site from now on", read_fingerprint(folder)))
