"""LazyInf: Rokvic et al., clients vote on whose data harms the model; its table, and further
questions.
"""

from __future__ import annotations

from tacit_papers.lazyinf import promise, runs
from tacit_papers.lazyinf.claims import CLAIMS
from tacit_papers.lazyinf.decisions import turned
from tacit_papers.lazyinf.detection import budget, collusion, decisions, detection, skew
from tacit_papers.lazyinf.effect import attacks, model, recovered
from tacit_papers.lazyinf.rounds import detect_in_every_round
from tacit_papers.paper import Paper

__all__ = ["PAPER"]

_ALL = (
     detection, decisions, promise.promise, budget, detect_in_every_round, collusion, model, recovered, skew, attacks,
    promise.influence,
)  # fmt: skip
PAPER = Paper(
    name="lazyinf",
    title=(
        "LazyInf: clients vote, in private, on whose data harms the model (Rokvic, Vassio, Faltings"
        " and others)"
    ),
    first_words=(
        "Each vote is randomised separately; a tester's loss is the number of its votes times the"
        " epsilon of one vote. The filter does not protect the update that is averaged, which"
        " requires its own protection."
    ),
    scales={
        "smoke": "12 clients, pixels, two rounds: shows that every cell runs.",
        "quick": "100 clients, three seeds, ten rounds for the model; one seed for attacks.",
        "full": (
            "100 clients, ten seeds for detection, three seeds and 20 rounds for the model and"
            " attacks."
        ),
    },
    tables=lambda scale: tuple(make(scale) for make in _ALL),
    claims=CLAIMS,
    runners={
        "lazyinf_collusion": runs.collusion,
        "lazyinf_decisions": turned,
        "lazyinf_losses": promise.losses,
        "lazyinf_equation_4": promise.equation_4,
        "lazyinf_valued": promise.valued,
    },
)
