"""New keys at a site, and the keys of other sites, which enter site.toml by their fingerprints only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from tacit.deployment.provisioning import enrolment, peers
from tacit.deployment.provisioning.enrolment import (
    read_fingerprint,
    read_public_keys,
    replace_keys,
)
from tacit.deployment.provisioning.fingerprint import (
    format_fingerprint,
    parse_fingerprint,
)
from tacit.deployment.provisioning.peers import confirm_peer, list_peers, write_peer
from tacit.deployment.site.rows.rows_register import RowsRegister
from tacit.deployment.site.site_folder import (
    SETTINGS,
    find_state_folder,
    load_node_key,
    open_witness,
    read_peers,
    read_site_settings,
)
from tacit.deployment.site_ledger.witness import site_id
from tacit.errors import PeerError, PlanError, RunError
from tacit.privacy.policy import Receipt
from tests.deployment.provisioning.parties import invite_to, make_server, make_site


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return make_server(tmp_path / "server")


@pytest.fixture
def site(server: Path) -> Path:
    return make_site(invite_to(server, "hospital-a"))[0]


def test_a_fingerprint_is_whole_and_can_be_read_aloud() -> None:
    digits = "0123456789abcdef" * 4
    assert format_fingerprint(digits) == " ".join(["0123", "4567", "89ab", "cdef"] * 4)
    assert parse_fingerprint(format_fingerprint(digits).upper()) == digits
    for partial in (digits[:-1], digits[:16], digits + "0", digits[:-1] + "g", ""):
        with pytest.raises(PlanError, match="64 hexadecimal digits"):
            parse_fingerprint(partial)


def test_a_fingerprint_covers_the_name_and_both_keys(site: Path, server: Path) -> None:
    before = read_fingerprint(site)
    text = (site / SETTINGS).read_text()
    (site / SETTINGS).write_text(text.replace('"hospital-a"', '"hospital-x"'))
    renamed = read_fingerprint(site)
    (site / SETTINGS).write_text(text)
    replace_keys(site)
    assert len({before, renamed, read_fingerprint(site)}) == 3


def test_new_keys_keep_the_witness_and_the_register_of_rows(site: Path) -> None:
    settings = read_site_settings(site)
    witness, old = open_witness(site, settings), site_id(load_node_key(site).public_key())
    witness.advance(Receipt(7, b"h" * 32))
    entry = RowsRegister(find_state_folder(site, settings)).find_entry(old)
    entry.parent.mkdir(parents=True)
    entry.write_text("{}")
    replace_keys(site)
    new = site_id(load_node_key(site).public_key())
    assert new != old
    assert open_witness(site, settings).receipt() == Receipt(7, b"h" * 32)
    assert not witness.file.exists()
    assert [path.stem for path in entry.parent.glob("*")] == [new]


@pytest.mark.parametrize("after", range(1, 5))
def test_a_crash_in_between_is_finished_by_the_next_call(
    site: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    settings = read_site_settings(site)
    open_witness(site, settings).advance(Receipt(7, b"h" * 32))
    before, moved, rename = read_public_keys(site), 0, Path.replace

    def fail(path: Path, target: Path) -> Path:
        nonlocal moved
        if path.parent.name == "new-keys":
            moved += 1
            if moved == after:
                raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        replace_keys(site)
    monkeypatch.setattr(Path, "replace", rename)
    request = json.loads(replace_keys(site).read_bytes())["content"]
    keys = read_public_keys(site)
    assert request["keys"] == {"node_key": keys.node_key, "signing_key": keys.signing_key}
    assert request["replaces"]["node_key"] == before.node_key
    assert open_witness(site, settings).receipt() == Receipt(7, b"h" * 32)
    assert not (site / "new-keys").exists()


def test_keys_in_use_are_not_replaced(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "runs" / "job-1").mkdir(parents=True)
    (site / "runs" / "job-1" / "root").write_bytes(b"k" * 32)
    with pytest.raises(RunError, match=r"are open here \(job-1\)"):
        replace_keys(site)
    monkeypatch.setattr(enrolment, "find_joined_process", lambda folder: 7)
    with pytest.raises(RunError, match="tacit site leave"):
        replace_keys(site)


def serve_roster(
    patch: pytest.MonkeyPatch, folders: list[Path], swapped: dict[str, Path] | None = None
) -> None:
    """Let the server send the keys of these sites, or those of another folder in the name of one."""
    roster = {}
    for folder in folders:
        keys = read_public_keys((swapped or {}).get(folder.name, folder))
        roster[read_site_settings(folder).name] = {
            "node_key": keys.node_key,
            "signing_key": keys.signing_key,
        }
    patch.setattr(peers, "fetch_roster", lambda *_: json.dumps(roster).encode())


def test_a_peer_is_confirmed_by_its_fingerprint(
    site: Path, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_site(invite_to(server, "hospital-b"))[0]
    serve_roster(monkeypatch, [site, other])
    (found,) = list_peers(site)
    assert (found.name, found.state) == ("hospital-b", "not confirmed")
    assert set(read_peers(site)) == {"hospital-a"}, "an offered key is not trusted"
    confirm_peer(site, "hospital-b", read_fingerprint(other))
    assert list_peers(site)[0].state == "confirmed"
    assert read_peers(site)["hospital-b"].hex() == read_public_keys(other).signing_key
    replace_keys(other)
    serve_roster(monkeypatch, [site, other])
    assert list_peers(site)[0].state == "changed"
    assert read_peers(site)["hospital-b"].hex() != read_public_keys(other).signing_key
    confirm_peer(site, "hospital-b", read_fingerprint(other))
    assert list_peers(site)[0].state == "confirmed"


def test_a_server_that_swaps_a_key_is_found_out(
    site: Path, server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_site(invite_to(server, "hospital-b"))[0]
    evil = make_site(invite_to(server, "hospital-b"), tmp_path / "evil")[0]
    serve_roster(monkeypatch, [site, other], {"hospital-b": evil})
    with pytest.raises(PeerError, match="hospital-b is not confirmed"):
        confirm_peer(site, "hospital-b", read_fingerprint(other))
    assert set(read_peers(site)) == {"hospital-a"}
    with pytest.raises(PeerError, match="no other site with the name 'hospital-c'"):
        confirm_peer(site, "hospital-c", read_fingerprint(other))


@pytest.mark.parametrize(
    "roster", [b"[]", b"\xff", b'{"../x": {}}', b'{"b": {"node_key": "x", "signing_key": "y"}}']
)
def test_a_malformed_roster(site: Path, monkeypatch: pytest.MonkeyPatch, roster: bytes) -> None:
    monkeypatch.setattr(peers, "fetch_roster", lambda *_: roster)
    with pytest.raises(PeerError, match="sent an unreadable roster"):
        list_peers(site)


def test_settings_keep_everything_else(site: Path) -> None:
    """The owner's comments and the keys of other peers stay; a line for the same peer is replaced."""
    path = site / SETTINGS
    path.write_text(path.read_text() + f"# checked on Monday\nhospital-b = '{'1' * 64}'\n")
    write_peer(site, "hospital-c", "2" * 64)
    write_peer(site, "hospital-b", "3" * 64)
    text = path.read_text()
    assert "# checked on Monday" in text
    assert read_site_settings(site).peers == {"hospital-b": "3" * 64, "hospital-c": "2" * 64}
    path.write_text(text.partition("[peers]")[0])
    write_peer(site, "hospital-b", "4" * 64)
    assert read_site_settings(site).peers == {"hospital-b": "4" * 64}
    path.write_text(text.partition("\n#")[0] + f"\npeers = {{hospital-b = '{'1' * 64}'}}\n")
    with pytest.raises(PlanError, match="by hand"):
        write_peer(site, "hospital-c", "2" * 64)
