"""A whole run: the arms of the plan in sequence, starting from the last checkpoint."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import plan as plans
from tacit.assembly.own_parts import check_own_parts
from tacit.assembly.run_files import StoredFeatures, open_desk, store_model, write_beginning
from tacit.errors import RunError, TacitError
from tacit.files import replace_file
from tacit.plan import GIVEN, Features, Plan
from tacit.privacy import ledger
from tacit.protocol import loop
from tacit.protocol.observer import Observer, Silence
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.runs import checkpoint, run_folder
from tacit.runs.allowed_code import require_permission
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.client_numbers import store_simulated_clients
from tacit.runs.facts import build_started
from tacit.runs.fingerprint import Fingerprints
from tacit.runs.record import FEATURES, RUN
from tacit.runs.recovery import build_abandoned_error, recover
from tacit.runs.run_keys import delete_keys
from tacit.simulation.arm import Setting, SimulatedArm
from tacit.simulation.baselines.arms import list_arms
from tacit.simulation.facts import prepared
from tacit.simulation.fingerprint import compute_data_fingerprints
from tacit.simulation.numbers import Numbers
from tacit.simulation.prepared_rows import SimulatedData, keep_input_rows, prepare
from tacit.simulation.workers import children

if TYPE_CHECKING:
    from tacit.simulation.bought_features import FeaturePurchase
    from tacit.simulation.cluster.driver import Cluster


def start(
    plan: Plan,
    root: Path = Path("runs"),
    observer: Observer | None = None,
    input_rows: object | None = None,
    module: object | None = None,
) -> Path:
    """Run a plan to its end in a new folder and return the folder."""
    plans.check(plan)
    if plan.negotiated_file is not None:
        from tacit.assembly.negotiated import read_negotiated

        read_negotiated(plan)  # refuse before any file is written
    plan = plans.pin_own_parts(plan)  # a resumed run needs the same code
    check_own_parts(plan, module)
    place = run_folder.create(plan, root)
    observer = observer or Silence()
    try:
        with run_folder.lock(place):
            observer.opened(place)
            return Job(place, plan, observer, input_rows, module, allow_code=True).run()
    except TacitError:
        if not (place / checkpoint.NAME).exists():  # nothing was trained, so the folder is useless
            run_folder.remove(place)
        raise


def resume(
    place: Path,
    observer: Observer | None = None,
    input_rows: object | None = None,
    module: object | None = None,
    *,
    allow_code: bool = False,
    cluster: str | None = None,
) -> Path:
    """Resume a run from its last checkpoint and run it to its end; a finished run is not changed.

    A run's folder may come from anybody, so a class that its plan names is imported only with
    `allow_code`, and only `cluster` names a cluster to attach to ("none": this machine).
    """
    run_folder.refuse_links(place)
    plan = _choose_engine(place, run_folder.read_plan(place), cluster)
    if plan.data.source == GIVEN and input_rows is None:
        raise RunError(
            f"{place}: its rows were given in Python; resume it there with"
            " tacit.resume(folder, rows=…)"
        )
    observer = observer or Silence()
    with run_folder.lock(place):
        run_folder.remove_unfinished(place)
        observer.opened(place)
        return Job(place, plan, observer, input_rows, module, allow_code=allow_code).run()


NO_CLUSTER = "none"
"""In place of a cluster's address: this machine."""


def _choose_engine(place: Path, plan: Plan, cluster: str | None) -> Plan:
    """The plan with another cluster; RunError if it names one that this user has not named."""
    if cluster is not None:
        chosen = None if cluster == NO_CLUSTER else cluster
        plan = replace(plan, engine=replace(plan.engine, cluster=chosen))
        plans.check(plan)
    elif plan.engine.attaches:
        raise RunError(
            f"{place}: its plan names the cluster {plan.engine.cluster!r}; resume it with --cluster"
            f" {plan.engine.cluster} if that cluster may read its rows, or with --cluster"
            f" {NO_CLUSTER}"
        )
    return plan


class Job:
    """One run in one folder."""

    def __init__(
        self,
        place: Path,
        plan: Plan,
        observer: Observer,
        input_rows: object | None,
        module: object | None,
        *,
        allow_code: bool,
    ) -> None:
        self.place, self.plan, self.observer = place, plan, observer
        self.input_rows, self.module, self.allow_code = input_rows, module, allow_code
        self.model: Vector | None = None  # the last checkpoint of the run, once it exists
        self.draws = Draws.seeded(plan.seed)
        self.arms, self.filled = list_arms(plan), plan
        self.purchase: FeaturePurchase | None = None
        self._encoded: list[tuple[Features, SimulatedData]] = []

    def run(self) -> Path:
        """Run the remaining part of every arm."""
        bought = [FEATURES] if self.plan.features.is_bought else []
        found = recover(self.place, self.plan, [*bought, *self.arms])
        last = found.last
        if found.is_abandoned:
            raise build_abandoned_error(self.place)
        if found.is_finished:
            delete_keys(self.place)  # the process may have been killed in between
            return self.place
        require_permission(
            self.place / run_folder.PLAN,
            self.plan,
            allow_code=self.allow_code,
            module=self.module,
        )
        check_own_parts(self.plan, self.module)
        self._prepare_purchase()
        with children.stoppable():
            data = self._data() if self.purchase is None else self.purchase.cells
            fingerprints = compute_data_fingerprints(self.plan, data)
            if last:
                _check_data(self.place, last.fingerprints, fingerprints)
            with (
                open_desk(self.place, found, fingerprints, self.observer) as desk,
                self._open_cluster() as cluster,
            ):
                setting = Setting(
                    desk=desk, draws=self.draws, data=data, module=self.module, cluster=cluster
                )
                self._run_arms(setting, last)
        delete_keys(self.place)
        return self.place

    def _prepare_purchase(self) -> None:
        """Prepare the arm that buys features, if the plan has it; it runs before all others."""
        if not self.plan.features.is_bought or isinstance(self.input_rows, Numbers):
            return
        from tacit.simulation.bought_features import prepare_purchase

        if self.input_rows is not None:  # rows are read twice
            self.input_rows = keep_input_rows(self.input_rows)
        self.purchase = prepare_purchase(
            self.plan, self.draws, self.input_rows, self.observer.fetched
        )
        if self.purchase is not None:
            self.arms = {FEATURES: self.purchase.plan, **self.arms}

    def _use_answers(self, setting: Setting) -> Setting:
        """The rows encoded with the features that were bought, and the arms with them."""
        assert self.purchase is not None
        from tacit.assembly.queries.bought_features import fill_in_features
        from tacit.simulation.bought_features import find_answers

        answers = find_answers(list(run_folder.entries(self.place)))
        columns = self.purchase.table.columns
        for name, plan in self.arms.items():
            if plan.features.is_bought and name != FEATURES:
                self.arms[name] = fill_in_features(plan, columns, answers)
        self.filled = self.arms[RUN]
        return replace(setting, data=self._prepare(self.filled))

    def _data(self) -> SimulatedData:
        if isinstance(self.input_rows, Numbers):
            return self.input_rows.as_data(self.plan.features)
        return self._prepare(self.plan)

    def _open_cluster(self) -> AbstractContextManager[Cluster | None]:
        if self.plan.engine.cluster is None:
            return nullcontext()
        from tacit.simulation.cluster.driver import open_cluster

        return open_cluster(self.plan, self.input_rows, self.module)

    def _prepare(self, plan: Plan) -> SimulatedData:
        return prepare(
            plan, self.draws, self.input_rows, self.observer.fetched, self.observer.encoded
        )

    def _prepare_setting(self, name: str, setting: Setting) -> Setting:
        """The rows of an arm: those of the run, or the same rows with the arm's own features."""
        plan = self.arms[name]
        if plan.features == self.filled.features or isinstance(self.input_rows, Numbers):
            return setting
        found = next((data for features, data in self._encoded if features == plan.features), None)
        if found is None:
            found = self._prepare(plan)
            self._encoded.append((plan.features, found))
        return replace(setting, data=found)

    def _run_arms(self, setting: Setting, last: Checkpoint | None) -> None:
        names, account = list(self.arms), list[dict[str, Any]]()
        for name in names[names.index(last.progress.arm) :] if last else names:
            is_next = last is not None and last.progress.arm == name
            begun = last if last is not None and is_next and last.progress.begun else None
            if last is not None and is_next and begun is None:
                account = last.progress.account
            following = names[names.index(name) + 1] if name != names[-1] else checkpoint.ALL_DONE
            if name == FEATURES:
                account = self._buy(setting, begun, following)
                continue
            if self.purchase is not None and self.filled is self.plan:
                setting = self._use_answers(setting)
            self._run_arm(setting, name, begun, following, account)
            account = []

    def _buy(
        self, setting: Setting, begun: Checkpoint | None, following: str
    ) -> list[dict[str, Any]]:
        """Run the arm that buys features; return what its clients were charged."""
        simulated = SimulatedArm(replace(setting, cluster=None), FEATURES, self.arms[FEATURES])
        if begun is None:
            prints = setting.desk.fingerprints
            setting.desk.note(
                build_started(self.plan, simulated.learner, prints, setting.desk.writer.key)
            )
        now = simulated.run(begun)
        model = simulated.last_model(now)
        loop.finish(simulated.arm, setting.desk, now, model, following)
        return now.progress.account

    def _run_arm(
        self,
        setting: Setting,
        name: str,
        begun: Checkpoint | None,
        following: str,
        account: list[dict[str, Any]],
    ) -> None:
        setting = self._prepare_setting(name, setting)
        simulated = SimulatedArm(setting, name, self.arms[name])
        if name == RUN and begun is None:
            self._open(setting, simulated)
        now = simulated.run(begun, account)
        model = simulated.last_model(now)
        if name == RUN:
            self.model = model
            data = setting.data
            stored = StoredFeatures(
                inputs=data.train.inputs.width,
                columns=data.columns,
                fitted=data.fitted,
                formats=data.habits.to_dict(),
            )
            if self.plan.personal:
                store_simulated_clients(self.place, self.plan, len(data.clients), data.owners)
            if self.plan.statistics is None:
                store_model(setting.desk, self.filled, simulated.learner, model, stored)
        setting.desk.note(*simulated.list_audits(now))
        loop.finish(simulated.arm, setting.desk, now, model, following)

    def _open(self, setting: Setting, simulated: SimulatedArm) -> None:
        """Write the start of the record: what the run uses, and what was released before round one."""
        desk, data = setting.desk, setting.data
        learner = simulated.learner
        write_beginning(
            desk,
            self.plan,
            learner,
            prepared(self.filled, data, learner),
            data.released,
            is_started=self.purchase is not None,
        )
        if data.corruption:
            desk.note(data.corruption.entry())
        if data.disclosure:
            desk.note(data.disclosure.facts, *ledger.build_releases(data.disclosure.facts))
            desk.writer.sync()  # charged before it is released
            replace_file(self.place / run_folder.DISCLOSED, data.disclosure.parquet())


def _check_data(place: Path, before: Fingerprints, now: Fingerprints) -> None:
    if before.data != now.data:
        raise RunError(
            f"{place}: its data changed since the run began (rows, labels, columns or who holds"
            " them); restore the old data, or start the plan as a new run with `tacit run`"
        )
