"""A trained model in the formats of others: safetensors, ONNX, PyTorch, scikit-learn, a folder for a model hub. Knows no run."""

from tacit.export.card import Card
from tacit.export.folder import FORMATS, Stored, write
from tacit.export.form import Categories, Form, Net, Numbers, Text, net_of
from tacit.export.tried import probabilities

__all__ = [
    "FORMATS", "Card", "Categories", "Form", "Net", "Numbers", "Stored", "Text", "net_of", "probabilities", "write",
]  # fmt: skip
