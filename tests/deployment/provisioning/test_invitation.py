"""An invitation from an attacker is refused with one sentence; a good one names its server by one fingerprint."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.enrolment import open_invitation
from tacit.deployment.provisioning.signed_files import LARGEST_FILE
from tacit.deployment.transport.certificates import make_authority
from tacit.errors import PeerError, PlanError
from tests.deployment.provisioning.parties import ADDRESS, change, invite_to, make_server


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return make_server(tmp_path / "server")


def test_both_sides_see_the_same_fingerprint(server: Path) -> None:
    opened = open_invitation(invite_to(server, "hospital-a"))
    assert opened.fingerprint == admission.load_identity(server, tls=True).fingerprint
    content = opened.invitation.content
    assert (content.site, content.server) == ("hospital-a", ADDRESS)
    assert content.authority == (server / "ca.crt").read_text()
    again = open_invitation(invite_to(server, "hospital-b"))
    assert again.fingerprint == opened.fingerprint
    assert again.invitation.content.token != content.token


def test_another_server_has_another_fingerprint(server: Path, tmp_path: Path) -> None:
    """An attacker's invitation is in order by itself: only the comparison by people tells it apart."""
    other = make_server(tmp_path / "evil" / "server")
    forged = open_invitation(invite_to(other, "hospital-a"))
    assert forged.fingerprint != open_invitation(invite_to(server, "hospital-a")).fingerprint


def test_another_authority_of_the_same_server_has_another_fingerprint(server: Path) -> None:
    before = open_invitation(invite_to(server, "hospital-a")).fingerprint
    for name in ("ca.crt", "ca.key"):
        (server / name).unlink()
    make_authority(server)
    assert open_invitation(invite_to(server, "hospital-a")).fingerprint != before


def put(key: str, value: Any) -> Any:
    return lambda tree: tree["content"].update({key: value})


ATTACKS = {
    "another address": (put("server", "evil.example:8443"), "was changed after the server signed"),
    "another name": (put("site", "hospital-b"), "was changed after the server signed"),
    "a longer life": (put("expires", 2**39), "was changed after the server signed"),
    "another authority": (put("authority", "-----BEGIN"), "was changed after the server signed"),
    "no authority": (put("authority", None), "was changed after the server signed"),
    "a swapped key": (put("server_key", "ab" * 32), "was changed after the server signed"),
    "a path for a name": (put("site", "../../etc/cron.d/x"), "not an invitation"),
    "a name with a line end": (put("site", "hospital-a\n"), "not an invitation"),
    "a hidden name": (put("site", ".ssh"), "not an invitation"),
    "a name of a thousand letters": (put("site", "a" * 1000), "not an invitation"),
    "an address of a thousand letters": (put("server", "a" * 1000), "not an invitation"),
    "an unknown key": (put("run", "rm -rf"), "not an invitation"),
    "a later format": (lambda tree: tree.update(format=2), "or update Tacit"),
    "a request": (lambda tree: tree.update(tacit="request"), "not an invitation"),
    "no signature": (lambda tree: tree.update(signature=""), "not an invitation"),
    "another's signature": (lambda tree: tree.update(signature="00" * 64), "was changed after"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_changed_invitation_is_refused(server: Path, name: str) -> None:
    edit, sentence = ATTACKS[name]
    path = change(invite_to(server, "hospital-a"), edit)
    with pytest.raises(PeerError, match=sentence) as error:
        open_invitation(path)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 60_000, b'"a"', b"{}"])
def test_a_file_that_is_no_invitation(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.invite"
    path.write_bytes(content)
    with pytest.raises(PeerError, match="not an invitation"):
        open_invitation(path)


def test_a_huge_file_is_not_read(server: Path) -> None:
    path = invite_to(server, "hospital-a")
    path.write_bytes(path.read_bytes() + b" " * LARGEST_FILE)
    with pytest.raises(PeerError, match="more than 65,536 bytes"):
        open_invitation(path)
    with pytest.raises(PeerError, match="cannot be read"):
        open_invitation(path.with_name("absent"))


def test_an_expired_invitation(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = invite_to(server, "hospital-a", days=2), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3 * 86_400)
    with pytest.raises(PeerError, match="the invitation ended on"):
        open_invitation(path)


def test_without_tls_only_this_machine(tmp_path: Path) -> None:
    server = make_server(tmp_path / "server", tls=False)
    with pytest.raises(PeerError, match="has no certificate"):
        open_invitation(invite_to(server, "hospital-a"))


@pytest.mark.parametrize("name", ["", "..", "a/b", "-a", "a" * 65, "a b", "ä"])
def test_names_that_nobody_is_invited_under(server: Path, name: str) -> None:
    with pytest.raises(PlanError, match="a name must have"):
        admission.invite(server, name, ADDRESS, 1)
