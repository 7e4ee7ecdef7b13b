"""Compiled kernels have a place on the disk wherever Tacit is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tacit import kernel_cache


@pytest.fixture(autouse=True)
def no_choice_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delitem(
        sys.modules, "numba", raising=False
    )  # its settings in this process stay as they are
    (tmp_path / "tmp").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(kernel_cache, "_PACKAGE", tmp_path / "package")


def make_package_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deny writing to the package, also for root, whom modes do not stop."""
    asked = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path != kernel_cache._PACKAGE and asked(path, mode)
    )


def make_all_read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_package_read_only(monkeypatch)
    (tmp_path / "file").touch()
    monkeypatch.setenv(
        "XDG_CACHE_HOME", str(tmp_path / "file" / ".cache")
    )  # no folder can be made below a file


def chosen() -> str:
    kernel_cache.prepare_kernel_cache()
    return os.environ["NUMBA_CACHE_DIR"]


def test_nothing_is_chosen_where_numba_can_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert chosen() == ""
    make_package_read_only(monkeypatch)
    assert chosen() == ""
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_read_only_package_and_home_give_a_private_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_all_read_only(monkeypatch, tmp_path)
    folder = Path(chosen())
    assert folder.parent == tmp_path / "tmp"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert chosen() == str(folder)  # a second process finds the kernels of the first


@pytest.mark.parametrize("state", ["open to all", "a link"])
def test_a_folder_somebody_else_could_write_to_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: str
) -> None:
    make_all_read_only(monkeypatch, tmp_path)
    taken = tmp_path / "tmp" / f"tacit-kernels-{os.getuid()}"
    if state == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        taken.symlink_to(tmp_path / "elsewhere")
    else:
        taken.mkdir()
        taken.chmod(0o777)
    assert chosen() not in {"", str(taken)}


def test_the_users_choice_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_all_read_only(monkeypatch, tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    assert chosen() == "/chosen"
