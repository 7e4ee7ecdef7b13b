"""tacit plan advise: which clip to choose, and whether there are enough clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PlanFile

if TYPE_CHECKING:
    from tacit.simulation.advice.advise import Advice
    from tacit.simulation.advice.advise_noise import Outlook

Target = Annotated[
    float,
    typer.Option(
        "--target", metavar="X", help="Desired error per weight, as a multiple of the signal."
    ),
]


def advise(
    plan: PlanFile, overrides: Overrides = None, target: Target = 1.0, as_json: AsJson = False
) -> None:
    """Check whether there are enough clients for the codec's noise; for rr, suggest codec.clip.

    It simulates the updates of up to 24 clients in the first round, without
    protection, and computes two errors of their mean: from clipping and from
    noise. For rr it compares the predicted and the measured error of every
    clip. `tacit plan tune` covers later rounds, accuracy, learning rates and buckets.
    Use public or simulated data: looking at real clients' updates is a release.

    \b
    Examples:
      tacit plan advise plan.toml
      tacit plan advise plan.toml -o codec.epsilon=0.1 --target 0.5 --json
    """
    from tacit.plan import RR, load
    from tacit.simulation.advice.advise import Advice
    from tacit.simulation.advice.advise import advise as think
    from tacit.simulation.advice.advise_noise import outlook

    loaded = load(plan, overrides)
    found = think(loaded, target) if isinstance(loaded.codec, RR) else outlook(loaded, target)
    if as_json:
        tables.print_json("advice/1", found.as_json())
        return
    if isinstance(found, Advice):
        _print(found)
    else:
        _print_outlook(found)
    tables.say(
        "Based on the first-round updates of some clients. `tacit plan tune` covers later rounds,"
        " accuracy, learning rates, number of rounds and buckets."
    )


def _print_outlook(found: Outlook) -> None:
    tables.say(
        f"Error per weight of the mean update with {found.codec}, {found.clients:,} clients,"
        f" {found.parameters:,} weights"
    )
    shown = [f"{value:.2e}" for value in (found.signal, found.cut_error, found.noise_error)]
    tables.table(("signal", "clipping error", "noise"), [shown])
    tables.say(
        f"Noise of at most {found.target:g} times the signal in one round requires"
        f" {found.clients_needed:,} clients."
    )


def _print(advice: Advice) -> None:
    shown = [
        choice
        for number, choice in enumerate(advice.grid)
        if number % 3 == 0 or choice is advice.best
    ]
    rows = []
    for choice in sorted([*shown, advice.planned], key=lambda one: one.clip):
        mark = "← best" if choice is advice.best else "← plan" if choice is advice.planned else ""
        errors = (f"{value:.2e}" for value in (choice.cut_error, choice.noise_error, choice.error))
        rows.append((f"{choice.clip:.2e}", f"{choice.clipped_share:.0%}", *errors, mark))
    tables.say(
        f"Error per weight of the mean update, {advice.clients:,} clients (signal"
        f" {advice.signal:.2e})"
    )
    tables.table(("clip", "clipped", "clipping error", "noise", "total", ""), rows, prose=(5,))
    tables.say(f"Suggested: codec.clip = {advice.best.clip:.1e}")
    tables.say(
        f"With the plan's clip the predicted error is {advice.planned.error:.2e} per weight,"
        f" the measured error {advice.measured_error:.2e}."
    )
    tables.say(
        f"Noise of at most {advice.target:g} times the signal requires {advice.clients_needed:,}"
        f" clients in one round, or {advice.rounds_needed:,} rounds of {advice.clients:,} clients."
    )
