"""The clients of an arm of a simulated run: their learner, their rows and memory as one site, and the
exchanges they answer. The driver of a run builds them, and so does each actor of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from tacit import training
from tacit.assembly.agreement import RunFacts, build_agreement
from tacit.assembly.client_side import PrivateParts, SiteClients, build_learner, build_site
from tacit.assembly.exchanges import ServerParts, build_exchanges, build_train
from tacit.plan import Local, Plan
from tacit.privacy.claim import Claim
from tacit.protocol.exchanges.train import Train, UpdateExchange
from tacit.protocol.round import Exchange
from tacit.protocol.site import OwnRows, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Rows
from tacit.runs import run_folder
from tacit.runs.record import RUN
from tacit.simulation.baselines.arms import central_settings, pooled
from tacit.simulation.facts import pooled_rows
from tacit.simulation.prepared_rows import SimulatedData


@dataclass(frozen=True, kw_only=True)
class ClientSetting:
    """What clients of all arms share: the run's folder, which has the run's name, the identity of
    its computation, the root of its randomness, the rows, and a module given in Python.
    """

    folder: Path
    identity: str
    draws: Draws
    data: SimulatedData
    module: object | None = None


class Pooled(Train):
    """Central training as a round: one client has all rows, with the plan's features."""

    def __init__(self, setting: ClientSetting, plan: Plan, site: Site) -> None:
        super().__init__(site.agreement, setting.draws)
        self._handed_over = pooled_rows(plan)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The claim that all rows are in one place, and in what form."""
        return (self._handed_over,)


class ArmClients:
    """All clients of an arm, as one site."""

    def __init__(self, setting: ClientSetting, name: str, plan: Plan) -> None:
        self.setting, self.name, self.plan = setting, name, plan
        self.regime = plan.regime
        self.disclosure = setting.data.disclosure if name == RUN else None
        self.halves = self._set_validation_rows_aside()
        self.learner = self._learner()
        clients = self._clients()
        self.sizes = clients.sizes()
        self.facts = self._facts(clients)
        self.agreement = build_agreement(self.plan, self.facts, self.learner)
        self.site = self._site(clients)

    def build_exchanges(self, parts: ServerParts) -> tuple[Exchange, ...]:
        """The exchanges of a round; `parts` are empty at a machine that only computes responses."""
        train = self._train(parts)
        return build_exchanges(self.plan, self.facts, train, self.learner)

    def memory_folders(self) -> dict[str, Path]:
        """The folders with what clients keep between rounds, by what it is."""
        kinds = ("model", "codec") if self.plan.personal else ("codec",)
        return {kind: self.folder(kind) for kind in kinds}

    def shared_files(self) -> dict[str, Path]:
        """Files that all machines of a run must have in its folder, by their path inside it."""
        path = self.folder("negotiated")
        return {str(path.relative_to(self.setting.folder)): path}

    def _train(self, parts: ServerParts) -> UpdateExchange:
        match self.regime:
            case "central":
                return Pooled(self.setting, self.plan, self.site)
            case "federated" | "local_only":
                draws = self.setting.draws
                return build_train(self.plan, self.facts, self.agreement, draws, parts)
            case _:
                assert_never(self.regime)

    def _set_validation_rows_aside(self) -> tuple[Rows, Rows] | None:
        """Set validation rows aside in central training, which keeps the pass with the best
        validation loss.

        A plan whose own regime is central trains on all rows.
        """
        plan, data, draws = self.plan, self.setting.data, self.setting.draws
        chooses = plan.regime == "central" and plan.baseline_settings == "own"
        if plan.personal or not (self.name == "central" or chooses):
            return None
        from tacit.simulation.baselines.early_stop import hold_rows_out
        from tacit.simulation.baselines.own_baselines import choose_rate

        halves = hold_rows_out(data.train, data.clients, draws.at("central", "validation"))
        if halves and chooses:
            rate = choose_rate(plan, halves, draws.at("central"), self.setting.module)
            self.plan = replace(plan, local=rate)
        return halves

    def _learner(self) -> training.Learner:
        data, plan, settings = self.setting.data, self.plan, self.plan.local
        rows, holders = data.train, data.clients
        if self.regime == "central":
            from tacit.simulation.baselines.early_stop import give_to_one_client

            settings = central_settings(plan.local, data.clients)
            holders = pooled(data.clients)
            if self.halves:
                rows, holders = self.halves[0], give_to_one_client(self.halves[0])
        elif self.disclosure:
            rows, holders = self.disclosure.train, self.disclosure.holders
        elif self.regime == "federated" and data.corruption is not None:
            from tacit.simulation.adversaries.corruption import append_rows_before

            rows, holders = append_rows_before(rows, holders, data.corruption)

        def build(rows: Rows, holders: Clients) -> training.Learner:
            return self.build_learner_over(settings, rows, holders)

        match plan.data.deal:
            case "once":
                return build(rows, holders)
            case "every_round":
                if self.regime != "federated":
                    return build(rows, holders)
                from tacit.simulation.reshuffled_rows import ReshuffledRows

                return ReshuffledRows(build, rows, holders, self.setting.draws.at("deal"))
            case _:
                assert_never(plan.data.deal)

    def build_learner_over(self, local: Local, rows: Rows, holders: Clients) -> training.Learner:
        """Build the arm's learner over some rows, with these local settings."""
        setting = self.setting
        parts = PrivateParts(
            folder=self.folder("model"), draws=setting.draws, lexicon=setting.data.lexicon
        )
        return build_learner(replace(self.plan, local=local), rows, holders, parts, setting.module)

    def folder(self, what: str) -> Path:
        """The folder where clients store their part of the model, or their state of the codec."""
        kept = self.setting.folder / run_folder.PRIVATE
        return kept / self.name if what == "model" else kept / f"{self.name}.{what}"

    def _clients(self) -> Clients:
        """The rows that each client trains on: its own, or one client with all of them."""
        data = self.setting.data
        if self.regime == "central":
            return pooled(data.clients)
        return self.disclosure.clients if self.disclosure else data.clients

    def _facts(self, clients: Clients) -> RunFacts:
        setting, draws = self.setting, self.setting.draws
        weights = training.compute_weights(self.plan.server, clients.sizes())
        return RunFacts(
            run=setting.folder.name,
            identity=setting.identity,
            clients=len(clients),
            public=draws.publish("public"),
            largest_weight=max(1, int(weights.max(initial=1))),
            helpers=self._helper_keys(),
            arm=self.name,
        )

    def _helper_keys(self) -> tuple[bytes, ...]:
        if self.plan.secure_aggregation is None:
            return ()
        from tacit.simulation.helpers import draw_public_keys

        return draw_public_keys(self.plan, self.setting.draws)

    def _site(self, clients: Clients) -> Site:
        data, draws = self.setting.data, self.setting.draws
        is_federated = self.regime == "federated"
        corruption = data.corruption if is_federated else None
        rows = self.disclosure.train if self.disclosure and is_federated else data.train
        holders = clients
        if corruption is not None:
            from tacit.simulation.adversaries.corruption import append_rows_before

            rows, holders = append_rows_before(rows, clients, corruption)
        site = build_site(
            self.plan,
            self.agreement,
            self.learner,
            SiteClients(
                names=range(len(clients)),
                sizes=clients.sizes(),
                root=draws,
                rows=self._own_rows(rows, holders),
                codec_folder=self.folder("codec"),
                ledger_file=self.folder("ledger.safetensors") if is_federated else None,
            ),
        )
        if is_federated and self.plan.negotiation is not None:
            from tacit.assembly.negotiated import negotiate_in_simulation

            negotiate_in_simulation(self.plan, site, draws, self.folder("negotiated"))
        if corruption is not None:
            from tacit.simulation.adversaries.behaviour import Misbehaving

            site.behaviour = Misbehaving(
                corruption.settings,
                corruption.clients,
                draws.at("attack"),
                rows_before=corruption.before is not None,
            )
        return site

    def _own_rows(self, rows: Rows, holders: Clients) -> OwnRows:
        """The rows of clients: those they train on, and those on which they evaluate others."""
        data = self.setting.data
        if self.disclosure is None or not self.plan.data.local_test or self.plan.data.divide_test:
            return OwnRows(rows, holders, data.own, data.own_clients)
        tests = data.own_clients.select(self.disclosure.tests)
        return OwnRows(rows, holders, data.own.take(tests.order), tests.in_place())
