"""[local]: what a client does with its rows in one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Positive
from tacit.plan.tables.model import Compiled, Worded

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Local:
    """What a client does with its rows in one round."""

    method: Literal["fedavg", "fedprox"] = "fedavg"
    """Averaged updates, or the same with a pull towards the server's model."""
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    """The client's optimiser."""
    lr: Positive = 1e-3
    """Its learning rate."""
    epochs: Count | None = None
    """Passes over the client's rows per round. Without `epochs` and `steps`: one."""
    steps: Count | None = None
    """Or this many batches per round."""
    batch: Count | None = None
    """Rows per batch. Without `batch` and `batches`: 32."""
    batches: Count | None = None
    """Or this many batches per epoch, whatever a client holds."""
    proximal: Annotated[float, Ge(0)] = 0.0
    """`fedprox`: strength of the pull."""
    weight_decay: Annotated[float, Ge(0)] = 0.0
    """`adamw`: its weight decay; `adam`: this times each weight is added to its gradient (models
    that train in PyTorch).
    """
    table_lr: Annotated[float, Ge(0)] | None = None
    """Learning rate of the word table as far as it is shared (`bilstm`, `encoder`); without it
    `lr`, and 0 never moves it. What stays with a client has `private.lr`.
    """
    schedule: Literal["constant", "linear"] = "constant"
    """Keep the learning rate, or let it fall to zero over a round's steps (models with private
    parts).
    """
    normalise: bool = False
    """Scale each update to a length (l2) of one, so that every client counts alike, however much
    its steps changed.
    """
    row_scale: Literal["mean", "root"] = "mean"
    """`root` multiplies each update by the square root of the client's number of rows. Gradients of
    different rows partly cancel in their mean, so that a clip then means the same for clients of
    few and of many rows. `mean` leaves updates as they are.
    """
    clip_norm: Positive | None = None
    """Largest norm of a step's gradient, for shared and private parameters each (models with
    private parts).
    """


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    local, found = plan.local, []
    if local.epochs and local.steps:
        found.append("local.steps: has no meaning beside local.epochs; keep one of the two")
    if local.batch and local.batches:
        found.append("local.batches: has no meaning beside local.batch; keep one of the two")
    match local.method:
        case "fedavg":
            if local.proximal > 0:
                found.append(
                    "local.proximal: has no meaning with local.method = 'fedavg'; use method ="
                    " 'fedprox' or remove it"
                )
        case "fedprox":
            if local.proximal == 0:
                found.append(
                    "local.proximal: needs a value above 0, since local.method = 'fedprox'; got 0"
                    " (0.1 is usual)"
                )
        case _:
            assert_never(local.method)
    if local.method != "fedavg" and plan.regime != "federated":
        found.append(
            f"local.method: {local.method!r} has no meaning with regime = {plan.regime!r}, which"
            " has no rounds; remove it"
        )
    found += [*_decay_problems(plan), *_table_problems(plan)]
    if local.normalise and (plan.personal or plan.regime != "federated"):
        found.append(
            "local.normalise: needs regime = 'federated' and a model of which no part stays with a"
            " client; remove it"
        )
    if local.row_scale == "root" and (plan.personal or plan.regime != "federated"):
        found.append(
            "local.row_scale: needs regime = 'federated' and a model of which no part stays with a"
            " client; remove it"
        )
    if local.row_scale == "root" and local.normalise:
        found.append(
            "local.row_scale: has no meaning beside local.normalise, which takes any scale away;"
            " keep one of the two"
        )
    if not plan.personal:
        for key, unset in (("schedule", "constant"), ("clip_norm", None)):
            if getattr(local, key) != unset:
                found.append(
                    f"local.{key}: needs model.name = 'bilstm' or 'encoder', or private.parameters;"
                    " remove it"
                )
    return found


def _decay_problems(plan: Plan) -> list[str]:
    local = plan.local
    if not local.weight_decay or local.optimizer == "adamw":
        return []
    if local.optimizer == "adam" and (plan.personal or not isinstance(plan.model, Compiled)):
        return []
    return [
        f"local.weight_decay: has no meaning with local.optimizer = {local.optimizer!r} and"
        f" model.name = {plan.model.name!r}; use 'adamw' or remove it"
    ]


def _table_problems(plan: Plan) -> list[str]:
    if plan.local.table_lr is None or (
        isinstance(plan.model, Worded) and plan.private.words != "all"
    ):
        return []
    return [
        "local.table_lr: needs a word table that is shared: model.name = 'bilstm' or 'encoder',"
        f" and private.words = 'none' or 'digits'; got {plan.model.name!r} and"
        f" {plan.private.words!r}"
    ]
