"""Converts a form to an ONNX graph with scaling, categories, layers and class names. Texts are
passed as word indices.

ONNX has no operation that splits a string into characters, so a graph cannot hash a text. The
folder contains the rule in plain Python (rows.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tacit.models.export.form import CategoryForm, ExportForm

OPSETS = {"": 17, "ai.onnx.ml": 2}
"""ONNX operator set; old enough for most runtimes in use."""
_MISSING = "(missing)"


def build_onnx_model(form: ExportForm) -> onnx.ModelProto:
    """Build and check the ONNX model.

    Inputs: `words` and `weights`, `numbers`, `categories`, as far as the model reads them. Outputs:
    `probabilities`, one column per class, and `prediction`, the name of the most probable class.
    """
    graph = _Graph()
    state = graph.probabilities(form)
    graph.name(state, "probabilities")
    best = graph.add("ArgMax", state, axis=1, keepdims=0)
    names = graph.strings(form.classes)
    graph.name(graph.add("Gather", names, best, axis=0), "prediction")
    outputs = [
        _value("probabilities", TensorProto.FLOAT, len(form.classes)),
        _value("prediction", TensorProto.STRING),
    ]
    made = helper.make_graph(graph.nodes, "tacit", graph.inputs, outputs, graph.constants)
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid(*one) for one in OPSETS.items()],
        producer_name="tacit",
    )
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def _value(name: str, kind: int, width: int | str | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, ["rows"] if width is None else ["rows", width])


class _Graph:
    """Nodes in order, each result under a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, kind: str, *given: str, domain: str = "", **settings: Any) -> str:
        name = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(given), [name], domain=domain, **settings))
        return name

    def name(self, value: str, name: str) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def array(self, values: NDArray[Any] | np.floating[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def strings(self, words: tuple[str, ...]) -> str:
        name = f"constant_{len(self.constants)}"
        encoded: Any = [word.encode() for word in words]  # what its types do not know
        self.constants.append(helper.make_tensor(name, TensorProto.STRING, [len(words)], encoded))
        return name

    def probabilities(self, form: ExportForm) -> str:
        terms, squares = [], []
        if form.text:
            self.inputs += [
                _value("words", TensorProto.INT64, "entries"),
                _value("weights", TensorProto.FLOAT, "entries"),
            ]
            lines = self.add("Gather", self.array(form.net.text), "words", axis=0)
            across = self.add("Unsqueeze", "weights", self.array(np.array([1])))
            terms.append(
                self.add("Squeeze", self.add("MatMul", across, lines), self.array(np.array([1])))
            )
            squares.append(self._squares("weights"))
        table = self._table(form)
        if table:
            terms.append(self.add("MatMul", table, self.array(form.net.dense)))
            squares.append(self._squares(table))
        state = self._sum(terms)
        if form.row_length:
            state = self.add("Mul", state, self._factor(self._sum(squares), form.row_length))
        state = self.add("Add", state, self.array(form.net.bias))
        for weight, bias in form.net.layers:
            state = self.add(
                "Gemm", self.add("Relu", state), self.array(weight), self.array(bias), transB=1
            )
        if len(form.classes) > 2:
            return self.add("Softmax", state, axis=1)
        return self.add(
            "Concat",
            self.add("Sigmoid", self.add("Neg", state)),
            self.add("Sigmoid", state),
            axis=1,
        )

    def _sum(self, terms: list[str]) -> str:
        return terms[0] if len(terms) == 1 else self.add("Add", *terms)

    def _squares(self, value: str) -> str:
        return self.add("ReduceSumSquare", value, axes=[1], keepdims=1)

    def _factor(self, squares: str, length: float) -> str:
        some = self.add("Greater", squares, self.array(np.float32(0)))
        root = self.add("Sqrt", self.add("Where", some, squares, self.array(np.float32(1))))
        return self.add("Div", self.array(np.float32(length)), root)

    def _table(self, form: ExportForm) -> str:
        """Scaled numbers and categories of a row; an empty name if there are none."""
        parts = []
        if form.numbers:
            scale = form.numbers
            self.inputs.append(_value("numbers", TensorProto.DOUBLE, len(scale.low)))
            cut = self.add(
                "Min",
                self.add("Max", "numbers", self.array(scale.least)),
                self.array(scale.greatest),
            )
            part = self.add(
                "Div", self.add("Sub", cut, self.array(scale.low)), self.array(scale.span)
            )
            moved = self.add(
                "Add", self.add("Mul", part, self.array(scale.rise)), self.array(scale.at_low)
            )
            unknown = self.add("IsNaN", "numbers")
            parts.append(
                self.add(
                    "Cast",
                    self.add("Where", unknown, self.array(scale.missing), moved),
                    to=TensorProto.FLOAT,
                )
            )
            if scale.said:
                said = self.add(
                    "Gather", unknown, self.array(np.array(scale.said, np.int64)), axis=1
                )
                parts.append(self.add("Cast", said, to=TensorProto.FLOAT))
        if form.categories:
            self.inputs.append(_value("categories", TensorProto.STRING, len(form.categories)))
        for place, one in enumerate(form.categories):
            parts.append(
                self._category(
                    self.add("Gather", "categories", self.array(np.array([place])), axis=1), one
                )
            )
        return self.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0] if parts else ""

    def _category(self, cells: str, one: CategoryForm) -> str:
        keys = {name.encode(): place for place, name in enumerate(one.known)}
        if _MISSING.encode() in keys:
            keys.setdefault(b"", keys[_MISSING.encode()])  # an empty cell counts as missing
        code = self.add(
            "LabelEncoder",
            cells,
            domain="ai.onnx.ml",
            keys_strings=list(keys),
            values_int64s=list(keys.values()),
            default_int64=-1,
        )
        if one.onehot:
            return self.add(
                "Cast",
                self.add("Equal", code, self.array(np.arange(len(one.known))[None])),
                to=TensorProto.FLOAT,
            )
        known = self.add(
            "Cast", self.add("Max", code, self.array(np.array([0]))), to=TensorProto.FLOAT
        )
        return self.add("Div", known, self.array(np.float32(max(len(one.known) - 1, 1))))
