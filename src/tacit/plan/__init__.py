"""The plan: one TOML file per job, one table per room, each table a small frozen dataclass.

Loading is strict and says everything that is wrong at once. Nothing here reads data.
"""

from tacit.plan.load import check, dump, load, parse, to_toml
from tacit.plan.tables import (
    BUILT_IN_MODELS,
    GIVEN,
    Codec,
    Columns,
    Data,
    Engine,
    Features,
    Ledger,
    Local,
    Model,
    Plan,
    Private,
    Server,
    Sharing,
)

__all__ = [
    "BUILT_IN_MODELS",
    "GIVEN",
    "Codec",
    "Columns",
    "Data",
    "Engine",
    "Features",
    "Ledger",
    "Local",
    "Model",
    "Plan",
    "Private",
    "Server",
    "Sharing",
    "check",
    "dump",
    "load",
    "parse",
    "to_toml",
]
