"""Versions by round: the right one is found after a crash, and old ones go."""

import numpy as np
import pytest

from tacit.errors import RunError
from tacit.training.private.store import PrivateStore


def table(value: float) -> dict[str, np.ndarray]:
    return {"words.private": np.full((2, 3), value, np.float32)}


def test_a_round_reads_what_the_round_before_left(tmp_path) -> None:
    store = PrivateStore(tmp_path)
    assert store.read(4, before=1) is None
    store.write(4, 1, table(1))
    store.write(4, 7, table(7))
    assert store.read(4, before=7)["words.private"][0, 0] == 1
    assert store.read(4, before=8)["words.private"][0, 0] == 7


def test_a_round_begun_before_a_crash_does_not_count(tmp_path) -> None:
    store = PrivateStore(tmp_path)
    store.write(0, 3, table(3))
    store.write(0, 5, table(5))  # the crash came before round 5's checkpoint
    assert store.read(0, before=5)["words.private"][0, 0] == 3
    store.write(0, 5, table(55))
    assert store.read(0, before=6)["words.private"][0, 0] == 55


def test_two_versions_are_kept(tmp_path) -> None:
    store = PrivateStore(tmp_path)
    for round_no in range(1, 6):
        store.write(0, round_no, table(round_no))
    assert sorted(path.stem for path in (tmp_path / "0").iterdir()) == ["4", "5"]


def test_without_state_nothing_is_kept(tmp_path) -> None:
    store = PrivateStore(tmp_path, keeps_arrays=False)
    store.write(0, 1, table(1))
    assert store.read(0, before=2) is None
    assert not any(tmp_path.iterdir())


def test_flipped_bits_are_always_found(tmp_path) -> None:
    store = PrivateStore(tmp_path)
    store.write(0, 1, table(1))
    path = tmp_path / "0" / "1.safetensors"
    whole = path.read_bytes()
    random = np.random.default_rng(3)
    for place, bit in zip(
        random.integers(0, len(whole), 100), random.integers(0, 8, 100), strict=True
    ):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        with pytest.raises(RunError, match=r"0/1\.safetensors: is damaged"):
            store.read(0, before=2)


def test_a_lost_version_is_named(tmp_path) -> None:
    store = PrivateStore(tmp_path)
    store.write(1, 2, table(2))
    store.write(1, 5, table(5))
    store.check(np.array([0, 5]), before=6)
    store.check(
        np.array([0, 2]), before=5
    )  # round 5 was begun before a crash and will be run again
    (tmp_path / "1" / "5.safetensors").unlink()
    with pytest.raises(RunError, match=r"1/5\.safetensors: is missing"):
        store.check(np.array([0, 5]), before=6)


def test_only_the_owner_may_read_a_clients_folder(tmp_path) -> None:
    PrivateStore(tmp_path / "private").write(0, 1, table(1))
    assert (tmp_path / "private" / "0").stat().st_mode & 0o077 == 0
