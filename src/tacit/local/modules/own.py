"""Modules that are not ours: found, tried on a few rows, and refused in words before anything is trained."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import nn

from tacit.errors import PlanError
from tacit.local.own_code import check_code
from tacit.plan import OwnModule


def imported(model: OwnModule) -> Any:
    """Import the class that a plan names, after a look at its code's hash; the working folder is not searched."""
    place, _, attribute = model.name.partition(":")
    check_code(model)
    try:
        kind = getattr(importlib.import_module(place), attribute)
    except (ImportError, AttributeError) as error:
        raise PlanError(
            f"model.name = {model.name!r} cannot be imported ({error}); name the folder it lies in: PYTHONPATH=FOLDER tacit …"
        ) from None
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise PlanError(f"model.name = {model.name!r} needs a subclass of torch.nn.Module, got {kind!r}")
    return kind


def own_module(kind: Any, name: str, inputs: int, outputs: int) -> nn.Module:
    """Return a module of a class of the user's, made with the arguments `inputs` and `outputs`."""
    try:
        made: nn.Module = kind(inputs=inputs, outputs=outputs)
    except TypeError as error:
        raise PlanError(
            f"model.name = {name!r} needs a class that is made with the arguments inputs and outputs, got {error}; give it these, "
            "or hand the module itself over in Python, as module=…"
        ) from error
    return made


def checked(module: nn.Module, name: str) -> nn.Module:
    """Refuse what cannot be averaged honestly: running statistics, and parameters that are not float32."""
    running = [key for key, buffer in module.named_buffers() if buffer.is_floating_point()]
    if running:
        raise PlanError(
            f"model {name!r} keeps running statistics ({running[0]}), which are neither trained nor averaged and describe "
            "the client's rows; use GroupNorm or LayerNorm in place of BatchNorm"
        )
    odd = [key for key, parameter in module.named_parameters() if parameter.dtype != torch.float32]
    if odd:
        raise PlanError(f"model {name!r} needs float32 parameters, got another type in {odd[0]}; call .float() on it")
    if not list(module.parameters()):
        raise PlanError(f"model {name!r} has no parameters to train")
    return module


def tried(module: nn.Module, name: str, batch: tuple[torch.Tensor, ...], outputs: int) -> None:
    """Raise PlanError if a module cannot read some rows, or does not make logits of them; the rows are not quoted.

    For two classes a module makes one logit per row, or two.
    """
    given = " and ".join(f"{tuple(part.shape)} of {str(part.dtype).removeprefix('torch.')}" for part in batch)
    rows = len(batch[0])
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            made = module.eval()(*batch)
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise PlanError(  # what the module says itself might quote a cell
            f"model {name!r} needs to read rows as a tensor of shape {given} (rows, then inputs), got {type(error).__name__}; "
            f"make its first layer fit {batch[0].shape[-1]:,} inputs"
        ) from error
    finally:
        module.train()
    if not isinstance(made, torch.Tensor):
        raise PlanError(f"model {name!r} needs to return a tensor of logits, got {type(made).__name__}; return its logits alone")
    wanted = (1, 2) if outputs == 1 else (outputs,)
    if made.numel() not in {rows * each for each in wanted} or (made.ndim > 1 and len(made) != rows):
        raise PlanError(
            f"model {name!r} needs to return {' or '.join(map(str, wanted))} logits for each row, got shape {tuple(made.shape)} "
            f"for {rows} rows; make its last layer fit the {max(2, outputs)} classes"
        )


def as_logits(made: torch.Tensor, outputs: int) -> torch.Tensor:
    """Return one logit per row for two classes, else one per class; two logits for two classes become their difference."""
    if outputs == 1 and made.ndim == 2 and made.shape[1] == 2:
        return made[:, 1:] - made[:, :1]
    return made.reshape(-1, outputs)
