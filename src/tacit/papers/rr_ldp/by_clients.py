"""Tables 1 to 6, AUC by the number of clients, and one of ours: what the decoder changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.papers.published import Cell, Scale, Table
from tacit.papers.rr_ldp import printed
from tacit.papers.rr_ldp.printed import CLIENTS
from tacit.papers.rr_ldp.settings import (
    IMDB,
    IMDB_SLOW,
    MLP,
    MOVIELENS,
    POOLED_IMDB,
    POOLED_MOVIELENS,
    Federated,
    Pooled,
    Rounds,
    rr,
)

Row = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ByRounds:
    """A table of one run per number of clients, looked at after several rounds, beside training in one place."""

    name: str
    title: str
    printed: tuple[Row, ...]
    setting: Federated
    rounds: Rounds
    clip: float
    pooled: Pooled
    pooled_printed: float

    def table(self, scale: Scale) -> Table:
        """Return the table at a scale."""
        last = self.rounds.at(scale)
        cells = [
            Cell(
                row=f"R={round_no}", column=f"N={clients}", paper=paper, metric="auc", round_no=round_no,
                trial=self.setting.trial(scale, clients, last, rr(10.0, self.clip)),
            )
            for round_no, values in zip(printed.ROUNDS, self.printed, strict=True)
            for clients, paper in zip(CLIENTS, values, strict=True)
            if round_no <= last
        ]  # fmt: skip
        trial = self.pooled.trial(scale, MLP)
        cells.append(Cell(row="central", column="", paper=self.pooled_printed, trial=trial, metric="auc"))
        note = f"epsilon 10 per bit, q = {self.clip:g}; the paper states neither."
        return Table(name=self.name, title=self.title, cells=tuple(cells), note=note)


@dataclass(frozen=True, kw_only=True)
class ByClip:
    """A table of one run per clip and number of clients, at epsilon 10 per bit."""

    name: str
    title: str
    printed: Mapping[float, Row]
    setting: Federated
    rounds: Rounds

    def table(self, scale: Scale) -> Table:
        """Return the table at a scale."""
        rounds = self.rounds.at(scale)
        cells = [
            Cell(
                row=f"q={clip:g}", column=f"N={clients}", paper=paper, metric="auc",
                trial=self.setting.trial(scale, clients, rounds, rr(10.0, clip)),
            )
            for clip, values in self.printed.items()
            for clients, paper in zip(CLIENTS, values, strict=True)
        ]  # fmt: skip
        note = (
            f"After {rounds} rounds; the paper does not state how many. In R rounds a weight moves by at most R·q, "
            "so the smallest q cannot get far in the rounds given here."
        )
        return Table(name=self.name, title=self.title, cells=tuple(cells), note=note)


@dataclass(frozen=True, kw_only=True)
class ByEpsilon:
    """A table of one run per epsilon per bit and number of clients, at one clip."""

    name: str
    title: str
    printed: Mapping[float, Row]
    setting: Federated
    rounds: Rounds
    clip: float

    def table(self, scale: Scale) -> Table:
        """Return the table at a scale."""
        rounds = self.rounds.at(scale)
        cells = [
            Cell(
                row=f"epsilon {epsilon:g} per bit", column=f"N={clients}", paper=paper, metric="auc",
                trial=self.setting.trial(scale, clients, rounds, rr(epsilon, self.clip)),
            )
            for epsilon, values in self.printed.items()
            for clients, paper in zip(CLIENTS, values, strict=True)
        ]  # fmt: skip
        return Table(name=self.name, title=self.title, cells=tuple(cells), note=f"q = {self.clip:g}, {rounds} rounds.")


BY_CLIENTS: tuple[ByRounds | ByClip | ByEpsilon, ...] = (
    ByRounds(
        name="1", title="IMDB, AUC by rounds and clients", printed=printed.TABLE_1, setting=IMDB_SLOW,
        rounds=Rounds(full=50, quick=50), clip=4e-3 , pooled=POOLED_IMDB, pooled_printed=0.923,
    ),
    ByRounds(
        name="2", title="MovieLens, AUC by rounds and clients", printed=printed.TABLE_2, setting=MOVIELENS,
        rounds=Rounds(full=50, quick=25), clip=1e-2 , pooled=POOLED_MOVIELENS, pooled_printed=0.730,
    ),
    ByClip(
        name="3", title="IMDB, AUC by clip q and clients, epsilon 10 per bit", printed=printed.TABLE_3, setting=IMDB,
        rounds=Rounds(full=50, quick=25) ,
    ),
    ByClip(
        name="4", title="MovieLens, AUC by clip q and clients, epsilon 10 per bit", printed=printed.TABLE_4, setting=MOVIELENS,
        rounds=Rounds(full=25, quick=25) ,
    ),
    ByEpsilon(
        name="5", title="IMDB, AUC by epsilon per bit and clients", printed=printed.TABLE_5, setting=IMDB,
        rounds=Rounds(full=50, quick=25), clip=1e-3 ,
    ),
    ByEpsilon(
        name="6", title="MovieLens, AUC by epsilon per bit and clients", printed=printed.TABLE_6, setting=MOVIELENS,
        rounds=Rounds(full=25, quick=25), clip=1e-2 ,
    ),
)  # fmt: skip


def decoders(scale: Scale) -> Table:
    """Return a table of ours: the corrected decoder beside the one that the paper prints."""
    rounds = Rounds(full=25, quick=15).at(scale)
    cells = [
        Cell(
            row=f"epsilon {epsilon:g} per bit", column=decoder, paper=None, metric="auc",
            trial=IMDB.trial(scale, 100, rounds, rr(epsilon, 1e-3, decoder=decoder)),
        )
        for epsilon in (10.0, 1.0, 0.1)
        for decoder in ("corrected", "printed")
    ]  # fmt: skip
    note = "The printed equation 5 multiplies by f where it must divide: the signal shrinks by f² and every weight drifts."
    return Table(name="decoders", title="IMDB, N=100: the corrected decoder and the printed one", cells=tuple(cells), note=note)
