"""[public]: rows that the server has in the clear, and the initial model trained on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import readable
from tacit.plan.kinds import STRICT, Count, Name, OrOwn, Positive
from tacit.plan.tables.rows.data import is_place

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Public:
    """Rows that the server has in the clear. It trains the initial model on them; without this
    table the initial model is random.
    """

    source: Annotated[Name, OrOwn("datasets", is_place)] | None = None
    """A data set with public rows, as in `data.source`: it has the same columns and no other
    classes. Without it, some of the training rows are treated as public.
    """
    share: Annotated[float, Gt(0), Le(1)] = 0.01
    """Share of the training rows that the server has and no client, drawn before rows are divided
    among clients; with `source`, share of its rows.
    """
    epochs: Count = 3
    """Passes over these rows. The model after the best pass is kept, judged on a held-out tenth of
    the rows.
    """
    lr: Positive = 1e-3
    """The server's learning rate on these rows."""
    batch: Count = 32
    """Rows per batch."""
    last_layer: Literal["random", "zero"] = "random"
    """Initial last layer. From zero, a few passes give a model that is not overconfident."""
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    """The server's optimiser on these rows; its state is reset at each pass."""
    weight_decay: Annotated[float, Ge(0)] = 0.0
    """`adamw`: its weight decay."""


def problems(plan: Plan) -> list[str]:
    """List settings that contradict [public], one sentence each."""
    public, found = plan.public, list[str]()
    if public is None:
        return found
    if plan.personal:
        found.append("[public] cannot be used with private parameters; remove the table")
    if not readable(plan.codec):
        name = plan.codec.name
        found.append(
            "[public] requires a codec that the server can decode, since the server would know the"
            f" initial model; got tokens ({name!r})"
        )
    if plan.features.quantise is not None and plan.features.quantise.trained_on == "tokens":
        found.append(
            "[public] requires features that the server can compute too; got"
            " features.quantise.trained_on = 'tokens', which requires the clients' secret"
        )
    if public.source is None and public.share == 1:
        found.append(
            "public.share must be less than 1 without public.source, or no client would have a row;"
            " got 1"
        )
    if public.weight_decay > 0 and public.optimizer != "adamw":
        found.append(
            f"public.weight_decay cannot be used with public.optimizer = {public.optimizer!r}; use"
            " 'adamw' or remove it"
        )
    return found
