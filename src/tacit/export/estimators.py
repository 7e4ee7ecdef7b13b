"""A form's layers as an estimator of scikit-learn, over the features Tacit makes: nothing is fitted, the weights are set."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.export.form import Net


def estimator_of(net: Net, classes: tuple[str, ...]) -> Any:
    """Return a LogisticRegression, or an MLPClassifier where there are hidden layers, that has the net's weights."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import LabelBinarizer

    first = np.concatenate([net.text, net.dense]).astype(np.float64)
    named = np.array(classes)
    if not net.layers:
        linear = LogisticRegression()
        linear.classes_, linear.n_features_in_ = named, len(first)
        linear.coef_, linear.intercept_, linear.n_iter_ = first.T.copy(), net.bias.astype(np.float64), np.array([0])
        return linear
    widths = tuple(len(weight[0]) for weight, _ in net.layers)
    deep = MLPClassifier(hidden_layer_sizes=widths, activation="relu")
    deep.coefs_ = [first, *(weight.T.astype(np.float64) for weight, _ in net.layers)]
    deep.intercepts_ = [net.bias.astype(np.float64), *(bias.astype(np.float64) for _, bias in net.layers)]
    deep.n_layers_, deep.n_outputs_, deep.n_features_in_ = len(net.layers) + 2, len(net.layers[-1][1]), len(first)
    deep.out_activation_, deep.classes_ = "softmax" if len(classes) > 2 else "logistic", named
    deep._label_binarizer = LabelBinarizer().fit(named)
    return deep
