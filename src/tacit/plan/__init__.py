"""The plan: one TOML file per job, one table per room, each table a small frozen dataclass in a file of its own.

Loading is strict and says everything that is wrong at once. Nothing here reads data.
"""

from tacit.plan.audit import Audit
from tacit.plan.codec import (
    QSGD,
    RQM,
    RR,
    Codec,
    DPSum,
    Gaussian,
    HashComb,
    OneBit,
    PaperGaussian,
    Plain,
    ProjUnit,
    RRSampled,
    Sign,
    Skellam,
)
from tacit.plan.columns import Columns
from tacit.plan.corrupt import (
    ALIE,
    IPM,
    Backdoor,
    Corrupt,
    FeatureNoise,
    FlippedLabels,
    FreeRider,
    Mimic,
    RandomLabels,
    RandomUpdate,
    SignFlip,
)
from tacit.plan.data import GIVEN, Data
from tacit.plan.engine import Engine
from tacit.plan.features import Features, Quantise, text_problems
from tacit.plan.filter import Filter
from tacit.plan.ledger import Ledger
from tacit.plan.load import check, check_run, dump, load, parse, parse_stored, to_toml, untouched
from tacit.plan.local import Local
from tacit.plan.model import (
    LSTM,
    MLP,
    BiLSTM,
    Compiled,
    Embedding,
    Encoder,
    Layered,
    Logistic,
    LSTMStep,
    Model,
    OwnModule,
    ViT,
    Worded,
)
from tacit.plan.plan import Plan
from tacit.plan.privacy import Privacy
from tacit.plan.private import Private
from tacit.plan.public import Public
from tacit.plan.python_tables import raise_plan_errors
from tacit.plan.secure_sum import SecureSum
from tacit.plan.server import Server
from tacit.plan.share import Sharing

__all__ = [
    "ALIE",
    "GIVEN",
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
    "Columns",
    "Compiled",
    "Corrupt",
    "DPSum",
    "Data",
    "Embedding",
    "Encoder",
    "Engine",
    "FeatureNoise",
    "Features",
    "Filter",
    "FlippedLabels",
    "FreeRider",
    "Gaussian",
    "HashComb",
    "LSTMStep",
    "Layered",
    "Ledger",
    "Local",
    "Logistic",
    "Mimic",
    "Model",
    "OneBit",
    "OwnModule",
    "PaperGaussian",
    "Plain",
    "Plan",
    "Privacy",
    "Private",
    "ProjUnit",
    "Public",
    "Quantise",
    "RRSampled",
    "RandomLabels",
    "RandomUpdate",
    "SecureSum",
    "Server",
    "Sharing",
    "Sign",
    "SignFlip",
    "Skellam",
    "ViT",
    "Worded",
    "check",
    "check_run",
    "dump",
    "load",
    "parse",
    "parse_stored",
    "text_problems",
    "to_toml",
    "untouched",
]

for _name in __all__:
    if hasattr(globals()[_name], "__pydantic_fields__"):
        raise_plan_errors(globals()[_name])
