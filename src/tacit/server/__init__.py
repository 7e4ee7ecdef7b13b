"""Updates become the next model: cohort choice, robust rules, the server's step, stopping,
measuring.
"""

from tacit.server.cohort import choose
from tacit.server.measure import by_class, loss, measure
from tacit.server.rules import MEMORY, Clean, Updates, combine, rule_of
from tacit.server.rules.matrix import Floats, Matrix
from tacit.server.shared import Own, with_own
from tacit.server.soften import softened
from tacit.server.step import FIRST, ServerState, initial_state, step
from tacit.server.stopping import should_stop
from tacit.server.votes import Ballots, Decision, assigned, decide

__all__ = [
     "FIRST", "MEMORY", "Ballots", "Clean", "Decision", "Floats", "Matrix", "Own", "ServerState",
    "Updates", "assigned", "by_class", "choose", "combine", "decide", "initial_state", "loss",
    "measure", "rule_of", "should_stop", "softened", "step", "with_own",
]  # fmt: skip
