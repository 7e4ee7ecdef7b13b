"""The numbers that Zhang et al. (EMNLP 2022) print in tables 3 and 4, and the ratio in their
abstract.
"""

Printed = dict[str, tuple[tuple[float, float], ...]]
"""Method → global and local accuracy on 20News, on SST-2 and on AG News."""

BILSTM: Printed = {
    "Local only, 10 epochs": ((0.073, 0.422), (0.547, 0.837), (0.340, 0.646)),
    "FedAvg": ((0.354, 0.563), (0.830, 0.896), (0.841, 0.916)),
    "FedProx": ((0.356, 0.563), (0.828, 0.892), (0.843, 0.901)),
    "LG-FedAvg": ((0.144, 0.534), (0.591, 0.856), (0.481, 0.887)),
    "FedRecon": ((0.383, 0.573), (0.854, 0.902), (0.860, 0.920)),
    "FedVocab": ((0.403, 0.586), (0.878, 0.921), (0.869, 0.928)),
    "FedVocab, no adaptive pass": ((0.371, 0.554), (0.851, 0.898), (0.863, 0.915)),
}
DISTILBERT: Printed = {
    "Local only, 10 epochs": ((0.082, 0.594), (0.511, 0.825), (0.325, 0.778)),
    "FedAvg": ((0.736, 0.784), (0.923, 0.950), (0.872, 0.922)),
    "FedProx": ((0.735, 0.783), (0.922, 0.949), (0.884, 0.929)),
    "LG-FedAvg": ((0.535, 0.800), (0.638, 0.855), (0.632, 0.898)),
    "FedRecon": ((0.755, 0.820), (0.930, 0.958), (0.871, 0.941)),
    "FedVocab": ((0.752, 0.868), (0.925, 0.956), (0.878, 0.955)),
    "FedVocab, no adaptive pass": ((0.729, 0.787), (0.907, 0.943), (0.862, 0.933)),
}
RATIO = 83.0
"""How many times more FedAvg's client sends than FedVocab's."""
