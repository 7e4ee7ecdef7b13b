"""The numbers that Rokvic et al. (LazyInf) print, and consequences of their mechanism."""

from __future__ import annotations

DETECTED = {  # set and whether noise was on: accuracy, precision, recall of "this client is corrupted"
    ("mnist", "clear"): (1.0, 1.0, 1.0),
    ("mnist", "noised"): (1.0, 1.0, 1.0),
    ("cifar10", "clear"): (1.0, 1.0, 1.0),
    ("cifar10", "noised"): (0.86, 0.8636, 0.63),
}
"""The noisy rows have noise on votes and on contributors' messages, both called "eps = 1"; the
epsilon of a vote is really 0.5.
"""

FLIPPED = {0.5: 0.1967, 1.0: 0.3161}
"""Epsilon per vote → share of colluding testers above which they outvote all others, (2r - 1) /
(2r) with r = 1 / (1 + e^-eps).
"""
