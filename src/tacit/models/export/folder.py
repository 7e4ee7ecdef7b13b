"""Writes an exported folder: the model, what encodes rows for it, and its card. Nothing in it is
pickled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import save

from tacit.errors import RunError
from tacit.files import replace_file
from tacit.models.export import card as cards
from tacit.models.export.card import ModelCard
from tacit.models.export.form import ExportForm

FORMATS = ("safetensors", "onnx", "torch", "sklearn", "hub")
STANDALONE = Path(__file__).parent / "standalone"

_READS = (
    "\n\nRows are dicts of the columns above. `rows.py` turns them into arrays and needs only numpy"
)
_TACIT = (
    '```python\nimport tacit\nmodel = tacit.load(".")  # this folder\nmodel.predict(rows);'
    " model.predict_proba(rows)\n```\n"
)
_ONNX = """```python
import onnxruntime
from rows import encode
session = onnxruntime.InferenceSession("model.onnx")
found = encode([{"column": "value"}])
wanted = {one.name: found[one.name] for one in session.get_inputs()}
prediction, probabilities = session.run(["prediction", "probabilities"], wanted)
```

Scaling, categories, layers and class names are in the graph. Texts are not hashed in it, since ONNX cannot split a string into
characters: `rows.py` does it, by the rule in `spelling.py`."""
_TORCH = (
    '```python\nfrom module import load\nmodel = load()\nmodel.predict([{"column":'
    ' "value"}])\n```\n'
)
_SKLEARN = """```python
# a Pipeline: features of rows, then an estimator with the run's weights
from pipeline import pipeline
pipeline.predict([{"column": "value"}]); pipeline.predict_proba([{"column": "value"}])
```

It needs scikit-learn and safetensors, not Tacit. Rows may be a pandas or polars frame too. Nothing is pickled: the weights are read
from `model.safetensors`."""
USES = {
    "safetensors": (
        f"{_TACIT}\n`tacit predict DIR new.csv` does the same. `model.json` says how rows become"
        " numbers."
    ),
    "onnx": _ONNX + _READS + ".",
    "torch": _TORCH + _READS + "; the weights are a state dict in `model.safetensors`.",
    "sklearn": _SKLEARN + _READS + ".",
    "hub": (
        _TORCH
        + _READS
        + "; the weights are a state dict in `model.safetensors`. It is not a model of the package"
        " transformers."
    ),
}
SHARED_PART = (
    "These files hold the shared part of the model alone. Each client's private part stays with its"
    " site. There `tacit predict` predicts each row with the model of its client."
)
"""Use of a model of which a part is kept by each client."""
PRIVATE_PART = (
    "The client whose model this is: these files hold its private part, which is not covered by the"
    " guarantee above"
)
"""What the guarantee of a personal model does not cover."""
_CODE = {"torch": "module.py", "hub": "module.py", "sklearn": "pipeline.py"}
"""Code that accompanies weights, by format."""


@dataclass(frozen=True, kw_only=True)
class RunModel:
    """A model as its run stored it: named arrays, and the facts that describe their use."""

    tensors: dict[str, NDArray[Any]]
    facts: dict[str, Any]


def write(folder: Path, to: str, model: ExportForm | RunModel, card: ModelCard) -> Path:
    """Write a model into a new folder in one of the formats, with its card, and return the folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(
            f"export: {str(folder)!r} is not an empty folder; choose another one with --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    files = _pack_run_model(model) if isinstance(model, RunModel) else _pack_form(to, model)
    used_as = "safetensors" if isinstance(model, RunModel) else to
    files["README.md"] = cards.render_card(card, USES[used_as], hub=to == "hub").encode()
    for name, content in files.items():
        replace_file(folder / name, content)
    return folder


def _pack_run_model(model: RunModel) -> dict[str, bytes]:
    facts = json.dumps(model.facts, indent=2) + "\n"
    return {
        "model.safetensors": save(model.tensors, metadata={"tacit": json.dumps(model.facts)}),
        "model.json": facts.encode(),
    }


def _pack_form(to: str, form: ExportForm) -> dict[str, bytes]:
    files = {
        "config.json": json.dumps(form.config(), indent=1).encode() + b"\n",
        "rows.py": (STANDALONE / "rows.py").read_bytes(),
    }
    if form.text:
        files["spelling.py"] = form.text.rule.encode()
    if to == "onnx":
        from tacit.models.export.onnx_graph import build_onnx_model  # needs the extra

        return {**files, "model.onnx": build_onnx_model(form).SerializeToString()}
    return {
        **files,
        _CODE[to]: (STANDALONE / _CODE[to]).read_bytes(),
        "model.safetensors": save(form.tensors()),
    }
