"""Files that are whole or refused."""

import os

import numpy as np
import pytest

from tacit.errors import RunError
from tacit.files import replace_file, seal, unseal

ARRAYS = {"model": np.arange(7, dtype=np.float32), "updates": np.array([2**40, 1])}
FACTS = {"progress": '{"arm": "run", "sha256": "no digest"}'}


def test_what_was_sealed_comes_back(tmp_path) -> None:
    path = tmp_path / "some.safetensors"
    path.write_bytes(seal(ARRAYS, FACTS))
    arrays, facts = unseal(path)
    assert facts["progress"] == FACTS["progress"]
    assert {name: array.tolist() for name, array in arrays.items()} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }


def test_every_flipped_bit_is_found(tmp_path) -> None:
    path = tmp_path / "some.safetensors"
    whole = seal(ARRAYS, FACTS)
    for place in range(8 * len(whole)):
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        path.write_bytes(content)
        with pytest.raises(RunError, match=r"some\.safetensors: is damaged"):
            unseal(path)


def test_a_file_of_any_other_length_is_refused(tmp_path) -> None:
    path = tmp_path / "some.safetensors"
    whole = seal(ARRAYS, FACTS)
    for content in (*(whole[:length] for length in range(len(whole))), whole + b"\0"):
        path.write_bytes(content)
        with pytest.raises(RunError, match=r"some\.safetensors: is damaged"):
            unseal(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch) -> None:
    path = tmp_path / "some.txt"
    replace_file(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new")
    assert [one.name for one in tmp_path.iterdir()] == ["some.txt"]
    assert path.read_bytes() == b"old"
