from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tacit.data.download.packages import Package, unpack
from tacit.errors import DataError

BYTES = b"one\ttwo\n"
SUMS = {"a.tab": f"sha256:{hashlib.sha256(BYTES).hexdigest()}"}


def package(registry: Any, member: str = "inner/a.tab") -> Package:
    return Package(registry=registry, spec="thing==1.0", size=10, members={"a.tab": member})


@pytest.fixture(params=["pip", "npm"])
def registry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stand in for pip and npm: the command leaves an archive in the folder it runs in."""

    def run(command: list[str], cwd: Path, **_: object) -> None:
        assert "install" not in command
        if "pip" in command:
            assert "--no-deps" in command
            with zipfile.ZipFile(cwd / "thing-1.0.whl", "w") as wheel:
                wheel.writestr("inner/a.tab", BYTES)
        else:
            with tarfile.open(cwd / "thing-1.0.tgz", "w:gz") as tarred:
                info = tarfile.TarInfo("inner/a.tab")
                info.size = len(BYTES)
                tarred.addfile(info, io.BytesIO(BYTES))

    monkeypatch.setattr(subprocess, "run", run)
    return str(request.param)


def test_members_are_taken_out_and_the_archive_is_gone(registry: str, tmp_path: Path) -> None:
    steps: list[int] = []
    found = unpack(
        package(registry), SUMS, tmp_path, lambda _what, done, _total: steps.append(done)
    )
    assert found["a.tab"].read_bytes() == BYTES
    assert [item.name for item in tmp_path.iterdir()] == ["a.tab"]
    assert steps == [0, 10]


def test_who_comes_second_finds_what_the_first_has_fetched(
    registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = unpack(package(registry), SUMS, tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("downloaded again"))
    assert unpack(package(registry), SUMS, tmp_path) == first


def test_wrong_member_is_refused(registry: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="checksum"):
        unpack(package(registry), {"a.tab": f"sha256:{'0' * 64}"}, tmp_path)
    with pytest.raises(DataError, match="does not contain 'inner/other'"):
        unpack(package(registry, "inner/other"), SUMS, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_failure_of_the_registry_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(
            1, ["pip"], stderr="long story\nERROR: no such version\n"
        )

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(
        DataError, match=r"PyPI wheel thing==1\.0 could not be downloaded: ERROR: no such version"
    ):
        unpack(package("pip"), SUMS, tmp_path)


def test_missing_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="with the program 'npm', which is not on this machine"):
        unpack(package("npm"), SUMS, tmp_path / "cache")
