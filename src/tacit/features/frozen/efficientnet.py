"""Image features from EfficientNet-Lite0: its published weights without the ImageNet classification
layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional

_STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
"""Strides of the sixteen blocks; all other sizes are those of the stored weights."""
_BATCH_NORM_EPSILON = 1e-3


@dataclass(frozen=True, kw_only=True)
class _Convolution:
    """A convolution with its batch normalisation folded into the weights."""

    weight: torch.Tensor
    bias: torch.Tensor
    stride: int
    each_alone: bool
    """Whether each channel is convolved by itself (depthwise convolution)."""
    cut: bool
    """Whether values are clamped to [0, 6] afterwards (ReLU6)."""

    def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
        size, kernel = pictures.shape[-1], self.weight.shape[-1]
        # As in TensorFlow, where the weights come from: if the padding is odd, its larger half is
        # right and below.
        padding = max((-(-size // self.stride) - 1) * self.stride + kernel - size, 0)
        if padding % 2:
            pictures = functional.pad(pictures, (0, 1, 0, 1))
        groups = len(self.weight) if self.each_alone else 1
        out = functional.conv2d(
            pictures, self.weight, self.bias, self.stride, padding=padding // 2, groups=groups
        )
        return out.clamp_(0, 6) if self.cut else out


class EfficientNetLite0:
    """EfficientNet-Lite0 (Tan and Le 2019) up to its global average pooling: 1,280 features per
    image.
    """

    width = 1280

    def __init__(self, file: Path) -> None:
        stored: dict[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
        self._stem = _fold_normalisation(stored, "_conv_stem", "_bn0", stride=2)
        self._blocks = [
            _build_block(stored, f"_blocks.{number}.", stride)
            for number, stride in enumerate(_STRIDES)
        ]
        self._head = _fold_normalisation(stored, "_conv_head", "_bn1")

    def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
        """Compute one row per image; images are (count, 3, height, width), scaled as (value - 127)
        / 128.
        """
        out = self._stem(pictures)
        for block in self._blocks:
            before = out
            for convolution in block:
                out = convolution(out)
            if out.shape == before.shape:
                out = out + before
        mean: torch.Tensor = self._head(out).mean((2, 3))
        return mean


def _build_block(stored: dict[str, torch.Tensor], name: str, stride: int) -> list[_Convolution]:
    """Build a block's convolutions: expansion (all blocks but the first), depthwise, projection."""
    wider = (
        [_fold_normalisation(stored, f"{name}_expand_conv", f"{name}_bn0")]
        if f"{name}_expand_conv.weight" in stored
        else []
    )
    alone = _fold_normalisation(stored, f"{name}_depthwise_conv", f"{name}_bn1", stride=stride)
    return [
        *wider,
        alone,
        _fold_normalisation(stored, f"{name}_project_conv", f"{name}_bn2", cut=False),
    ]


def _fold_normalisation(
    stored: dict[str, torch.Tensor],
    convolution: str,
    normalisation: str,
    *,
    stride: int = 1,
    cut: bool = True,
) -> _Convolution:
    weight = stored[f"{convolution}.weight"]
    norm = {
        key: stored[f"{normalisation}.{key}"]
        for key in ("weight", "bias", "running_mean", "running_var")
    }
    scale = norm["weight"] / torch.sqrt(norm["running_var"] + _BATCH_NORM_EPSILON)
    return _Convolution(
        weight=(weight * scale[:, None, None, None]).contiguous(memory_format=torch.channels_last),
        bias=norm["bias"] - norm["running_mean"] * scale,
        stride=stride,
        each_alone="depthwise" in convolution,
        cut=cut,
    )
