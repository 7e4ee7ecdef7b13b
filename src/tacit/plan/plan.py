"""The whole plan: its top-level keys, its tables, and the check for contradictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, assert_never

from annotated_types import Ge, Len
from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from tacit.column_statistics.agreed_values import AgreedValues
from tacit.plan import codec, track
from tacit.plan.codec import RR, Codec
from tacit.plan.kinds import STRICT, ByName, Many
from tacit.plan.presets import privacy
from tacit.plan.presets.privacy import Privacy
from tacit.plan.tables import (
    audit,
    corrupt,
    engine,
    features,
    ledger,
    local,
    model,
    negotiation,
    network,
    private,
    secure_aggregation,
    server,
    statistics,
)
from tacit.plan.tables import filter as filtering
from tacit.plan.tables.audit import Audit
from tacit.plan.tables.corrupt import Corrupt
from tacit.plan.tables.engine import Engine
from tacit.plan.tables.features import Features
from tacit.plan.tables.filter import Filter
from tacit.plan.tables.ledger import Ledger
from tacit.plan.tables.local import Local
from tacit.plan.tables.model import Logistic, Model, Worded
from tacit.plan.tables.negotiation import Negotiation
from tacit.plan.tables.network import Network
from tacit.plan.tables.private import Private
from tacit.plan.tables.rows import columns, data, public, schema, share
from tacit.plan.tables.rows.columns import Columns
from tacit.plan.tables.rows.data import Data
from tacit.plan.tables.rows.public import Public
from tacit.plan.tables.rows.schema import Schema
from tacit.plan.tables.secure_aggregation import SecureAggregation
from tacit.plan.tables.server import Server
from tacit.plan.tables.statistics import Statistics
from tacit.plan.track import Track

Regime = Literal["federated", "central", "local_only"]
# Plans written before regimes had names say "local".
Baseline = Annotated[
    Literal["central", "fedavg", "local_only", "noiseless", "same_features"],
    BeforeValidator(lambda word: "local_only" if word == "local" else word),
]
_PROMISES_EPSILON = ("private", "no_trust")
"""Presets whose settings are computed from an epsilon per run."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plan:
    """One job, complete."""

    name: Annotated[str, Len(1, 60)] = "run"
    """The run's folder is `runs/<name>-1`, `-2`, …"""
    seed: Annotated[int, Ge(0)] = 0
    """The same seed, plan and data give the same model to the bit."""
    regime: Regime = "federated"
    """`federated`: clients train one model together. `central`: one model is trained on all rows in
    one place. `local_only`: each client trains its own model and sends nothing.
    """
    baselines: Many[Baseline] = ()
    """Additional training on the same rows, for comparison, without protection. `central`: all rows
    in one place; `fedavg`: federated averaging with the same clients; `local_only`: each client
    alone; `noiseless`: this plan without its noise; `same_features`: `central` with this plan's
    features. They differ from each other in one respect, so that the verdict can name the cause of
    a gap.
    """
    baseline_settings: Literal["own", "plan"] | None = None
    """Learning rates, rounds and text features of `central` and `fedavg`. `own`: settings that suit
    training without noise, the same for every epsilon; central training chooses its learning rate
    on a tenth of its rows. `plan`: those of the plan. Default: `own` with `privacy.preset =
    "private"` or `"no_trust"` and logistic regression, otherwise `plan`.
    """
    selected_by: Annotated[str, Len(1, 300)] | None = None
    """How settings were chosen from data, if they were; `tacit plan tune` and `tacit plan sweep` write it. It
    changes no result. The privacy statement of the run repeats it, since no epsilon covers such a
    choice. Omit it if those rows were public or synthetic.
    """
    privacy: Privacy | None = None
    """The privacy guarantee, from which unset settings are computed. Without this table, unset
    settings have their defaults.
    """
    data: Data = Data()
    statistics: Statistics | None = None
    """Queries that the run answers instead of training a model. Without this table it trains one."""
    schema: Schema | None = None
    """What the cells of columns are at every site. Without this table cells are read as they are, and
    classes, categories and ranges are read from rows in the clear.
    """
    features: Features = Features()
    model: Annotated[Model, ByName("logistic", own="models")] = Logistic()
    """The network to train: built-in, or your own `nn.Module` as `package.module:name`."""
    local: Local = Local()
    private: Private = Private()
    codec: Annotated[Codec, ByName("rr", own="codecs")] = RR(epsilon=1.0, clip=1e-3)
    """How updates are encoded before they leave the client: a built-in codec, or your own as
    `package.module:name`. Without this table: `rr`, 1 per bit, clip 0.001.
    """
    secure_aggregation: SecureAggregation | None = None
    """Secure aggregation: no party sees a single update. Without this table the server sees each
    encoded update.
    """
    negotiation: Negotiation | None = None
    """Sites agree on a secret and a range before round one. Without this table they do not.
    """
    public: Public | None = None
    """Rows that the server has in the clear. Without this table it has none, and the initial model
    is random.
    """
    filter: Filter | None = None
    """Clients vote privately on whose data harms the model. Without this table there are no votes.
    """
    corrupt: Annotated[Corrupt | None, ByName("random_labels", own="attacks")] = None
    """Clients that are corrupted on purpose, for experiments in simulations. Without this table all
    clients are honest.
    """
    network: Network | None = None
    """A simulated network: availability, rates, drop-outs and a deadline. Without this table every
    client responds at once.
    """
    server: Server = Server()
    ledger: Ledger = Ledger()
    audit: Audit = Audit()
    engine: Engine = Engine()
    track: Track | None = None
    """Trackers that receive the figures of the run. Without this table there are none."""

    @staticmethod
    def load(path: str | Path, *overrides: str) -> Plan:
        """Read and check a plan file, with `table.key=value` overrides as in `tacit run -o`."""
        from tacit.plan.load import load

        return load(Path(path), list(overrides))

    def with_settings(self, *settings: str) -> Plan:
        """The plan with `table.key=value` settings, as in `tacit run -o`; settings computed by its
        preset are recomputed.

        `dataclasses.replace` changes one table and leaves computed settings as they were; such a
        plan is refused.
        """
        from tacit.plan.changed import with_settings

        return with_settings(self, list(settings))

    @property
    def personal(self) -> bool:
        """Whether parameters may be private, so that every client has its own model."""
        return isinstance(self.model, Worded) or bool(self.private.parameters)

    @property
    def gives_baselines_own_settings(self) -> bool:
        """Whether baselines have their own settings instead of the plan's."""
        match self.baseline_settings:
            case "own":
                return True
            case "plan":
                return False
            case None:
                promises = self.privacy is not None and self.privacy.preset in _PROMISES_EPSILON
                return promises and suits_own_baselines(self)
            case _:
                assert_never(self.baseline_settings)

    def agree_values(self, columns: Columns) -> AgreedValues:
        """What the plan states about columns with these roles, so that it is not read from rows."""
        agreed, features = schema.agree_values(self.schema, columns), self.features
        return replace(
            agreed,
            classes=agreed.classes or features.classes,
            categories={**agreed.categories, **features.categories},
        )

    @property
    def helpers(self) -> int:
        """Number of helpers; 0 without secure aggregation."""
        return self.secure_aggregation.helpers if self.secure_aggregation else 0

    @property
    def negotiated_file(self) -> str | None:
        """The file with what clients negotiated before round one, if the codec names one."""
        return getattr(self.codec, "agreed", None)

    @property
    def negotiates_range(self) -> bool:
        """Whether sites agree on the codec's range before round one."""
        settings = self.codec
        return (
            self.negotiation is not None
            and isinstance(settings, codec.HashComb)
            and settings.x_min is None
            and settings.x_max is None
        )

    @property
    def delta(self) -> float:
        """Delta of totals per run: the codec's, if its epsilon is per run, else the ledger's."""
        return float(getattr(self.codec, "delta", self.ledger.delta))


def suits_own_baselines(plan: Plan) -> bool:
    """Whether baselines of the plan can have their own settings: logistic regression on columns,
    hashed or listed words.
    """
    plain_features = plan.features.text in ("binary", "listed") and plan.features.quantise is None
    return isinstance(plan.model, Logistic) and plain_features and not plan.personal


def _baseline_problems(plan: Plan) -> list[str]:
    """List contradictory settings of baselines, one sentence each."""
    twice = [name for name in dict.fromkeys(plan.baselines) if plan.baselines.count(name) > 1]
    found = [f"baselines contains {name!r} twice; name it once" for name in twice]
    if plan.baseline_settings == "own" and not suits_own_baselines(plan):
        found.append(
            "baseline_settings = 'own' requires model.name = 'logistic' and features.text = 'binary'"
            " or 'listed'; use 'plan'"
        )
    if plan.personal and "same_features" in plan.baselines:
        found.append(
            "baselines: 'same_features' cannot be combined with private parameters; remove it"
        )
    return found


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    present = {
        privacy: plan.privacy is not None,
        columns: True,
        data: True,
        schema: plan.schema is not None,
        share: plan.data.share is not None,
        features: True,
        model: True,
        local: True,
        private: True,
        codec: True,
        secure_aggregation: plan.secure_aggregation is not None,
        negotiation: plan.negotiation is not None,
        public: plan.public is not None,
        filtering: plan.filter is not None,
        corrupt: plan.corrupt is not None,
        network: plan.network is not None,
        server: True,
        ledger: True,
        engine: True,
        audit: plan.audit.canaries is not None,
        track: plan.track is not None,
        statistics: plan.statistics is not None,
    }
    return [
        *(
            problem
            for table, is_present in present.items()
            if is_present
            for problem in table.problems(plan)
        ),
        *_baseline_problems(plan),
    ]
