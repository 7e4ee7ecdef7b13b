"""The plan of a job: one TOML file, whose tables are frozen dataclasses, one module each.

Loading is strict and reports all problems at once. Nothing here reads data.
"""

from tacit.plan.changes import to_short_toml
from tacit.plan.codec import (
    QSGD,
    RQM,
    RR,
    Codec,
    DPSum,
    Gaussian,
    HashComb,
    OneBit,
    OwnCodec,
    Plain,
    ProjUnit,
    RRSampled,
    Skellam,
)
from tacit.plan.load import (
    check,
    check_run,
    dump,
    list_defaults,
    load,
    parse,
    parse_stored,
    to_toml,
)
from tacit.plan.own_parts import find_own_parts, pin_own_parts
from tacit.plan.plan import Plan
from tacit.plan.presets.privacy import Privacy
from tacit.plan.python_tables import raise_plan_errors
from tacit.plan.tables.audit import Audit
from tacit.plan.tables.corrupt import (
    ALIE,
    IPM,
    Backdoor,
    Corrupt,
    FeatureNoise,
    FlippedLabels,
    FreeRider,
    Mimic,
    OwnAttack,
    RandomLabels,
    RandomUpdate,
    SignFlip,
)
from tacit.plan.tables.engine import Engine
from tacit.plan.tables.features import Features, Quantise, text_problems
from tacit.plan.tables.filter import Filter
from tacit.plan.tables.ledger import Ledger
from tacit.plan.tables.local import Local
from tacit.plan.tables.model import (
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
from tacit.plan.tables.negotiation import Negotiation
from tacit.plan.tables.network import Network
from tacit.plan.tables.private import Private
from tacit.plan.tables.rows.columns import Columns
from tacit.plan.tables.rows.data import GIVEN, Data
from tacit.plan.tables.rows.public import Public
from tacit.plan.tables.rows.schema import Schema, hash_schema
from tacit.plan.tables.rows.schema.column import ColumnSchema
from tacit.plan.tables.rows.share import RowSharing
from tacit.plan.tables.secure_aggregation import SecureAggregation
from tacit.plan.tables.server import Server, sums_at_site
from tacit.plan.tables.statistics import Statistics
from tacit.plan.track import Track

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
    "ColumnSchema",
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
    "Negotiation",
    "Network",
    "OneBit",
    "OwnAttack",
    "OwnCodec",
    "OwnModule",
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
    "RowSharing",
    "Schema",
    "SecureAggregation",
    "Server",
    "SignFlip",
    "Skellam",
    "Statistics",
    "Track",
    "ViT",
    "Worded",
    "check",
    "check_run",
    "dump",
    "find_own_parts",
    "hash_schema",
    "list_defaults",
    "load",
    "parse",
    "parse_stored",
    "pin_own_parts",
    "sums_at_site",
    "text_problems",
    "to_short_toml",
    "to_toml",
]

for _name in __all__:
    if hasattr(globals()[_name], "__pydantic_fields__"):
        raise_plan_errors(globals()[_name])
