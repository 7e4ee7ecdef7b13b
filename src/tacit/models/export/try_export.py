"""Runs an exported folder on rows, with the libraries of its format."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def compute_probabilities(folder: Path, to: str, rows: list[dict[str, Any]]) -> NDArray[np.float64]:
    """Probability of each class that an exported ONNX, PyTorch, scikit-learn or hub folder gives
    for rows.
    """
    if to == "onnx":
        return np.asarray(_run_onnx(folder, rows), np.float64)
    code = "pipeline.py" if to == "sklearn" else "module.py"
    return np.asarray(
        runpy.run_path(str(folder / code))["load"](folder).predict_proba(rows), np.float64
    )


def _run_onnx(folder: Path, rows: list[dict[str, Any]]) -> Any:
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    found = runpy.run_path(str(folder / "rows.py"))["encode"](rows, folder)
    return session.run(
        ["probabilities"], {one.name: found[one.name] for one in session.get_inputs()}
    )[0]
