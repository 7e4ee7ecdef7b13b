"""Image features from any Hugging Face image network in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from tacit.errors import DataError
from tacit.features.frozen.view import NetworkView, Triple
from tacit.pretrained import load_network

_HALVES = (0.5, 0.5, 0.5)
_CLASS_TOKENS = ("cls_token", "class_embedding")


def load_checkpoint_view(folder: Path) -> NetworkView:
    """Load a folder's network with `transformers`, and its preprocessing from
    preprocessor_config.json.

    A row is the state of the class token if the network has one, else the mean over its last
    feature map or its last states: the usual input of the classification layer. A pooling layer is
    skipped: classifier checkpoints lack its weights, which would be random.
    """
    try:
        network = load_network(folder).eval()
        size, middle, spread = _read_preprocessing(folder, network.config)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"features.image = {str(folder)!r}: transformers cannot load an image network from it"
            f" ({type(error).__name__}); save it with save_pretrained() again"
        ) from None
    has_class_token = any(name.endswith(_CLASS_TOKENS) for name, _ in network.named_parameters())

    def read(pictures: torch.Tensor) -> torch.Tensor:
        state: torch.Tensor = network(pixel_values=pictures).last_hidden_state
        if state.ndim == 4:
            return state.mean((2, 3))
        return state[:, 0] if has_class_token else state.mean(1)

    view = NetworkView(network=read, size=size, middle=middle, spread=spread, width=0)
    width = view.numbers(torch.zeros(1, 1, 1, 1, dtype=torch.uint8)).shape[1]
    return NetworkView(network=read, size=size, middle=middle, spread=spread, width=width)


def _read_preprocessing(folder: Path, config: Any) -> tuple[tuple[int, int], Triple, Triple]:
    """Read image size, mean and standard deviation on a scale of 0 to 255."""
    file = folder / "preprocessor_config.json"
    settings = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    middle, spread = (
        _parse_triple(settings.get(key, _HALVES)) for key in ("image_mean", "image_std")
    )
    return (
        _parse_size(settings.get("crop_size") or settings.get("size") or config.image_size),
        middle,
        spread,
    )


def _parse_size(found: Any) -> tuple[int, int]:
    if isinstance(found, dict):
        return (
            (int(found["height"]), int(found["width"]))
            if "height" in found
            else _parse_size(found["shortest_edge"])
        )
    return (
        (int(found[0]), int(found[1]))
        if isinstance(found, list | tuple)
        else (int(found), int(found))
    )


def _parse_triple(found: Any) -> Triple:
    red, green, blue = (255 * float(value) for value in found)
    return red, green, blue
