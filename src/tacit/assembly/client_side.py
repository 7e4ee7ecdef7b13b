"""The client side of a run: a learner over a site's rows, the site, and what a plan attaches to it.

A simulation is one site with all clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit import training
from tacit.plan import Plan
from tacit.protocol.agreement import Agreement
from tacit.protocol.site import OwnRows, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Lexicon, Rows

if TYPE_CHECKING:
    from tacit.assembly.negotiated import NegotiatedCodec


@dataclass(frozen=True, kw_only=True)
class PrivateParts:
    """What private parameters need: a folder, the draws they begin with, what token numbers mean."""

    folder: Path
    draws: Draws
    lexicon: Lexicon | None = None


def build_learner(
    plan: Plan, rows: Rows, holders: Clients, private: PrivateParts, module: object | None = None
) -> training.Learner:
    """Build the plan's learner over a site's rows; a server has no rows."""
    if plan.statistics is not None:
        from tacit.assembly.queries.learner import StatisticsLearner

        return StatisticsLearner(plan.statistics, rows, holders)
    home = build_home(plan, private) if plan.personal else None
    return training.build(plan.model, plan.local, rows, holders, module, home)


def build_home(plan: Plan, private: PrivateParts) -> training.Home:
    """Build the store of parameters that stay with clients."""
    from tacit.assembly.token_rows import find_checkpoint

    return training.Home(
        private=plan.private,
        folder=private.folder,
        beginning=private.draws.at("initial"),
        lexicon=private.lexicon,
        buckets=plan.features.buckets,
        checkpoint=find_checkpoint(plan),
    )


@dataclass(frozen=True, kw_only=True)
class SiteClients:
    """The clients of a site: public names, train rows of each, randomness, rows by block.

    `codec_folder` keeps their codec memory and `ledger_file` what they were charged. Without a
    file clients have no ledgers of their own. `negotiated` is what they agreed on, if it is known.
    """

    names: Sequence[int]
    sizes: NDArray[np.int64]
    root: Draws
    rows: OwnRows
    codec_folder: Path
    ledger_file: Path | None = None
    negotiated: NegotiatedCodec | None = None


def build_site(
    plan: Plan, agreement: Agreement, learner: training.Learner, clients: SiteClients
) -> Site:
    """Build a site with its clients' ledgers and their negotiated secret, where the plan has any."""
    site = Site(
        agreement,
        clients.names,
        clients.root,
        clients.sizes,
        learner,
        clients.codec_folder,
    )
    site.own_rows = clients.rows
    if plan.ledger.limits_clients and clients.ledger_file is not None:
        from tacit.privacy.ledger.client_ledgers import ClientLedgers

        site.client_ledgers = ClientLedgers(
            plan.ledger, len(clients.sizes), plan.delta, clients.ledger_file
        )
    negotiated = clients.negotiated
    if plan.negotiated_file is not None:
        from tacit.assembly.negotiated import read_negotiated

        negotiated = read_negotiated(plan)
    if negotiated is not None:
        negotiated.use_at(site)
    return site
