"""Consequences of the paper's formulas and tokens: what they guarantee, and what a server reads
without the secret.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np

from tacit import plan as plans
from tacit import simulation
from tacit.audit.tokens.audit import KINDS, audit_tokens
from tacit.audit.tokens.brute_force import size_spaces
from tacit.privacy.accounting.gaussian_loss import compute_epsilon
from tacit.quantisation.levels import Selection, draw_levels, find_head_probability
from tacit.quantisation.quantiser import Quantiser
from tacit.randomness import Draws
from tacit.reproduction import Scale
from tacit_papers.codecs.paper_gaussian import PaperGaussian, compute_variance
from tacit_papers.hashcomb.settings import HIDDEN, LR, SIZES, Tree
from tacit_papers.published import Figures, PaperCell, PaperTable, PaperTrial, Runner

DELTA = 1e-3
RUN_ROUNDS = 40
"""Rounds of the run on Spam."""
_COORDINATES = 100_000
_SHARES = {"1/2": 0.5, "1/20": 0.05, "1/256": 1 / 256}
_COINS: tuple[tuple[Selection, int], ...] = (
    ("finest", 8),
    ("last_head", 10),
    ("last_head", 16),
    ("subset", 10),
    ("subset", 16),
)
_SPACES = {
    "two bounds, any double from .5 to 1": (
        "the paper's 2^104: two bounds, any double from 0.5 to 1",
        104.0,
    ),
    "two bounds, any double from .25 to 1": (
        "the paper's 2^106: two bounds, any double from 0.25 to 1",
        106.0,
    ),
    "a symmetric range, any double from .5 to 1": ("symmetric, any double from 0.5 to 1", None),
    "two negotiated bounds up to 1": ("negotiated (steps of 2^-20), two bounds up to 1", None),
    "any range under the negotiated secret": (
        "any of these under a random secret of 128 bits",
        128.0,
    ),
}
_SEEN = {1: "2 rounds", 5: "6 rounds"}


def equation_11(largest_share: float) -> Figures:
    """Epsilon by the paper's equation 11, given the share of values in the fullest channel."""
    return {"last": {"epsilon": 2 * math.log(largest_share)}}


def equation_16(logarithm: Literal["natural", "ten"], rounds: int) -> Figures:
    """The variance of equation 16, and the privacy loss of all rounds if S did bound an update."""
    settings = PaperGaussian(logarithm=logarithm)
    variance = compute_variance(settings)
    bound = 4 * settings.steps * settings.gradient * settings.lr
    multiplier = math.sqrt(variance) / bound
    return {
         "last": { "variance": variance, "update": compute_epsilon(DELTA, multiplier), "run":
        compute_epsilon(DELTA, multiplier / math.sqrt(rounds)), }
    }  # fmt: skip


def distinguish_values(selection: Selection, levels: int, seed: int) -> Figures:
    """Probability that tokens distinguish two values on both sides of the middle, a lower bound on
    delta.

    Both values use the same coins, as all clients share them; with coins the mean level is 8.
    """
    chance = 1.0 if selection == "finest" else find_head_probability(selection, levels, 8.0)
    level = draw_levels(selection, levels, chance, _COORDINATES, Draws.seeded(seed).at("levels"))
    quantiser = Quantiser.enlarged(-1.0, 1.0, 2.0, levels)
    one, other = (
        quantiser.channels(np.full(_COORDINATES, value, np.float32), level) for value in (0.5, -0.5)
    )
    return {"last": {"delta": float((one != other).mean())}}


def read_tokens(plan: Tree, seed: int) -> Figures:
    """Findings of the token audit after a run of a plan: by the server without the secret, and by
    another client.
    """
    with tempfile.TemporaryDirectory() as root:
        done = simulation.start(plans.parse({**plan, "seed": seed}), Path(root), None)
        found = audit_tokens(done, allow_code=True)  # the code of this plan's own data set
    figures = {f"order_{one.tokens}_{one.transitions}": one.spearman for one in found.seriation}
    figures |= {
        f"weights_{one.tokens}_{one.transitions}": one.correlation for one in found.seriation
    }
    return {
        "last": {
            **figures,
            "unkeyed": found.searches[0].decoded,
            "keyed": found.searches[1].decoded,
        }
    }


def guesses() -> Figures:
    """Base-2 logarithms of the number of ranges to try, by assumption."""
    return {"last": {one.assumption: one.log2 for one in size_spaces(1.0)}}


def formulas(_scale: Scale) -> PaperTable:
    """The values of the paper's formulas for epsilon."""
    cells = []
    for words, share in _SHARES.items():
        trial = PaperTrial(kind="hashcomb_equation_11", settings={"largest_share": share}, seeds=())
        cells.append(
            PaperCell(
                row=f"Eq. 11, fullest channel {words}",
                column="epsilon per value",
                paper=None,
                trial=trial,
                metric="epsilon",
            )
        )
    for logarithm, words in (("natural", "natural logarithm"), ("ten", "logarithm to base ten")):
        trial = PaperTrial(
            kind="hashcomb_equation_16",
            settings={"logarithm": logarithm, "rounds": RUN_ROUNDS},
            seeds=(),
        )
        row = f"Eq. 16, {words}"
        cells.append(
            PaperCell(
                row=row, column="variance", paper=0.08, trial=trial, metric="variance", digits=2
            )
        )
        cells.append(
            PaperCell(
                row=row,
                column="epsilon per update",
                paper=2.0,
                trial=trial,
                metric="update",
                digits=0,
            )
        )
        cells.append(
            PaperCell(
                row=row,
                column="epsilon per run of 40 rounds",
                paper=2.0,
                trial=trial,
                metric="run",
                digits=0,
            )
        )
    note = (
        "Arithmetic. Equation 11 is 2 ln of the share of values in the fullest channel: never above"
        " zero, because a ratio became a product in its derivation. The privacy loss of equation"
        " 16's noise is exact at delta 1e-3, as if each update were clipped to the L2 norm that the"
        " publication assumes; nothing clips it, so no epsilon exists."
    )
    return PaperTable(
        name="formulas",
        title="Values of the formulas for epsilon",
        cells=tuple(cells),
        note=note,
    )


def apart(scale: Scale) -> PaperTable:
    """The smallest delta at which tokens could be differentially private."""
    cells = [
         PaperCell( row=f"{selection}, L={levels}", column="least delta per value", paper=None,
        metric="delta", trial=PaperTrial( kind="hashcomb_told_apart", settings={"selection": selection,
        "levels": levels}, seeds=SIZES[scale].claimed ), ) for selection, levels in _COINS
    ]  # fmt: skip
    note = (
        "How often a party with the secret can distinguish two values on both sides of the middle,"
        " over 100,000 draws of levels with a mean of 8. Delta cannot be smaller, for any epsilon."
        " The publication requires 1e-3."
    )
    return PaperTable(name="apart", title="Two values distinguished", cells=tuple(cells), note=note)


def tokens(scale: Scale) -> PaperTable:
    """What a server without the secret reads from tokens."""
    trial = PaperTrial(
        kind="hashcomb_read_tokens",
        settings={"plan": _build_watched_plan(scale)},
        seeds=SIZES[scale].claimed,
    )
    cells = []
    for kind, words in zip(KINDS.values(), ("published tokens", "keyed tokens"), strict=True):
        for transitions, seen in _SEEN.items():
            for column, metric in (("order of channels", "order"), ("weights", "weights")):
                name = f"{metric}_{kind}_{transitions}"
                cells.append(
                    PaperCell(
                        row=f"{words}, {seen} seen",
                        column=column,
                        paper=None,
                        trial=trial,
                        metric=name,
                    )
                )
    for row, metric in (
        ("published tokens without a secret", "unkeyed"),
        ("published tokens under a secret", "keyed"),
    ):
        cells.append(
            PaperCell(
                row=row,
                column="weights read by trying ranges",
                paper=None,
                trial=trial,
                metric=metric,
            )
        )
    note = (
        "Spam, weights sent. After training the server"
        " follows one client's tokens. Absolute rank correlation of channels and correlation of"
        " weights; the last column is the share of weights recovered by trying 43,200 ranges that"
        " people write down."
    )
    return PaperTable(
        name="tokens",
        title="What the server recovers without the secret",
        cells=tuple(cells),
        note=note,
    )


def ranges_to_try(_scale: Scale) -> PaperTable:
    """The number of ranges to try."""
    trial = PaperTrial(kind="hashcomb_guesses", settings={}, seeds=())
    cells = [
        PaperCell(row=row, column="bits", paper=bits, trial=trial, metric=name, digits=0)
        for row, (name, bits) in _SPACES.items()
    ]
    note = "Base-2 logarithms of the number of ranges, or secrets, under each assumption."
    return PaperTable(
        name="guesses", title="Size of the search space", cells=tuple(cells), note=note
    )


def _build_watched_plan(scale: Scale) -> Tree:
    small = scale == "smoke"
    return {
        "name": "watched",
        "data": {"source": "hashcomb_spam", "clients": 4, **({"limit": 300} if small else {})},
        "model": {"name": "mlp", "hidden": HIDDEN},
        "local": {"optimizer": "sgd", "lr": LR, "epochs": 2 if small else 20, "batch": 32},
        "codec": {"name": "hashcomb", "of": "weights", "x_min": -0.35, "x_max": 0.35},
        "server": {"rounds": 2 if small else 20},
    }


TABLES = (formulas, apart, tokens, ranges_to_try)
RUNNERS: dict[str, Runner] = {
    "hashcomb_equation_11": equation_11,
    "hashcomb_equation_16": equation_16,
    "hashcomb_told_apart": distinguish_values,
    "hashcomb_read_tokens": read_tokens,
    "hashcomb_guesses": guesses,
}
