"""Property inference: does a message reveal a property of a text that is not its label?

The attacker has the shared parameters, texts of its own and a word table it assumes. Its gradients
with and without the property train a logistic regression, which is then applied to the victim's
messages. Source: Melis et al., IEEE S&P 2019.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tacit import codecs, plan
from tacit.audit.words.victims import pass_through_codec
from tacit.randomness import Draws

_NUMBERS = 64


def randomise_bits(
    gradients: dict[str, torch.Tensor], epsilon: float, draws: Draws
) -> dict[str, torch.Tensor]:
    """What the server decodes if each value is sent as one randomised bit, at this epsilon per bit."""
    clip = (
        float(
            np.quantile(
                np.concatenate([one.abs().numpy().ravel() for one in gradients.values()]), 0.99
            )
        )
        or 1e-6
    )
    sends = codecs.build(plan.RR(epsilon=epsilon, clip=clip))
    return {
        name: torch.from_numpy(
            pass_through_codec(sends, one.numpy().ravel().astype(np.float32), draws.at(name))
        )
        for name, one in gradients.items()
    }


def project_message(
    gradients: dict[str, torch.Tensor], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Summarise a message by random projections: direction and L2 norm of each parameter's
    gradient.
    """
    parts = []
    for name in sorted(gradients):
        flat = gradients[name].double().numpy().ravel()
        length = float(np.linalg.norm(flat)) or 1e-12
        signs = generator.choice((-1.0, 1.0), len(flat))
        parts += [
            np.log(length),
            *np.bincount(np.arange(len(flat)) % _NUMBERS, signs * flat / length, _NUMBERS),
        ]
    return np.array(parts)


def predict_property(
    own: NDArray[np.float64], truth: NDArray[np.bool_], theirs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Score each of their messages for the property, learned from own messages with known labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learned = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500)).fit(
        own, truth
    )
    return np.asarray(learned.decision_function(theirs), np.float64)
