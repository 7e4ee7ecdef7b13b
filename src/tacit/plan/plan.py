"""The whole plan: what stands at its top, its tables, and everything in it that has no meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, assert_never

from annotated_types import Ge, Len
from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from tacit.plan import codec
from tacit.plan.codec import RR, Codec
from tacit.plan.kinds import STRICT, ByName, Many
from tacit.plan.presets import privacy
from tacit.plan.presets.privacy import Privacy
from tacit.plan.tables import (
    audit,
    columns,
    corrupt,
    data,
    features,
    ledger,
    local,
    model,
    private,
    public,
    secure_aggregation,
    server,
    share,
)
from tacit.plan.tables import filter as filtering
from tacit.plan.tables.audit import Audit
from tacit.plan.tables.corrupt import Corrupt
from tacit.plan.tables.data import Data
from tacit.plan.tables.engine import Engine
from tacit.plan.tables.features import Features
from tacit.plan.tables.filter import Filter
from tacit.plan.tables.ledger import Ledger
from tacit.plan.tables.local import Local
from tacit.plan.tables.model import Logistic, Model, Worded
from tacit.plan.tables.private import Private
from tacit.plan.tables.public import Public
from tacit.plan.tables.secure_aggregation import SecureAggregation
from tacit.plan.tables.server import Server

Regime = Literal["federated", "central", "local_only"]
# Plans written before regimes had names say "local".
Baseline = Annotated[
    Literal["central", "fedavg", "local_only", "noiseless", "same_features"],
    BeforeValidator(lambda word: "local_only" if word == "local" else word),
]
_PROMISES_EPSILON = ("private", "no_trust")
"""Presets whose settings follow from an epsilon per run."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plan:
    """One job, complete."""

    name: Annotated[str, Len(1, 60)] = "run"
    """The run's folder is `runs/<name>-1`, `-2`, …"""
    seed: Annotated[int, Ge(0)] = 0
    """Same seed, same plan, same data: the same model to the bit."""
    regime: Regime = "federated"
    """Clients train one model together; or one model is trained on all rows in one place; or each
    client trains a model of its own and sends nothing.
    """
    baselines: Many[Baseline] = ()
    """Trained beside the run to compare with, on the same rows. They protect nothing. `central`:
    all rows in one place; `fedavg`: the same clients; `local_only`: each client by itself;
    `noiseless`: this plan without its noise; `same_features`: `central` with this plan's features.
    Each differs from another in one thing, so that the verdict can say what a gap is due to.
    """
    baseline_settings: Literal["own", "plan"] | None = None
    """Where `central` and `fedavg` take learning rates, rounds and text features from. `own`:
    settings that suit training without noise, the same for every epsilon; central training chooses
    its learning rate on a tenth of its rows. `plan`: those of the plan. Without this key: `own`
    with `privacy.preset = "private"` or `"no_trust"` and logistic regression, otherwise `plan`.
    """
    selected_by: Annotated[str, Len(1, 300)] | None = None
    """How settings were chosen by looking at data, if they were: `tacit tune` and `tacit sweep`
    write it. It changes nothing that is computed; the run's statement says it, since no epsilon
    covers such a choice. Leave it out if those rows were public or made up.
    """
    privacy: Privacy | None = None
    """What is promised, in one line: fills in the settings a plan leaves open. Without this table
    nothing is filled in.
    """
    data: Data = Data()
    features: Features = Features()
    model: Annotated[Model, ByName("logistic", own="models")] = Logistic()
    """What is trained: a built-in network, or your own `nn.Module` as `package.module:name`."""
    local: Local = Local()
    private: Private = Private()
    codec: Annotated[Codec, ByName("rr", own="codecs")] = RR(epsilon=1.0, clip=1e-3)
    """What happens to an update before it leaves the client: a built-in codec, or your own as
    `package.module:name`. Without this table: `rr`, 1 per bit,
    clip 0.001.
    """
    secure_aggregation: SecureAggregation | None = None
    """Updates are added up so that nobody sees a single one. Without this table the server sees
    each, as its codec leaves it.
    """
    public: Public | None = None
    """Rows that are at the center in the clear. Without this table it has none, and the first model
    is random.
    """
    filter: Filter | None = None
    """Clients vote, in private, on whose data harms the model. Without this table nobody votes."""
    corrupt: Annotated[Corrupt | None, ByName("random_labels")] = None
    """Clients that are corrupted on purpose, for experiments in simulations. Without this table
    nobody is.
    """
    server: Server = Server()
    ledger: Ledger = Ledger()
    audit: Audit = Audit()
    engine: Engine = Engine()

    @staticmethod
    def load(path: str | Path, *overrides: str) -> Plan:
        """Return the plan in a TOML file, checked, with `table.key=value` overrides as `tacit run
        -o` takes them.
        """
        from tacit.plan.load import load

        return load(Path(path), list(overrides))

    def with_settings(self, *settings: str) -> Plan:
        """Return the plan with `table.key=value` settings, as `tacit run -o` takes them; what its
        preset filled in follows them.

        `dataclasses.replace` changes one table and leaves the others as they were made, for another
        epsilon or number of clients; a plan that was changed so is refused.
        """
        from tacit.plan.changed import with_settings

        return with_settings(self, list(settings))

    @property
    def personal(self) -> bool:
        """Return whether parameters may stay with the clients, so that every client has a model of
        its own.
        """
        return isinstance(self.model, Worded) or bool(self.private.parameters)

    @property
    def gives_baselines_own_settings(self) -> bool:
        """Return whether baselines have settings of their own in place of the plan's."""
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

    @property
    def helpers(self) -> int:
        """Return how many helpers the plan's sums have; none without a secure sum."""
        return self.secure_aggregation.helpers if self.secure_aggregation else 0

    @property
    def delta(self) -> float:
        """Return the delta of totals per run: the codec's own, if its epsilon is per run, else the
        ledger's.
        """
        return float(getattr(self.codec, "delta", self.ledger.delta))


def suits_own_baselines(plan: Plan) -> bool:
    """Return whether there are settings for baselines of such a plan: logistic regression on
    columns, hashed or listed words.
    """
    plain_features = plan.features.text in ("binary", "listed") and plan.features.quantise is None
    return isinstance(plan.model, Logistic) and plain_features and not plan.personal


def _baseline_problems(plan: Plan) -> list[str]:
    """Return what is wrong with the baselines."""
    twice = [name for name in dict.fromkeys(plan.baselines) if plan.baselines.count(name) > 1]
    found = [f"baselines: names {name!r} twice; name it once" for name in twice]
    if plan.baseline_settings == "own" and not suits_own_baselines(plan):
        found.append(
            "baseline_settings: 'own' needs model.name = 'logistic' and features.text = 'binary' or"
            " 'listed'; use 'plan'"
        )
    if plan.personal and "same_features" in plan.baselines:
        found.append(
            "baselines: 'same_features' has no meaning where a part of the model stays with each"
            " client; remove it"
        )
    return found


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    tables = (
        privacy,
        columns,
        data,
        share,
        features,
        model,
        local,
        private,
        codec,
        secure_aggregation,
        public,
        filtering,
        corrupt,
        server,
        ledger,
        audit,
    )
    return [
        *(problem for table in tables for problem in table.problems(plan)),
        *_baseline_problems(plan),
    ]
