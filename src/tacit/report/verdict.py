"""Verdict on a finished run, with what to change, computed from the record.

A cause is named only where two arms of the run differ in nothing else (`causes.py`); otherwise the
verdict says which baseline is missing. No advice reduces the plan's protection, except a larger
epsilon as the second choice.
"""

from __future__ import annotations

import math

from tacit.privacy.statement.prose_rows import owners_are_made_up
from tacit.report import phrasing
from tacit.report.advice import explain_gap
from tacit.report.causes import (
    Gap,
    average_quarters,
    compute_guessing_loss,
    drifts_towards_own_labels,
    find_arm_without_noise,
    find_rate_key,
    has_own_baselines,
    is_falling,
    is_never_better_than_guessing,
    is_rising,
    measure_gap,
)
from tacit.report.classes import estimate_error
from tacit.report.figures import ArmFigures, Summary
from tacit.report.finding import ResultFinding
from tacit.report.own_models import state_both_figures
from tacit.runs.record import RUN

NEAR = 0.02
"""A run is near central training if it is at most this far below in the leading metric: two points
of accuracy, 0.02 of AUC.
"""
_THRESHOLD_OFF = 0.03
_LEFT_BEHIND, _FEWEST_ROWS = 0.05, 20
_RARE = 0.1
_ABOVE_CHANCE = 0.6
_NAMED = 5
_MANY_TEST_ROWS = 200
_TUNE = "Choose learning rates and rounds by `tacit plan tune`, on public or synthetic rows."
_OTHER_THRESHOLD = (
    "Choose a threshold on held-out rows, from the probabilities that `tacit predict` writes."
)


def judge_run(run: Summary) -> list[ResultFinding]:
    """List the findings about a finished run, the cause of a low metric first; empty before it has
    finished.

    Findings that invalidate the figures come before those that explain them: simulated owners, a
    column that reveals the label, columns from which nothing can be learned.
    """
    ours = run.arm(RUN)
    if ours is None or not ours.finished or run.leading not in ours.metrics:
        return []
    worthless = [_warn_simulated_owners(run), _leak(run)]
    hopeless = _central_at_chance(run, ours)
    if hopeless is not None:  # no arm is better than guessing, so comparing them says nothing
        return [
            one
            for one in (
                *worthless,
                hopeless,
                _texts_without_words(run),
                _left_behind(run, ours),
                _state_error(run, ours),
            )
            if one
        ]
    found = [
        *worthless,
        _diverging(run, ours),
        _never_predicted(run, ours, rare=True),
        _compare_with_reference(run, ours),
        _rising(run, ours),
        _never_predicted(run, ours, rare=False),
        _texts_without_words(run),
        _left_behind(run, ours),
        _state_error(run, ours),
        state_both_figures(run),
    ]
    kept = sorted((one for one in found if one), key=lambda one: not one.change)
    return [
        one
        for place, one in enumerate(kept)
        if one.kind not in {other.kind for other in kept[:place]}
    ]


def _warn_simulated_owners(run: Summary) -> ResultFinding | None:
    """Warn that no real person was protected, where the rows are the user's own and not a public
    data set.
    """
    promises = any(one.total.epsilon is not None for one in run.privacy.totals)
    if run.data is None or not promises or not owners_are_made_up(run.plan, run.data):
        return None
    source = str(run.plan.get("data", {}).get("source", ""))
    if "." not in source and source != "given":
        return None  # a public data set in a simulation: the page says so above the statement
    unit = (
        "a single row"
        if max(run.data.rows_per_client, default=0) <= 1
        else "a simulated group of rows"
    )
    return ResultFinding(
        kind="made-up owners",
        says=f"Owners are simulated, so the guarantee protects {unit}, not a person.",
        change=(
            "Name the column that identifies the owner of a row: data.columns.client, with"
            " data.partition = 'client'."
        ),
    )


def _leak(run: Summary) -> ResultFinding | None:
    leaks = run.data.leaks if run.data else []
    if not leaks:
        return None
    which = (
        f"Column {leaks[0]} determines"
        if len(leaks) == 1
        else f"Columns {', '.join(leaks[:_NAMED])} determine"
    )
    return ResultFinding(
        kind="label leak",
        says=f"{which} the label almost alone, so these figures may be meaningless.",
        change="Remove columns from data.columns that are not known when a prediction is made.",
    )


def _central_at_chance(run: Summary, ours: ArmFigures) -> ResultFinding | None:
    """Distinguish columns from which nothing can be learned from a learning rate at which central
    training fails too.
    """
    central = run.arm("central")
    if (
        central is None
        or not central.finished
        or not _at_chance(central, ours)
        or ours.metrics.get("auc", 0.5) > _ABOVE_CHANCE
    ):
        return None
    guess = compute_guessing_loss(ours)
    if (
        guess is not None
        and not has_own_baselines(run.plan)
        and is_never_better_than_guessing(central, guess)
    ):
        return ResultFinding(
            kind="diverging",
            says=(
                "Diverging from the first round on: with this plan's learning rate even central"
                f" training is no better than guessing, and its loss stays above {guess:.3f}, the"
                " loss of guessing."
            ),
            change=f"Divide {find_rate_key(run.plan)} by 16; repeat until this finding disappears.",
        )
    return ResultFinding(
        kind="nothing to learn",
        says=(
            "Nothing to learn: even central training is no better than always predicting the"
            f" largest class ({_largest(ours)})."
        ),
        change=(
            "Check data.columns: the label may be the wrong column, or the columns that predict it"
            " may be missing."
        ),
    )


def _at_chance(arm: ArmFigures, ours: ArmFigures) -> bool:
    counts, accuracy = ours.by_class, arm.best("accuracy")
    if counts is None or accuracy is None or not sum(counts.rows):
        return False
    largest = max(counts.rows) / sum(counts.rows)
    noise = 2 * math.sqrt(largest * (1 - largest) / sum(counts.rows))
    return accuracy <= largest + noise and (arm.best("auc") or 0.5) <= _ABOVE_CHANCE


def _largest(ours: ArmFigures) -> str:
    rows = ours.by_class.rows if ours.by_class else [0]
    return phrasing.format_metric("accuracy", max(rows) / max(1, sum(rows)))


def _diverging(run: Summary, ours: ArmFigures) -> ResultFinding | None:
    lead = run.leading
    if lead == "loss" or not is_falling(ours, lead) or _at_chance(ours, ours):
        return None
    values, quiet = average_quarters(ours, lead), find_arm_without_noise(run)
    if quiet is not None and not is_falling(quiet, lead):
        return None  # noise: the comparison with the same plan without noise reports it
    central = run.arm("central")
    if (
        drifts_towards_own_labels(run)
        and central is not None
        and central.finished
        and not is_falling(central, lead)
    ):
        return None  # central training does not diverge: clients pull in different directions
    best, last = (phrasing.format_metric(lead, value) for value in (max(values), values[-1]))
    says = (
        f"Diverging: {phrasing.METRICS[lead]} fell from {best} to {last} while training continued."
    )
    if quiet is None:
        return ResultFinding(
            kind="diverging",
            says=f"{says} Whether noise or the learning rate causes it is unknown.",
            change=(
                f"Recruit more clients, or divide {find_rate_key(run.plan)} by 4."
                if _is_between_sites(run)
                else "Add 'noiseless' to baselines; then the report can name the cause."
            ),
        )
    return ResultFinding(
        kind="diverging",
        says=f"{says} This happens without noise too, so the learning rate is too high.",
        change=f"Divide {find_rate_key(run.plan)} by 4.",
    )


def _state_error(run: Summary, ours: ArmFigures) -> ResultFinding | None:
    """State the standard error of the leading metric where there are few test rows."""
    rows, lead = run.data.rows_test if run.data else 0, run.leading
    if not 0 < rows < _MANY_TEST_ROWS or lead not in ("accuracy", "auc"):
        return None
    error = estimate_error(lead, ours.metrics[lead], rows, ours.by_class)
    shown = f"{100 * error:.1f} points" if lead == "accuracy" else f"{error:.3f}"
    return ResultFinding(
        kind="few test rows",
        says=(
            f"Only {rows:,} test rows: the standard error of {phrasing.METRICS[lead]} is about"
            f" {shown}, so smaller differences may be chance."
        ),
    )


def _compare_with_reference(run: Summary, ours: ArmFigures) -> ResultFinding | None:
    if run.leading == "loss":
        return None
    gap = measure_gap(run)
    chance = (
        f"No better than guessing: always predicting the largest class gives {_largest(ours)}. "
        if gap is None and _at_chance(ours, ours)
        else ""
    )
    if gap is None and _is_between_sites(run):
        return (
            ResultFinding(kind="no better than guessing", says=chance.strip(), change=_TUNE)
            if chance
            else None
        )
    if gap is None:
        return ResultFinding(
            kind="not compared",
            says=f"{chance}Nothing to compare with: the plan has no finished baseline.",
            change=(
                "Set baselines = ['central', 'fedavg', 'noiseless'] to see what the division into"
                " clients and the noise cost."
                + (
                    f" If central training succeeds: {_TUNE[0].lower()}{_TUNE[1:]}"
                    if chance
                    else ""
                )
            ),
        )
    if gap.size > NEAR:
        return explain_gap(run, ours, gap, _distance(run, ours, gap))
    where = "Near" if gap.size >= -NEAR else "Above"
    return _threshold(run, ours, gap) or ResultFinding(
        kind=f"near {_short(gap)}", says=f"{where} {_distance(run, ours, gap)}"
    )


def _is_between_sites(run: Summary) -> bool:
    """Whether real sites took part, which train no baselines."""
    return run.data is not None and run.data.sites > 0


def _threshold(run: Summary, ours: ArmFigures, gap: Gap) -> ResultFinding | None:
    """Report rows that are ranked as well as by central training but classified worse."""
    lacks = (gap.reference.best("accuracy") or 0.0) - ours.metrics.get("accuracy", 1.0)
    ranked = phrasing.format_gap(
        "auc", ours.metrics.get("auc", 0.0), gap.reference.best("auc") or 0.0
    )
    if run.leading != "auc" or lacks <= _THRESHOLD_OFF or _measure_misplaced(ours) < lacks:
        return None
    return ResultFinding(
        kind="threshold",
        says=(
            f"Rows are ranked as well as by {_name(gap)} (AUC {ranked}), but accuracy is"
            f" {100 * lacks:.1f} points lower: a decision threshold of 0.5 does not suit this"
            " model."
        ),
        change=_OTHER_THRESHOLD,
    )


def _measure_misplaced(ours: ArmFigures) -> float:
    """How much more often a class is predicted than it occurs, as a share of the test rows; 1 if
    classes were not counted.

    A threshold that predicts each class as often as it occurs changes the prediction of at most
    this share of the rows.
    """
    counts = ours.by_class
    if counts is None or not sum(counts.rows):
        return 1.0
    return max(
        taken - rows for rows, taken in zip(counts.rows, counts.predicted, strict=True)
    ) / sum(counts.rows)


def _name(gap: Gap) -> str:
    return "central training" if gap.reference.name == "central" else "unprotected FedAvg"


def _short(gap: Gap) -> str:
    return "central" if gap.reference.name == "central" else "FedAvg"


def _distance(run: Summary, ours: ArmFigures, gap: Gap) -> str:
    lead, theirs = run.leading, gap.reference.best(run.leading) or 0.0
    kept = gap.reference.kept_round
    both = ""
    if kept is not None and kept != gap.reference.rounds:
        chosen, last = (
            phrasing.format_metric(lead, gap.reference.metrics.get(name))
            for name in (lead, f"last_{lead}")
        )
        both = (
            ""
            if chosen == last
            else f"; {chosen} after epoch {kept}, chosen on validation rows, {last} after the last epoch"
        )
    return (
        f"{_name(gap)}: {phrasing.format_gap(lead, ours.metrics[lead], theirs)} of"
        f" {phrasing.METRICS[lead]} ({'central' if gap.reference.name == 'central' else 'FedAvg'}:"
        f" {phrasing.format_metric(lead, theirs)}{both})."
    )


def _rising(run: Summary, ours: ArmFigures) -> ResultFinding | None:
    """Report that a run near its baselines was still improving; below them, `explain_gap` says
    whether rounds are the cause.
    """
    lead, gap = run.leading, measure_gap(run)
    if lead == "loss" or not is_rising(ours, lead) or (gap is not None and gap.size > NEAR):
        return None
    values = average_quarters(ours, lead)
    gained = phrasing.format_gap(lead, values[-1], values[-2])
    return ResultFinding(
        kind="still rising",
        says=(
            f"Still rising: {gained} of {phrasing.METRICS[lead]} between the last two evaluations"
            " or quarters of the run."
        ),
    )


def _never_predicted(run: Summary, ours: ArmFigures, *, rare: bool) -> ResultFinding | None:
    """Name classes that are never predicted; `rare` restricts this to rare classes."""
    counts = ours.by_class
    if counts is None or run.data is None:
        return None
    missed = [
        place
        for place, (rows, taken) in enumerate(zip(counts.rows, counts.predicted, strict=True))
        if rows and not taken
    ]
    if (
        not missed
        or _at_chance(ours, ours)
        or (rare and any(counts.rows[one] > _RARE * sum(counts.rows) for one in missed))
    ):
        return None
    names = ", ".join(run.data.classes[place] for place in missed[:_NAMED])
    more = f" and {len(missed) - _NAMED:,} more" if len(missed) > _NAMED else ""
    share = phrasing.format_metric(
        "accuracy", sum(counts.rows[place] for place in missed) / max(1, sum(counts.rows))
    )
    ranked = len(counts.rows) == 2 and ours.metrics.get("auc", 0.5) > _ABOVE_CHANCE
    return ResultFinding(
        kind="classes never predicted",
        says=(
            f"{len(missed):,} of {len(counts.rows):,} classes"
            f" {'is' if len(missed) == 1 else 'are'} never predicted: {names}{more}"
            f" ({share} of the test rows)."
        ),
        change=(
            _OTHER_THRESHOLD
            if ranked
            else "Collect more rows of these classes, or merge rare classes."
        ),
    )


def _texts_without_words(run: Summary) -> ResultFinding | None:
    said = (
        phrasing.warn_of_wordless_texts(run.data.wordless, run.data.rows_train) if run.data else ""
    )
    return (
        ResultFinding(kind="features", says=f"{said}.", change=phrasing.READ_ALL_WORDS)
        if said
        else None
    )


def _left_behind(run: Summary, ours: ArmFigures) -> ResultFinding | None:
    """Report clients with enough rows to judge that are far below the mean on their own rows."""
    if not ours.spread or run.data is None or run.plan.get("data", {}).get("divide_test"):
        return None
    share = float(run.plan.get("data", {}).get("local_test") or 1.0)
    held = run.data.rows_per_client
    if len(held) != len(ours.spread):
        return None
    judged = [
        (right, rows * share)
        for right, rows in zip(ours.spread, held, strict=True)
        if rows * share >= _FEWEST_ROWS
    ]
    mean = sum(right * rows for right, rows in judged) / max(1.0, sum(rows for _, rows in judged))
    behind = sum(
        mean - right > max(0.1, 3 * math.sqrt(mean * (1 - mean) / rows)) for right, rows in judged
    )
    if behind < max(1, _LEFT_BEHIND * len(judged)):
        return None
    return ResultFinding(
        kind="clients left behind",
        says=(
            f"{behind:,} of {len(judged):,} clients with at least {_FEWEST_ROWS} rows are left"
            " behind: on their own rows, accuracy is far below the mean of"
            f" {phrasing.format_metric('accuracy', mean)}."
        ),
        change="Add a column that explains how they differ, if there is one.",
    )
