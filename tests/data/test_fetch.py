from __future__ import annotations

import hashlib
import importlib
import os
import threading
from pathlib import Path

import pytest

from tacit.data.download.fetch import fetch
from tacit.errors import DataError
from tests.data.server import Manners, serving

CONTENT = bytes(range(256)) * 4096
fetch_module = importlib.import_module(
    "tacit.data.download.fetch"
)  # the room exports its function under the same name
SUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def bring(manners: Manners, target: Path, checksum: str = SUM, tries: int = 1) -> Path:
    return fetch(manners.url, target, checksum=checksum, tries=tries, pause_seconds=0)


def test_whole_file_with_progress(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    with serving(Manners(CONTENT)) as web:
        path = fetch(
            web.url, tmp_path / "deep" / "f", checksum=SUM, progress=lambda *step: seen.append(step)
        )
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    assert [item.name for item in path.parent.iterdir()] == ["f"]


def test_md5_is_understood(tmp_path: Path) -> None:
    with serving(Manners(CONTENT)) as web:
        bring(web, tmp_path / "f", f"md5:{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}")


def test_a_file_already_there_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    with serving(Manners(CONTENT)) as web:
        bring(web, tmp_path / "f")
    assert web.asked == []


@pytest.mark.parametrize("ranges", [True, False])
def test_server_dying_midway_is_resumed_or_begun_again(tmp_path: Path, ranges: bool) -> None:
    with serving(Manners(CONTENT, ranges=ranges, die_after=[300_000, 200_000])) as web:
        assert bring(web, tmp_path / "f", tries=3).read_bytes() == CONTENT
    # Each new request asks for what follows the bytes at hand; a server without ranges sends all of it again.
    assert web.asked == [None, "bytes=300000-", "bytes=500000-" if ranges else "bytes=200000-"]


def test_truncated_body_leaves_only_a_part_that_the_next_call_continues(tmp_path: Path) -> None:
    with serving(Manners(CONTENT, die_after=[1000])) as web:
        with pytest.raises(DataError, match=r"only 1,000 bytes arrived .* run it again"):
            bring(web, tmp_path / "f")
        assert [item.name for item in tmp_path.iterdir()] == ["f.part"]
        assert bring(web, tmp_path / "f").read_bytes() == CONTENT
    assert web.asked[-1] == "bytes=1000-"


def test_wrong_checksum_is_refused_and_removed(tmp_path: Path) -> None:
    wrong = f"sha256:{'0' * 64}"
    with (
        serving(Manners(CONTENT)) as web,
        pytest.raises(DataError, match=f"{SUM}, expected {wrong}"),
    ):
        bring(web, tmp_path / "f", wrong)
    assert list(tmp_path.iterdir()) == []


def test_stale_part_of_another_file_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(b"x" * 5000)
    with serving(Manners(CONTENT)) as web:
        assert bring(web, tmp_path / "f", tries=2).read_bytes() == CONTENT
    assert web.asked == ["bytes=5000-", None]


@pytest.mark.parametrize("part", [CONTENT, CONTENT + b"too long"])
def test_part_as_long_as_the_file(tmp_path: Path, part: bytes) -> None:
    (tmp_path / "f.part").write_bytes(part)
    with serving(Manners(CONTENT)) as web:
        assert bring(web, tmp_path / "f", tries=2).read_bytes() == CONTENT


def test_a_missing_page_is_not_asked_for_again(tmp_path: Path) -> None:
    with serving(Manners(CONTENT, status=404)) as web, pytest.raises(DataError, match="404"):
        bring(web, tmp_path / "f", tries=3)
    assert len(web.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_nobody_there(tmp_path: Path) -> None:
    with serving(Manners(CONTENT)) as web:
        pass
    with pytest.raises(DataError, match="check the network"):
        bring(web, tmp_path / "f", tries=2)
    assert list(tmp_path.iterdir()) == []


def test_interrupt_leaves_nothing_that_looks_like_the_file(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with serving(Manners(CONTENT)) as web:
        with pytest.raises(KeyboardInterrupt):
            fetch(web.url, tmp_path / "f", checksum=SUM, progress=stop)
        assert not (tmp_path / "f").exists()
        assert bring(web, tmp_path / "f", tries=2).read_bytes() == CONTENT


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def one(web: Manners) -> None:
        try:
            assert bring(web, tmp_path / "f").read_bytes() == CONTENT
        except BaseException as error:
            failures.append(error)

    with serving(Manners(CONTENT)) as web:
        threads = [threading.Thread(target=one, args=(web,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    assert len(web.asked) == 1


def test_a_file_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, reads = tmp_path / "table", []
    read = fetch_module.compute_digest
    monkeypatch.setattr(
        fetch_module, "compute_digest", lambda path, like: reads.append(path) or read(path, like)
    )
    file.write_bytes(b"rows")
    checksum = read(file, "sha256:")
    assert all(fetch_module.matches_checksum(file, checksum) for _ in range(2))
    assert len(reads) == 2, "it was written just now: a change in the same tick would not show"
    long_ago = file.stat().st_mtime - 60
    os.utime(file, (long_ago, long_ago))
    assert all(fetch_module.matches_checksum(file, checksum) for _ in range(3))
    assert len(reads) == 3
    file.write_bytes(b"ROWS")
    assert not fetch_module.matches_checksum(file, checksum)
