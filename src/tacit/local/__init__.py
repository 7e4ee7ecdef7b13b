"""What a client does with its numbers: local steps that end in one update. Two paths, one contract.

Feed-forward nets run compiled (threads, no interpreter lock); any other nn.Module runs in PyTorch (processes). The
model decides which; the plan does not choose. Where a part of the model stays with each client, that part never enters
the flat vector everybody else sees.
"""

from __future__ import annotations

from tacit import plan
from tacit.local.contract import Figures, Group, Headed, Home, Learner, PersonalWorker, Tests, Update, Worker
from tacit.local.effort import local_steps, parameter_floor
from tacit.local.head import HeadPlace, Labels, Matrix, Steps, beside, losses, trained, with_ones
from tacit.local.own_code import find_code, hash_code, with_hash
from tacit.local.stored import flattened
from tacit.local.weights import weights_for
from tacit.rows import Clients, Mixed, Rows

__all__ = [
    "Figures", "Group", "HeadPlace", "Headed", "Home", "Labels", "Learner", "Matrix", "PersonalWorker", "Steps", "Tests", "Update",
    "Worker", "beside", "build", "find_code", "flattened", "hash_code", "local_steps", "losses", "parameter_floor",
    "trained", "weights_for", "with_hash", "with_ones",
]  # fmt: skip


def build(
    model: plan.Model, local: plan.Local, rows: Rows, clients: Clients, module: object | None = None, home: Home | None = None
) -> Learner:
    """Return the learner for a plan's model over a site's rows (already in client order).

    With a home the learner is personal: what the plan's [private] table names stays there.
    """
    if home is not None:
        from tacit.local.private.learner import PartialLearner

        return PartialLearner(model, local, rows, clients, module, home)
    if module is None and isinstance(model, plan.Compiled) and not isinstance(rows.inputs, Mixed):
        from tacit.local.compiled.learner import CompiledLearner

        return CompiledLearner(model, local, rows, clients)
    from tacit.local.modules.learner import TorchLearner

    return TorchLearner(model, local, rows, clients, module)
