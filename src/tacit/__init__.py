"""Tacit: train models on data that stays with the people it is about, and say exactly what was promised to them.

>>> import tacit
>>> plan = tacit.Plan(name="mine", data=tacit.Data(source="imdb", clients=100))
>>> plan.server.rounds
20
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.api import Run, resume, run, starter_plan
    from tacit.plan import (
        ALIE,
        IPM,
        LSTM,
        MLP,
        QSGD,
        RQM,
        RR,
        Audit,
        Backdoor,
        BiLSTM,
        Codec,
        Columns,
        Corrupt,
        Data,
        DPSum,
        Embedding,
        Encoder,
        Engine,
        FeatureNoise,
        Features,
        Filter,
        FlippedLabels,
        FreeRider,
        Gaussian,
        HashComb,
        Ledger,
        Local,
        Logistic,
        Mimic,
        Model,
        OneBit,
        OwnModule,
        PaperGaussian,
        Plain,
        Plan,
        Privacy,
        Private,
        ProjUnit,
        Public,
        Quantise,
        RandomLabels,
        RandomUpdate,
        RRSampled,
        SecureSum,
        Server,
        Sharing,
        Sign,
        SignFlip,
        Skellam,
        ViT,
    )  # fmt: skip

__all__ = [
    "ALIE", "IPM", "LSTM", "MLP", "QSGD", "RQM", "RR", "Audit", "Backdoor", "BiLSTM", "Codec", "Columns", "Corrupt", "DPSum",
    "Data", "Embedding", "Encoder", "Engine", "FeatureNoise", "Features", "Filter", "FlippedLabels", "FreeRider", "Gaussian",
    "HashComb", "Ledger", "Local", "Logistic", "Mimic", "Model", "OneBit", "OwnModule", "PaperGaussian", "Plain", "Plan", "Privacy",
    "Private", "ProjUnit", "Public", "Quantise", "RRSampled", "RandomLabels", "RandomUpdate", "Run", "SecureSum", "Server",
    "Sharing", "Sign", "SignFlip", "Skellam", "ViT", "resume", "run", "starter_plan",
]  # fmt: skip

_FROM_API = ("Run", "resume", "run", "starter_plan")


def __getattr__(name: str) -> Any:
    """Import on first use, so that `tacit --help` does not wait for numerical libraries."""
    if name not in __all__:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("tacit.api" if name in _FROM_API else "tacit.plan"), name)
