"""A request for admission: taken once, for the invited name, with keys that its sender holds."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from tacit.deployment.provisioning.admission import admit, examine_request
from tacit.deployment.provisioning.enrolment import (
    read_fingerprint,
    replace_keys,
    write_request,
)
from tacit.deployment.provisioning.signed_files import LARGEST_FILE
from tacit.deployment.transport.server.registry import (
    read_registry,
    read_sites,
    restore,
    revoke,
)
from tacit.errors import PeerError
from tests.deployment.provisioning.parties import (
    change,
    invite_to,
    make_server,
    make_site,
    replace_flower,
)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return replace_flower(monkeypatch)


@pytest.fixture
def server(tmp_path: Path, refused: list[str]) -> Path:
    return make_server(tmp_path / "server")


def admit_site(server: Path, name: str = "hospital-a") -> tuple[Path, Path]:
    folder, request = make_site(invite_to(server, name))
    admit(server, examine_request(server, request)[0])
    return folder, request


def refuse(server: Path, request: Path, sentence: str) -> None:
    with pytest.raises(PeerError, match=sentence) as error:
        examine_request(server, request)
    assert len(str(error.value).splitlines()) == 1


def test_an_invited_site_is_admitted_by_one_file(server: Path) -> None:
    folder, request = make_site(invite_to(server, "hospital-a"))
    found, fingerprint = examine_request(server, request)
    assert fingerprint == read_fingerprint(folder)
    assert read_sites(server) == {}, "a person compares first"
    admit(server, found)
    assert read_sites(server)["hospital-a"]["signing_key"] == found.content.keys.signing_key


def test_a_token_admits_once(server: Path) -> None:
    folder, request = admit_site(server)
    refuse(server, request, "was admitted with these keys before")
    token = json.loads(request.read_bytes())["content"]["token"]
    replace_keys(folder)  # other keys, the token that was used
    refuse(server, write_request(folder, token), "no open invitation for that name")


def test_a_token_is_for_one_name(server: Path, tmp_path: Path) -> None:
    invite_to(server, "hospital-b")
    _, request = make_site(invite_to(server, "hospital-a"))
    token = json.loads(request.read_bytes())["content"]["token"]
    other, _ = make_site(invite_to(server, "hospital-b"), tmp_path / "other")
    refuse(server, write_request(other, token), "not that of the last invitation")


def test_an_invitation_replaces_the_one_before(server: Path) -> None:
    _, request = make_site(invite_to(server, "hospital-a"))
    invite_to(server, "hospital-a")
    refuse(server, request, "not that of the last invitation")


def test_nobody_is_admitted_uninvited(server: Path) -> None:
    folder, _ = make_site(invite_to(server, "hospital-a"))
    refuse(server, write_request(folder, None), "not that of the last invitation")
    (server / "invitations.json").unlink()
    refuse(server, write_request(folder, "ab" * 32), "no open invitation")


def test_an_old_invitation(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, request = make_site(invite_to(server, "hospital-a", days=1))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)
    refuse(server, request, "its invitation ended on")


def test_keys_of_somebody_else(server: Path, tmp_path: Path) -> None:
    """Public keys are public: without their private halves a request is refused."""
    _, good = make_site(invite_to(server, "hospital-a"))
    _, other = make_site(invite_to(server, "hospital-b"))
    keys = json.loads(other.read_bytes())["content"]["keys"]
    for name in ("node_key", "signing_key"):
        path = tmp_path / f"{name}.request"
        path.write_bytes(good.read_bytes())
        change(path, lambda tree, name=name: tree["content"]["keys"].update({name: keys[name]}))
        refuse(server, path, "not signed with the keys in it")


def test_a_key_of_the_wrong_kind(server: Path) -> None:
    _, request = make_site(invite_to(server, "hospital-a"))
    line = "ecdsa-sha2-nistp384 AAAAC3NzaC1lZDI1NTE5AAAA"
    change(request, lambda tree: tree["content"]["keys"].update(node_key=line))
    refuse(server, request, "not signed with the keys in it")
    change(request, lambda tree: tree["content"]["keys"].update(node_key=f"{line}\nssh-rsa AAAA"))
    refuse(server, request, "not a request for admission")


@pytest.mark.parametrize("name", ["../x", "a\n", ".x", "a" * 99])
def test_a_path_for_a_name(server: Path, name: str) -> None:
    _, request = make_site(invite_to(server, "hospital-a"))
    change(request, lambda tree: tree["content"].update(site=name))
    refuse(server, request, "not a request for admission")


def test_an_oversized_request_and_an_invitation_in_its_place(server: Path) -> None:
    invitation = invite_to(server, "hospital-a")
    _, request = make_site(invitation)
    request.write_bytes(request.read_bytes() + b" " * LARGEST_FILE)
    refuse(server, request, "more than 65,536 bytes")
    refuse(server, invitation, "not a request for admission")
    refuse(server, request.with_name("absent"), "cannot be read")


def test_a_site_without_an_invitation_joins_a_server_without_tls(
    tmp_path: Path, server: Path, refused: list[str]
) -> None:
    folder, _ = make_site(invite_to(server, "trial"))
    plain = make_server(tmp_path / "plain", tls=False)
    admit(plain, examine_request(plain, write_request(folder, None))[0])
    assert set(read_sites(plain)) == {"trial"}


def test_revoked_and_restored(server: Path) -> None:
    _, request = admit_site(server)
    revoke(server, "hospital-a")
    assert read_sites(server) == {}
    assert "revoked" in read_registry(server)["hospital-a"]
    refuse(server, request, "`tacit server restore hospital-a` undoes that")
    restore(server, "hospital-a")
    assert set(read_sites(server)) == {"hospital-a"}
    with pytest.raises(PeerError, match="is not revoked"):
        restore(server, "hospital-a")
    with pytest.raises(PeerError, match="Did you mean 'hospital-a'"):
        revoke(server, "hospital-e")


def test_new_keys_take_the_place_of_the_old_ones(server: Path, refused: list[str]) -> None:
    folder, first = admit_site(server)
    old = read_sites(server)["hospital-a"]
    kept = first.with_suffix(".kept")
    kept.write_bytes(first.read_bytes())
    request = replace_keys(folder)
    found, fingerprint = examine_request(server, request)
    assert fingerprint == read_fingerprint(folder)
    admit(server, found)
    assert read_sites(server)["hospital-a"]["public_key"] != old["public_key"]
    assert refused == [old["node_id"]], "Flower refuses the old key for good"
    refuse(server, request, "was admitted with these keys before")
    refuse(server, kept, "no open invitation")


def test_new_keys_need_the_old_ones(server: Path, tmp_path: Path) -> None:
    """An attacker with keys of his own cannot replace those of a site; nor can a site replace another's."""
    folder, _ = admit_site(server)
    admit_site(server, "hospital-b")
    evil, _ = make_site(invite_to(server, "hospital-c"), tmp_path / "evil")
    request = replace_keys(evil)
    refuse(server, request, "it replaces keys that this server does not admit now")
    honest = replace_keys(folder)
    replaces = json.loads(honest.read_bytes())["content"]["replaces"]
    forged = change(request, lambda tree: tree["content"].update(replaces=replaces))
    refuse(server, forged, "not signed with the keys in it")
    swapped = change(honest, lambda tree: tree["content"].update(site="hospital-b"))
    refuse(server, swapped, "not signed with the keys in it")


def test_an_old_request_for_new_keys_is_not_replayed(server: Path) -> None:
    folder, _ = admit_site(server)
    first = replace_keys(folder)
    stolen = first.with_suffix(".stolen")
    stolen.write_bytes(first.read_bytes())
    admit(server, examine_request(server, first)[0])
    admit(server, examine_request(server, replace_keys(folder))[0])
    refuse(server, stolen, "it replaces keys that this server does not admit now")


def test_a_revoked_site_comes_back_with_a_new_folder(server: Path, refused: list[str]) -> None:
    admit_site(server)
    with pytest.raises(PeerError, match="is already admitted"):
        invite_to(server, "hospital-a")
    revoke(server, "hospital-a")
    _, request = make_site(invite_to(server, "hospital-a"), server.parent / "anew")
    admit(server, examine_request(server, request)[0])
    assert set(read_sites(server)) == {"hospital-a"}
    assert len(refused) == 1


def test_a_damaged_list_of_invitations_is_named(server: Path) -> None:
    _, request = make_site(invite_to(server, "hospital-a"))
    (server / "invitations.json").write_text("{")
    refuse(server, request, "invitations.json cannot be read")
