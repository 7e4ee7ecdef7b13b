"""A trained model in other formats: safetensors, ONNX, PyTorch, scikit-learn, a folder for a model
hub. Knows nothing about runs.
"""

from tacit.models.export.card import ModelCard
from tacit.models.export.folder import FORMATS, RunModel, write
from tacit.models.export.form import CategoryForm, ExportForm, Net, NumberForm, TextForm, build_net
from tacit.models.export.try_export import compute_probabilities

__all__ = [
     "FORMATS",
     "CategoryForm",
     "ExportForm",
     "ModelCard",
     "Net",
     "NumberForm",
     "RunModel",
     "TextForm",
     "build_net",
     "compute_probabilities",
     "write",
]  # fmt: skip
