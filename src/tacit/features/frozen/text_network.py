"""A text network from a folder, as `transformers` or sentence-transformers save it: tokenizer,
network and pooling.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from tacit.errors import DataError
from tacit.pretrained import load_network

Pooling = Literal["mean", "cls"]
"""How the states of a text's word pieces become one row: their mean, or the first of them."""

_MODULES = ("Transformer", "Pooling", "Normalize")
"""Parts of a sentence-transformers model that can be read; rows are normalised in any case."""
_LETTERS = 16
"""Letters of a text that are split, per word piece; a piece has about five."""
_FILES = (
    "*.safetensors",
    "*.model",
    "config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.*",
)


@dataclass(frozen=True, kw_only=True)
class TextNetwork:
    """A tokenizer and a network that read at most `length` word pieces of a text."""

    tokenizer: Any
    network: Any
    length: int
    width: int
    pooling: Pooling
    digest: str

    def split(self, texts: Sequence[str]) -> list[list[int]]:
        """Split texts into numbered word pieces, with the special ones at both ends."""
        # Splitting all of a long text would take longer than reading its first pieces.
        shown = [text[: _LETTERS * self.length] for text in texts]
        numbered = self.tokenizer(shown, truncation=True, max_length=self.length)
        return [list(map(int, pieces)) for pieces in numbered["input_ids"]]

    @torch.inference_mode()
    def read(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute one row per text from padded word pieces; `mask` is 1 where there is a piece."""
        states = self.network(input_ids=pieces, attention_mask=mask).last_hidden_state.float()
        if self.pooling == "cls":
            first: torch.Tensor = states[:, 0]
            return first
        weights = mask.unsqueeze(-1).float()
        mean: torch.Tensor = (states * weights).sum(1) / weights.sum(1).clamp(min=1.0)
        return mean

    @property
    def padding(self) -> int:
        """Number of the padding piece."""
        return int(self.tokenizer.pad_token_id or 0)


@lru_cache(maxsize=2)
def load_text_network(folder: Path, length: int, precision: torch.dtype) -> TextNetwork:
    """Load the tokenizer and the network of a folder; nothing of it is run as code.

    Raises DataError if it is not a text network with safetensors weights.
    """
    inner, pooling, limit = _read_modules(folder)
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(
            str(inner), local_files_only=True, trust_remote_code=False
        )
        network = load_network(inner, dtype=precision, attn_implementation="eager").eval()
        width = int(network.config.hidden_size)
        most = int(getattr(network.config, "max_position_embeddings", 0) or length)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"features.encoder = {str(folder)!r}: transformers cannot load a text network from it"
            f" ({type(error).__name__}); save network and tokenizer with save_pretrained() again"
        ) from None
    length = min(length, most, limit or most)
    return TextNetwork(
        tokenizer=tokenizer,
        network=network,
        length=length,
        width=width,
        pooling=pooling,
        digest=_hash_files(inner, length, pooling),
    )


def _read_modules(folder: Path) -> tuple[Path, Pooling, int | None]:
    """Read where the network is, how its states are pooled, and its maximum number of word pieces,
    from the files of sentence-transformers if there are any.
    """
    if not (folder / "modules.json").is_file():
        return folder, "mean", None
    inner, pooling = folder, "mean"
    for module in _read_json(folder / "modules.json", list):
        kind = str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind not in _MODULES:
            raise DataError(
                f"features.encoder = {str(folder)!r}: modules.json names a part {kind[:40]!r};"
                f" only {', '.join(_MODULES)} can be read"
            )
        path = folder / str(module.get("path", ""))
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(
                f"features.encoder = {str(folder)!r}: modules.json names a folder outside; correct it"
            )
        if kind == "Transformer":
            inner = path
        elif kind == "Pooling" and (path / "config.json").is_file():
            pooling = _read_pooling(folder, _read_json(path / "config.json", dict))
    settings = inner / "sentence_bert_config.json"
    limit = _read_json(settings, dict).get("max_seq_length") if settings.is_file() else None
    return inner, "cls" if pooling == "cls" else "mean", int(limit) if limit else None


def _read_pooling(folder: Path, settings: Any) -> Pooling:
    asked = {
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, value in settings.items()
        if key.startswith("pooling_mode_") and value
    }
    for one in get_args(Pooling):
        if asked == {one}:
            return "cls" if one == "cls" else "mean"
    raise DataError(
        f"features.encoder = {str(folder)!r}: its pooling must be the mean or the class token; use"
        " another encoder"
    )


def _read_json(file: Path, kind: type) -> Any:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"features.encoder: {file} is not readable JSON ({type(error).__name__}); repair it"
        ) from None
    if not isinstance(found, kind):
        raise DataError(f"features.encoder: {file} does not hold what it should; repair it")
    return found


def _hash_files(folder: Path, length: int, pooling: Pooling) -> str:
    """Hash weights, tokenizer and settings: equal hashes give equal rows up to rounding."""
    digest = hashlib.sha256(json.dumps([length, pooling]).encode())
    for file in sorted({file for pattern in _FILES for file in folder.glob(pattern)}):
        with file.open("rb") as content:
            digest.update(file.name.encode() + b"\0")
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:32]
