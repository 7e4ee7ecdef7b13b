"""A whole run: the plan's arms one after the other, from the last checkpoint on."""

from __future__ import annotations

from pathlib import Path

from tacit import plan as plans
from tacit import record
from tacit.draws import Draws
from tacit.engine import checkpoint, children, run_folder
from tacit.engine.arm import Arm, Desk
from tacit.engine.arms import arms_of
from tacit.engine.checkpoint import Checkpoint
from tacit.engine.fingerprint import Fingerprints, data_fingerprint, plan_fingerprint
from tacit.engine.prepare import Ground, prepare
from tacit.engine.watch import Silence, Watch
from tacit.errors import RunError, TacitError
from tacit.plan import GIVEN, Plan


def start(
    plan: Plan, root: Path = Path("runs"), watch: Watch | None = None, given: object | None = None, module: object | None = None
) -> Path:
    """Run a plan to its end in a new folder and return the folder."""
    plans.check(plan)
    place = run_folder.create(plan, root)
    watch = watch or Silence()
    try:
        with run_folder.lock(place):
            watch.opened(place)
            return Job(place, plan, watch, given, module).run()
    except TacitError:
        if not (place / checkpoint.NAME).exists():  # nothing was trained: the folder would only be in the way
            run_folder.remove(place)
        raise


def resume(place: Path, watch: Watch | None = None, given: object | None = None, module: object | None = None) -> Path:
    """Take a run up where its last checkpoint left it and run it to its end; a finished run is left as it is."""
    run_folder.refuse_links(place)
    plan = run_folder.plan_of(place)
    if plan.data.source == GIVEN and given is None:
        raise RunError(f"{place}: its rows were handed over in Python; resume it there with tacit.resume(folder, rows=…)")
    watch = watch or Silence()
    with run_folder.lock(place):
        run_folder.remove_unfinished(place)
        watch.opened(place)
        return Job(place, plan, watch, given, module).run()


class Job:
    """One run in one folder."""

    def __init__(self, place: Path, plan: Plan, watch: Watch, given: object | None, module: object | None) -> None:
        self.place, self.plan, self.watch = place, plan, watch
        self.given, self.module = given, module
        self.draws = Draws.seeded(plan.seed)
        self.arms = arms_of(plan)

    def run(self) -> Path:
        """Run what is left of every arm."""
        last = self._recover()
        if last and last.progress.arm == _ALL_DONE:
            return self.place
        with children.stoppable():
            ground = prepare(self.plan, self.draws, self.given, self.watch.fetched)
            fingerprints = Fingerprints(plan=plan_fingerprint(self.plan), data=data_fingerprint(ground))
            if last:
                _check_data(self.place, last.fingerprints, fingerprints)
            writer = record.Writer(self.place / run_folder.RECORD, last.mark if last else None)
            desk = Desk(
                place=self.place, plan=self.plan, draws=self.draws, writer=writer, watch=self.watch, module=self.module,
                fingerprints=fingerprints,
            )  # fmt: skip
            try:
                self._run_arms(desk, ground, last)
            finally:
                writer.close()
        return self.place

    def _run_arms(self, desk: Desk, ground: Ground, last: Checkpoint | None) -> None:
        names = list(self.arms)
        if last:
            desk.note(record.Resumed(arm=last.progress.arm, round_no=last.progress.round_no))
        for name in names[names.index(last.progress.arm) :] if last else names:
            begun = last if last and last.progress.arm == name else None
            following = names[names.index(name) + 1] if name != names[-1] else _ALL_DONE
            Arm(desk, name, self.arms[name], ground).run(begun, following)

    def _recover(self) -> Checkpoint | None:
        """Return the last checkpoint, with the record cut back to it; None if no round was ever begun.

        Raises RunError if a file is damaged, or if the plan is not the one the run began with.
        """
        path = self.place / run_folder.RECORD
        if not (self.place / checkpoint.NAME).exists():
            if path.exists() and record.has_rounds(path):
                raise RunError(f"{self.place / checkpoint.NAME}: is missing, though rounds were recorded; start the plan anew")
            path.unlink(missing_ok=True)
            return None
        last = checkpoint.read(self.place)
        if last.fingerprints.plan != plan_fingerprint(self.plan):
            raise RunError(
                f"{self.place / run_folder.PLAN}: was changed since the run began, and what it promised would no longer be true; "
                "put the old settings back, or start the new plan with `tacit run`"
            )
        if last.progress.arm == _ALL_DONE:
            record.verify(path, last.mark)
        elif last.progress.arm in self.arms:
            record.cut(path, last.mark)
        else:
            raise RunError(f"{self.place / run_folder.PLAN}: needs the baseline {last.progress.arm!r}; the run was stopped in it")
        return last


def _check_data(place: Path, before: Fingerprints, now: Fingerprints) -> None:
    if before.data != now.data:
        raise RunError(
            f"{place}: its data changed since the run began (rows, labels, columns or who holds them); "
            "put the old data back, or start the plan anew with `tacit run`"
        )


_ALL_DONE = "(all done)"
"""Where a checkpoint points when no arm is left."""
