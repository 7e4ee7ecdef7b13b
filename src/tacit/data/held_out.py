"""Select held-out test rows."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.randomness import Draws

Mask = NDArray[np.bool_]


def hold_out_rows(
    frame: pl.DataFrame,
    share: float,
    draws: Draws,
    owners: pl.Series | None = None,
    labels: pl.Series | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split rows into train rows and a random share of held-out rows: at least one of each, if
    there are two.

    If rows have owners, each row is drawn independently, so that one owner's held-out rows do not
    depend on other owners. An owner keeps at least one row. With `labels`, rows are exchanged where
    otherwise nothing could be learned or measured (`_mend`); that needs all rows, so real sites do
    not use it.
    """
    if share <= 0:
        return frame, frame.clear()
    held_out = (
        _draw_rows(frame.height, share, draws)
        if owners is None
        else _draw_rows_of_owners(owners, share, draws)
    )
    if labels is not None:
        _exchange_rows(held_out, labels, owners)
    return frame.filter(pl.Series(~held_out)), frame.filter(pl.Series(held_out))


def _draw_rows(count: int, share: float, draws: Draws) -> Mask:
    held_out = np.zeros(count, np.bool_)
    held = min(count - 1, max(1, round(count * share))) if count > 1 else 0
    held_out[draws.generator().permutation(count)[:held]] = True
    return held_out


def _draw_rows_of_owners(owners: pl.Series, share: float, draws: Draws) -> Mask:
    """Draw held-out rows owner by owner; rows without an owner, which are dropped, are not held
    out.
    """
    held_out = np.zeros(len(owners), np.bool_)
    threshold = np.uint64(min(int(share * 2**64), 2**64 - 1))
    groups = (
        pl.DataFrame({"owner": owners})
        .with_row_index("row")
        .drop_nulls()
        .group_by("owner")
        .agg("row")
    )
    for owner, rows in groups.iter_rows():
        chosen = draws.at(owner).words(len(rows)) < threshold
        chosen[0] &= not chosen.all()
        held_out[rows] = chosen
    return held_out


def _exchange_rows(held_out: Mask, labels: pl.Series, owners: pl.Series | None) -> None:
    """Exchange rows, in place, where a small table would leave one class to train on, or no
    held-out row of a known class.

    Each exchange holds out as many rows as before, unless no row was held out. Every other table
    keeps its random split.
    """
    classes = labels.rank("dense").to_numpy().astype(np.int64)
    whose = (
        np.arange(len(classes))
        if owners is None
        else owners.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    )
    known = np.unique(classes[~held_out])
    strangers = np.flatnonzero(held_out & ~np.isin(classes, known))
    if len(known) < 2 and len(strangers):
        held_out[strangers[0]] = False
        _hold_out_another(
            held_out, classes, whose, is_owned=owners is not None, instead_of=strangers[0]
        )
    elif not (held_out & np.isin(classes, known)).any():
        if len(strangers):
            held_out[strangers[0]] = False
        _hold_out_another(held_out, classes, whose, is_owned=owners is not None)


def _hold_out_another(
    held_out: Mask,
    classes: NDArray[np.int64],
    whose: NDArray[np.int64],
    *,
    is_owned: bool,
    instead_of: int | None = None,
) -> None:
    """Hold out one more row: the first whose class, and whose owner if rows have owners, keeps a
    row to train on.
    """
    stays = ~held_out
    spare = stays & (np.bincount(classes[stays], minlength=classes.max(initial=0) + 1)[classes] > 1)
    if is_owned:
        spare &= np.bincount(whose[stays], minlength=whose.max(initial=0) + 1)[whose] > 1
    if instead_of is not None:
        spare[instead_of] = False
    if spare.any():
        held_out[np.argmax(spare)] = True
