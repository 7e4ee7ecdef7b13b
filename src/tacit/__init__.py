"""Tacit: federated learning on data that stays with its owners, with a stated privacy guarantee for
each person.

>>> import tacit
>>> plan = tacit.Plan(name="mine", data=tacit.Data(source="imdb", clients=100))
>>> plan.server.rounds
20
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.kernel_cache import prepare_kernel_cache

if TYPE_CHECKING:
    from tacit.api import Run, ask, load, resume, run, starter_plan, train
    from tacit.errors import DataError, PlanError, RunError, TacitError
    from tacit.models.estimators import FederatedClassifier, HashedText
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
        ColumnSchema,
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
        LSTMStep,
        Mimic,
        Model,
        Negotiation,
        Network,
        OneBit,
        OwnAttack,
        OwnCodec,
        OwnModule,
        Plain,
        Plan,
        Privacy,
        Private,
        ProjUnit,
        Public,
        Quantise,
        RandomLabels,
        RandomUpdate,
        RowSharing,
        RRSampled,
        Schema,
        SecureAggregation,
        Server,
        SignFlip,
        Skellam,
        Statistics,
        Track,
        ViT,
    )  # fmt: skip
    from tacit.simulation import Observer, Silence

__all__ = [
    "ALIE",
    "IPM",
    "LSTM",
    "MLP",
    "QSGD",
    "RQM",
    "RR",
    "Audit",
    "Backdoor",
    "BiLSTM",
    "Codec",
    "ColumnSchema",
    "Columns",
    "Corrupt",
    "DPSum",
    "Data",
    "DataError",
    "Embedding",
    "Encoder",
    "Engine",
    "FeatureNoise",
    "Features",
    "FederatedClassifier",
    "Filter",
    "FlippedLabels",
    "FreeRider",
    "Gaussian",
    "HashComb",
    "HashedText",
    "LSTMStep",
    "Ledger",
    "Local",
    "Logistic",
    "Mimic",
    "Model",
    "Negotiation",
    "Network",
    "Observer",
    "OneBit",
    "OwnAttack",
    "OwnCodec",
    "OwnModule",
    "Plain",
    "Plan",
    "PlanError",
    "Privacy",
    "Private",
    "ProjUnit",
    "Public",
    "Quantise",
    "RRSampled",
    "RandomLabels",
    "RandomUpdate",
    "RowSharing",
    "Run",
    "RunError",
    "Schema",
    "SecureAggregation",
    "Server",
    "SignFlip",
    "Silence",
    "Skellam",
    "Statistics",
    "TacitError",
    "Track",
    "ViT",
    "ask",
    "load",
    "resume",
    "run",
    "starter_plan",
    "train",
]  # fmt: skip

prepare_kernel_cache()

_ELSEWHERE = {
    "tacit.api": ("Run", "ask", "load", "resume", "run", "starter_plan", "train"),
    "tacit.simulation": ("Observer", "Silence"),
    "tacit.models.estimators": ("FederatedClassifier", "HashedText"),
    "tacit.errors": ("DataError", "PlanError", "RunError", "TacitError"),
}
_HOME = {name: module for module, names in _ELSEWHERE.items() for name in names}
"""Module of each public name; every other name is a table of the plan."""


def __getattr__(name: str) -> Any:
    """Import on first use, so that `tacit --help` does not wait for numerical libraries."""
    from importlib import import_module

    if name == "plan":
        return import_module("tacit.plan")
    if name == "__version__":
        from importlib.metadata import version

        return version("tacit")
    if name not in __all__:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    found = getattr(import_module(_HOME.get(name, "tacit.plan")), name)
    globals()[name] = found  # from now on without a detour
    return found


def __dir__() -> list[str]:
    """List all public names for completion, loaded or not."""
    return sorted({*__all__, "plan"})
