"""A model that Tacit exported, in PyTorch. Needs torch, numpy, safetensors and the files next to
this one; not Tacit.

from module import load
model = load()
print(model.predict([{"review": "a good film"}]))
"""

import json
import runpy
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

HERE = Path(__file__).parent


class ExportedModel(nn.Module):
    """Scaling, categories and layers; `predict` also encodes texts, by rows.py."""

    def __init__(
        self, config: dict[str, Any], tensors: dict[str, torch.Tensor], folder: Path
    ) -> None:
        super().__init__()
        self.config, self.folder = config, folder
        self.text, self.dense, self.bias = (
            nn.Parameter(tensors[key], requires_grad=False) for key in ("text", "dense", "bias")
        )
        shapes = [tensors[f"layers.{place}.weight"].shape for place in range(config["layers"])]
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for outputs, inputs in shapes)
        self.numbers = nn.ParameterDict(
            {
                key[8:]: nn.Parameter(value, requires_grad=False)
                for key, value in tensors.items()
                if key.startswith("numbers.")
            }
        )
        self.load_state_dict(tensors)

    def forward(
        self,
        words: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
        numbers: torch.Tensor | None = None,
        codes: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Probability of each class; rows.py describes the arguments."""
        parts = [self._scale(numbers)] if numbers is not None else []
        if codes is not None:
            for place, one in enumerate(self.config["categories"]):
                parts.append(_category(codes[:, place], len(one["known"]), one["onehot"]))
        terms, squares = [], []
        if words is not None and weights is not None:
            terms.append(
                torch.einsum("nk,nkw->nw", weights, nn.functional.embedding(words, self.text))
            )
            squares.append(weights.square().sum(1, keepdim=True))
        if parts:
            table = torch.cat(parts, dim=1)
            terms.append(table @ self.dense)
            squares.append(table.square().sum(1, keepdim=True))
        state = torch.stack(terms).sum(0)
        if self.config["row_length"]:
            length = torch.stack(squares).sum(0).sqrt()
            state = state * (self.config["row_length"] / torch.where(length > 0, length, 1.0))
        state = state + self.bias
        for layer in self.layers:
            state = layer(torch.relu(state))
        return (
            torch.softmax(state, 1)
            if state.shape[1] > 1
            else torch.cat([torch.sigmoid(-state), torch.sigmoid(state)], 1)
        )

    def _scale(self, numbers: torch.Tensor) -> torch.Tensor:
        scale = self.numbers
        cut = torch.minimum(torch.maximum(numbers.double(), scale["least"]), scale["greatest"])
        moved = scale["at_low"] + (cut - scale["low"]) / scale["span"] * scale["rise"]
        known = torch.where(numbers.isnan(), scale["missing"], moved).float()
        return torch.cat([known, numbers.isnan()[:, self.config["numbers"]["said"]].float()], dim=1)

    def predict_proba(self, rows: list[dict[str, Any]]) -> torch.Tensor:
        """Probability of each class for rows as dicts."""
        found = runpy.run_path(str(self.folder / "rows.py"))["encode"](rows, self.folder)
        wanted = {
            key: torch.from_numpy(found[key])
            for key in ("words", "weights", "numbers", "codes")
            if key in found
        }
        with torch.no_grad():
            probabilities: torch.Tensor = self(**wanted)
        return probabilities

    def predict(self, rows: list[dict[str, Any]]) -> list[str]:
        """Most probable class of each row."""
        return [
            self.config["classes"][place] for place in self.predict_proba(rows).argmax(1).tolist()
        ]


def _category(codes: torch.Tensor, count: int, onehot: bool) -> torch.Tensor:
    if onehot:
        return nn.functional.one_hot(codes + 1, count + 1)[:, 1:].float()
    return codes.clamp(min=0).float()[:, None] / max(count - 1, 1)


def load(folder: Path = HERE) -> ExportedModel:
    """Load the model of a folder that Tacit exported."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    return ExportedModel(
        config, load_file(str(Path(folder) / "model.safetensors")), Path(folder)
    ).eval()
