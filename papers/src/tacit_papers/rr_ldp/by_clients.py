"""Tables 1 to 6, AUC by the number of clients, and one of ours: the effect of the decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.reproduction import Scale
from tacit_papers.published import PaperCell, PaperTable, PaperTrial
from tacit_papers.rr_ldp import printed
from tacit_papers.rr_ldp.printed import CLIENTS
from tacit_papers.rr_ldp.settings import (
    IMDB,
    IMDB_SLOW,
    MLP,
    MOVIELENS,
    POOLED_IMDB,
    POOLED_MOVIELENS,
    CentralSettings,
    FederatedSettings,
    RoundCounts,
    more_seeds,
    rr,
)

Row = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ByRounds:
    """A table of one run per number of clients, measured after several rounds, next to central
    training.
    """

    name: str
    title: str
    printed: tuple[Row, ...]
    setting: FederatedSettings
    rounds: RoundCounts
    clip: float
    pooled: CentralSettings
    pooled_printed: float
    open_by_three: tuple[int, ...] = ()  # numbers of clients with more seeds

    def table(self, scale: Scale) -> PaperTable:
        """The table at a scale."""
        last = self.rounds.at(scale)
        cells = [
             PaperCell( row=f"R={round_no}", column=f"N={clients}", paper=paper, metric="auc",
            round_no=round_no, trial=self._trial(scale, clients), ) for round_no, values in zip(printed.ROUNDS, self.printed,
            strict=True) for clients, paper in zip(CLIENTS, values, strict=True) if round_no <= last
            and clients in _columns(scale)
        ]  # fmt: skip
        trial = self.pooled.trial(scale, MLP)
        cells.append(
            PaperCell(
                row="central", column="", paper=self.pooled_printed, trial=trial, metric="auc"
            )
        )
        note = f"epsilon 10 per bit, q = {self.clip:g}; the paper states neither."
        return PaperTable(name=self.name, title=self.title, cells=tuple(cells), note=note)

    def _trial(self, scale: Scale, clients: int) -> PaperTrial:
        server = {"rounds": self.rounds.at(scale)}
        trial = self.setting.trial(scale, clients, rr(10.0, self.clip), server)
        return more_seeds(trial, scale) if clients in self.open_by_three else trial


@dataclass(frozen=True, kw_only=True)
class ByClip:
    """A table of one run per clip and number of clients, at epsilon 10 per bit.

    A weight moves by at most rounds · rate · q, so a clip far below the learning rate needs a
    server learning rate above 1.
    """

    name: str
    title: str
    printed: Mapping[float, Row]
    setting: FederatedSettings
    rounds: RoundCounts
    rates: Mapping[float, float]

    def row(self, scale: Scale, clip: float) -> str:
        """A row's name: its clip, rounds and server learning rate."""
        rate = self.rates.get(clip, 1.0)
        return (
            f"q={clip:g}, {self.rounds.at(scale)}"
            f" rounds{'' if rate == 1 else f', server rate {rate:g}'}"
        )

    def table(self, scale: Scale) -> PaperTable:
        """The table at a scale."""
        cells = [
            PaperCell(
                row=self.row(scale, clip), column=f"N={clients}", paper=paper, metric="auc",
                trial=self.setting.trial(scale, clients, rr(10.0, clip), self._server(scale, clip)),
            )
            for clip, values in self.printed.items()
            for clients, paper in zip(CLIENTS, values, strict=True)
            if clients in _columns(scale)
        ]  # fmt: skip
        note = (
            "The paper does not state the number of rounds; its server learning rate is 1. In R"
            " rounds a weight moves by at most R·q times that rate, so a small q requires many"
            " rounds or, as here, a larger rate."
        )
        return PaperTable(name=self.name, title=self.title, cells=tuple(cells), note=note)

    def _server(self, scale: Scale, clip: float) -> dict[str, Any]:
        rate = self.rates.get(clip, 1.0)
        return {
            "rounds": self.rounds.at(scale),
            **({} if rate == 1 else {"lr": rate}),
            **sparing(scale, self.rounds.at(scale)),
        }


@dataclass(frozen=True, kw_only=True)
class ByEpsilon:
    """A table of one run per epsilon per bit and number of clients, at one clip; the runs at 10 per
    bit belong to another table.
    """

    name: str
    title: str
    printed: Mapping[float, Row]
    setting: FederatedSettings
    rounds: RoundCounts
    clip: float
    again: tuple[float, ...] = ()  # values of epsilon whose row another table prints too

    def table(self, scale: Scale) -> PaperTable:
        """The table at a scale."""
        rounds = self.rounds.at(scale)
        cells = [
             PaperCell( row=f"epsilon {epsilon:g} per bit", column=f"N={clients}", paper=paper,
            metric="auc", trial=self.setting.trial(scale, clients, rr(epsilon, self.clip),
            {"rounds": rounds, **sparing(scale, rounds)}), again=epsilon in self.again, ) for epsilon, values in
            self.printed.items() for clients, paper in zip(CLIENTS, values, strict=True) if clients
            in _columns(scale)
        ]  # fmt: skip
        return PaperTable(
            name=self.name,
            title=self.title,
            cells=tuple(cells),
            note=f"q = {self.clip:g}.",
        )


def _columns(scale: Scale) -> tuple[int, ...]:
    """The numbers of clients at a scale."""
    return (10, 100) if scale == "quick" else CLIENTS


def sparing(scale: Scale, rounds: int) -> dict[str, int]:
    """Evaluate a full run ten times only: evaluation takes as long as a round."""
    return {"evaluate_every": max(1, rounds // 10)} if scale == "full" else {}


TABLE_3 = ByClip(
     name="3", title="IMDB, AUC by clip q and clients, epsilon 10 per bit",
    printed=printed.TABLE_3, setting=IMDB, rounds=RoundCounts(full=50, quick=25), rates={1e-4: 10.0,
    1e-5: 100.0},
)  # fmt: skip
TABLE_4 = ByClip(
     name="4", title="MovieLens, AUC by clip q and clients, epsilon 10 per bit",
    printed=printed.TABLE_4, setting=MOVIELENS, rounds=RoundCounts(full=25, quick=25), rates={1.0: 0.1,
    1e-3: 10.0},
)  # fmt: skip
BY_CLIENTS: tuple[ByRounds | ByClip | ByEpsilon, ...] = (
     ByRounds( name="1", title="IMDB, AUC by rounds and clients", printed=printed.TABLE_1,
    setting=IMDB_SLOW, rounds=RoundCounts(full=50, quick=50), clip=4e-3, pooled=POOLED_IMDB,
    pooled_printed=0.923,
    open_by_three=(100,), ), ByRounds( name="2", title="MovieLens, AUC by rounds and clients",
    printed=printed.TABLE_2, setting=MOVIELENS, rounds=RoundCounts(full=50, quick=25), clip=3e-2,
    pooled=POOLED_MOVIELENS, pooled_printed=0.730, ), TABLE_3, TABLE_4, ByEpsilon( name="5",
    title="IMDB, AUC by epsilon per bit and clients", printed=printed.TABLE_5, setting=IMDB,
    rounds=RoundCounts(full=50, quick=25), clip=1e-3, ), ByEpsilon( name="6",
    title="MovieLens, AUC by epsilon per bit and clients", printed=printed.TABLE_6,
    setting=MOVIELENS, rounds=RoundCounts(full=25, quick=25), clip=1e-2, again=(10.0,), ),
)  # fmt: skip
COURSE = (50, 100, 200, 300)
"""Rounds at which a run with server learning rate 1 is evaluated."""


def course(scale: Scale) -> PaperTable:
    """A table of ours: what a small q reaches with more rounds at the paper's own server learning
    rate.
    """
    rounds = {"smoke": 1, "quick": COURSE[0], "full": COURSE[-1]}[scale]
    cells = [
         PaperCell( row=f"q={clip:g}", column=f"R={at}", paper=None, metric="auc", round_no=min(at,
        rounds), trial=IMDB.trial(scale, 100, rr(10.0, clip), {"rounds": rounds, "evaluate_every":
        min(25, rounds)}), ) for clip in (1e-4, 1e-5) for at in COURSE if at <= max(rounds,
        COURSE[0])
    ]  # fmt: skip
    note = (
        "N=100, epsilon 10 per bit, server learning rate 1. Table 3 has a larger rate instead of"
        " more rounds for these q."
    )
    return PaperTable(
        name="3-rounds",
        title="IMDB: number of rounds that a small q requires",
        cells=tuple(cells),
        note=note,
    )


LDP_FL_RANGE = 0.1
"""Clip of weights that are sent themselves: chosen on validation rows among .05, .1 and .2."""


def ldp_fl(scale: Scale) -> PaperTable:
    """A table of ours: LDP-FL, the baseline that the paper names, in table 5's setting."""
    rounds = RoundCounts(full=50, quick=25).at(scale)
    arms: dict[str, dict[str, Any]] = {
        "bits of updates (the paper)": {"clip": 1e-3},
        "bits of weights (LDP-FL)": {"clip": LDP_FL_RANGE, "of": "weights"},
    }
    cells = [
         PaperCell( row=f"epsilon {epsilon:g} per bit", column=arm, paper=None, metric="auc",
        trial=IMDB.trial(scale, 100, rr(epsilon, **more), {"rounds": rounds, **sparing(scale,
        rounds)}), ) for epsilon in (10.0, 1.0) for arm, more in arms.items()
    ]  # fmt: skip
    note = (
        f"LDP-FL (Sun et al. 2020) sends each trained weight by the same"
        f" channel, here within ±{LDP_FL_RANGE:g}; its shuffling of parameters changes no figure:"
        " the server adds up the same bits. The table after this one has its privacy."
    )
    return PaperTable(
        name="ldp-fl",
        title="IMDB: bits of updates, and bits of weights",
        cells=tuple(cells),
        note=note,
    )


def decoders(scale: Scale) -> PaperTable:
    """A table of ours: the corrected decoder next to the printed one."""
    rounds = RoundCounts(full=25, quick=15).at(scale)
    cells = [
         PaperCell( row=f"epsilon {epsilon:g} per bit", column=decoder, paper=None, metric="auc",
        trial=IMDB.trial(scale, 100, rr(epsilon, 1e-3, decoder=decoder), {"rounds": rounds,
        "evaluate_every": rounds}), ) for epsilon in (10.0, 1.0, 0.1) for decoder in ("corrected",
        "printed")
    ]  # fmt: skip
    note = (
        "The printed equation 5 multiplies by f where it must divide: the signal shrinks by f² and"
        " every weight drifts."
    )
    return PaperTable(
        name="decoders",
        title="IMDB, N=100: the corrected decoder and the printed one",
        cells=tuple(cells),
        note=note,
    )
