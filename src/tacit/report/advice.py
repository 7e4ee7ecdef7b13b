"""Why a run is below its reference, and what to change: one finding per cause."""

from __future__ import annotations

import math
from typing import assert_never

from tacit.report import phrasing
from tacit.report.causes import (
    Gap,
    average_quarters,
    drifts_towards_own_labels,
    find_arm_without_noise,
    find_rate_key,
    has_falling_loss,
    has_noise,
    has_own_baselines,
    is_rising,
)
from tacit.report.figures import ArmFigures, Summary
from tacit.report.finding import ResultFinding
from tacit.runs.record import RUN

_FEW_ROUNDS = 10
_USUAL_EPSILON, _USUAL_CLIENTS = 8.0, 5000
"""Typical values for the `private` preset. Of epsilon per run and clients, the one further below is
called too small.
"""


def explain_gap(run: Summary, ours: ArmFigures, gap: Gap, distance: str) -> ResultFinding:
    """Explain why a run is below its reference and what to change, or which baseline would show the
    cause.
    """
    says, cause = f"Below {distance}", gap.cause
    match cause:
        case None:
            return _unknown(run, says)
        case "noise":
            return _noise(run, says, gap.parts["noise"] or 0.0)
        case "features":
            return _features(run, says, gap.parts["features"] or 0.0)
        case "division":
            arm = run.arm("fedavg")
            return _training(
                run,
                says,
                arm if arm and not has_own_baselines(run.plan) else find_arm_without_noise(run),
                "division",
            )
        case "settings":
            return _training(run, says, find_arm_without_noise(run), "settings")
        case _:
            assert_never(cause)


def _unknown(run: Summary, says: str) -> ResultFinding:
    wanted = ["central", "fedavg", *(["noiseless"] if has_noise(run.plan) else [])]
    wanted += ["same_features"] if has_own_baselines(run.plan) else []
    missing = [name for name in wanted if (arm := run.arm(name)) is None or not arm.finished]
    return ResultFinding(
        kind="cause unknown",
        says=f"{says} The cause is unknown.",
        change=(
            f"Add {' and '.join(repr(name) for name in missing)} to baselines; then the report"
            " can name the cause."
            if missing
            else ""
        ),
    )


def _points(run: Summary, part: float) -> str:
    return (
        f"{100 * part:.1f} points"
        if run.leading == "accuracy"
        else f"{part:.3f} of {phrasing.METRICS[run.leading]}"
    )


def _noise(run: Summary, says: str, part: float) -> ResultFinding:
    codec = run.plan.get("codec", {})
    if codec.get("decoder") == "printed":
        return ResultFinding(
            kind="decoder",
            says=(
                f"{says} The decoder is biased: codec.decoder = 'printed' follows the paper's text,"
                " which contains an error."
            ),
            change="Set codec.decoder = 'corrected'.",
        )
    clients = run.data.clients if run.data else 0
    cost = (
        f"{says} Noise costs {_points(run, part)}: the same plan without noise is that much better."
    )
    whole = run.privacy.total("run")
    asked = (run.plan.get("privacy") or {}).get("epsilon")
    epsilon = float(asked or (whole.epsilon if whole and whole.epsilon else _USUAL_EPSILON))
    if _USUAL_EPSILON / epsilon > max(1.0, _USUAL_CLIENTS / max(1, clients)):
        return ResultFinding(
            kind="epsilon too small",
            says=f"{cost} Epsilon {epsilon:g} per run is small for {clients:,} clients.",
            change=(
                "Recruit more clients; or, if the data owners agree, set epsilon ="
                f" {min(8.0, 4 * epsilon):g} per run."
            ),
        )
    return ResultFinding(
        kind="too few clients",
        says=f"{cost} {clients:,} clients are few for this noise.",
        change=(
            "Recruit more clients: the noise in the mean shrinks with their number. `tacit plan advise`"
            " estimates how many are enough."
        ),
    )


def _features(run: Summary, says: str, part: float) -> ResultFinding:
    said = (
        phrasing.warn_of_wordless_texts(run.data.wordless, run.data.rows_train) if run.data else ""
    )
    blind = f" {said}." if said else ""
    return ResultFinding(
        kind="features",
        says=(
            f"{says} The plan's features lose information: central training loses"
            f" {_points(run, part)} with them.{blind}"
        ),
        change=phrasing.READ_ALL_WORDS if run.data and run.data.text else phrasing.KEEP_SCALE,
    )


def _training(run: Summary, says: str, arm: ArmFigures | None, cause: str) -> ResultFinding:
    """Judge how clients train, on the arm with the plan's settings and no noise."""
    if drifts_towards_own_labels(run):
        return _label_skew(run, says)
    once = _judge_single_evaluation(run, says, arm)
    if once is not None:
        return once
    if arm is not None and is_rising(arm, run.leading) and has_falling_loss(arm):
        return ResultFinding(
            kind="too few rounds",
            says=(
                f"{says} Training ended too early: without noise, {phrasing.METRICS[run.leading]}"
                " was still rising."
            ),
            change=f"Set server.rounds = {4 * _rounds(run)}.",
        )
    if cause == "division" and has_own_baselines(run.plan):
        return ResultFinding(
            kind="division",
            says=(
                f"{says} FedAvg without noise loses about as much: the cause is the division into"
                " clients."
            ),
        )
    which = find_rate_key(run.plan)
    short = arm is not None and has_falling_loss(arm)
    return ResultFinding(
        kind="settings",
        says=f"{says} The cause is the learning rate: without noise the loss "
        + (
            "was still falling when training ended, so the steps are too small."
            if short
            else "no longer falls, so the steps are too large."
        ),
        change=f"{'Multiply' if short else 'Divide'} {which} by 4.",
    )


def _rounds(run: Summary) -> int:
    ours = run.arm(RUN)
    return int(run.plan.get("server", {}).get("rounds") or (ours.rounds if ours else 1))


def _label_skew(run: Summary, says: str) -> ResultFinding:
    local, server = run.plan.get("local", {}), run.plan.get("server", {})
    sampled = server.get("cohort", "all") != "all"
    replaced = {
        "local.batch": local.get("batch"),
        "local.steps": local.get("steps"),
        "server.cohort_size": server.get("cohort_size"),
    }
    removed = " and ".join(key for key, value in replaced.items() if value is not None)
    return ResultFinding(
        kind="label skew",
        says=(
            f"{says} Labels differ between clients, and each client takes several local steps"
            " towards its own labels."
        ),
        change=(
            "Take one gradient per round: local.optimizer = 'sgd', local.lr = 5, local.epochs = 1,"
            " local.batches = 1, with server.optimizer = 'adam', server.lr = 0.5 and server.rounds"
            " = 50."
        )
        + (" Sample all clients in every round: server.cohort = 'all'." if sampled else "")
        + (f" Remove {removed}." if removed else ""),
    )


def _judge_single_evaluation(
    run: Summary, says: str, arm: ArmFigures | None
) -> ResultFinding | None:
    """Judge an arm with a single evaluation, which cannot show a trend, by the loss of an untrained
    model.
    """
    losses, rounds = average_quarters(arm, "loss") if arm else [], _rounds(run)
    classes = len(run.data.classes) if run.data else 0
    if len(losses) != 1 or classes < 2 or losses[0] >= math.log(classes):
        return None
    if rounds <= _FEW_ROUNDS:
        return ResultFinding(
            kind="too few rounds",
            says=(
                f"{says} Training ended after {rounds} rounds: the loss without noise is"
                f" {losses[0]:.3f}, and {math.log(classes):.3f} before training."
            ),
            change=f"Set server.rounds = {4 * rounds}.",
        )
    return ResultFinding(
        kind="cause unknown",
        says=(
            f"{says} The cause is unknown: one evaluation does not show whether training was still"
            " improving."
        ),
        change=f"Set server.evaluate_every = {max(1, rounds // 8)}; then the report can name the cause.",
    )
