"""The server's side of a run between sites: a model built without rows, the exchanges, and the
evaluation of models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tacit import data, features, server, training
from tacit.assembly.agreement import build_agreement
from tacit.assembly.client_side import PrivateParts, build_learner
from tacit.assembly.exchanges import ServerParts, build_exchanges, build_train
from tacit.assembly.feature_sources import gather_feature_sources
from tacit.assembly.queries.answers import build_answer_reader
from tacit.assembly.rowless_model import build_rowless_model
from tacit.assembly.rows import build_empty_table, encode_tables, fit_features, keep_classes
from tacit.assembly.server_side import (
    ServerRows,
    build_first_model,
    build_member,
    build_release,
    choose_member_pace,
)
from tacit.codecs.votes import noisy_counts
from tacit.column_statistics.number_format import check_formats
from tacit.data import k_anonymity
from tacit.deployment.agenda import MEASURE, is_measured
from tacit.deployment.bodies import Counts, MeasureResponse, Terms
from tacit.deployment.server.carrier import SitesCarrier
from tacit.deployment.server.messenger import Messenger
from tacit.deployment.server.public_rows import read_own_rows
from tacit.plan import Plan
from tacit.privacy.claim import Claim, GaussianNoise
from tacit.protocol.exchanges.train import Member, nobody
from tacit.protocol.loop import Arm, Evaluation, History
from tacit.protocol.round import Names, Request, State
from tacit.randomness import Draws
from tacit.rows import Clients, Lexicon, Rows, Vector
from tacit.runs import record, run_folder
from tacit.runs.record import RUN


@dataclass(frozen=True, kw_only=True)
class ServerInputs:
    """What the server has of its own: a folder for the parts of the model it builds, randomness, a
    file of test rows, and rows that sites disclosed, with the total weight of all clients.
    """

    folder: Path
    draws: Draws
    test: str | None = None
    disclosed: pl.DataFrame | None = None
    clients_weight: int = 0


class ServerSide:
    """Everything the server builds from a plan and the terms of its run."""

    def __init__(
        self,
        plan: Plan,
        terms: Terms,
        digest: str,
        messenger: Messenger,
        with_rows: Names,
        given: ServerInputs,
    ) -> None:
        self.plan, self.terms, self.given = plan, terms, given
        self.columns = plan.data.columns
        built = build_rowless_model(
            plan,
            terms.seen.statistics(),
            given.draws,
            given.folder / "no clients",
            terms.read_projection(),
        )
        self.fitted, self.rows, self._encode = built.fitted, built.rows, built.encode
        self.learner, self.stored_features = built.learner, built.stored_features
        facts = terms.facts(digest)
        self.agreement = build_agreement(plan, facts, self.learner)
        self._member_learner: training.Learner | None = None
        train = build_train(
            plan, facts, self.agreement, given.draws, ServerParts(member=self._member())
        )
        self.exchanges = build_exchanges(plan, facts, train, self.learner)
        self.carrier = SitesCarrier(messenger, terms, self.agreement, with_rows)
        self.test = self._test_rows()
        self.warm_started: record.WarmStarted | None = None
        self.evaluator = SiteEvaluator(self)
        answers = None if plan.statistics is None else build_answer_reader(self.learner, RUN)
        self.arm = Arm(
            name=RUN,
            plan=plan,
            exchanges=self.exchanges,
            first=self._first_model,
            evaluator=answers or self.evaluator,
            draws=given.draws,
            optimizer=self.agreement.optimizer,
            release=build_release(plan, self.agreement, terms.clients),
        )

    def _first_model(self) -> Vector | None:
        if self._member_learner is not None:
            self._member_learner.forget()
        if self.agreement.codec.decoded_by == "clients":
            return None
        rows = ServerRows(public=self._public(), test=self.test)
        model, self.warm_started = build_first_model(
            self.plan, self.learner, self.given.draws, rows
        )
        return model

    def _public(self) -> Rows | None:
        if self.plan.public is None:
            return None
        return self._encode(read_own_rows(self.plan, self.fitted.classes, self.given.draws))

    def _test_rows(self) -> Rows | None:
        """The server's own test rows, encoded."""
        if self.given.test is None or self.learner.personal or self.plan.statistics is not None:
            return None
        if features.needs_secret(self.plan.features):
            return None  # the server lacks the clients' secret
        settings = replace(
            self.plan.data,
            source=self.given.test,
            test=0.0,
            columns=replace(self.columns, split=None, client=None),
        )
        draws = self.given.draws.at("data")
        table = data.load(settings, draws, least_classes=1, schema=self.plan.schema)
        check_formats(
            table.habits.formats, self.terms.seen.statistics().formats, "data.decimal in the plan"
        )
        label = self.columns.label or ""
        return self._encode(keep_classes(table.train, label, self.fitted.classes))

    def _member(self) -> Member:
        """The server with the disclosed rows, as one more member of the average."""
        rows = self.given.disclosed
        if rows is None or not rows.height:
            return nobody
        own, lexicon = self._encode_disclosed(rows)
        holder = Clients(order=np.arange(len(own)), starts=np.array([0, len(own)]))
        weight = self.given.clients_weight
        local = choose_member_pace(
            self.plan.data.share, self.plan.local, weight, self.terms.clients
        )
        parts = PrivateParts(
            folder=self.given.folder / run_folder.PRIVATE / RUN,
            draws=self.given.draws,
            lexicon=lexicon,
        )
        learner = build_learner(replace(self.plan, local=local), own, holder, parts)
        self._member_learner = learner
        return build_member(learner, 0, len(own), weight, self.given.draws)

    def _encode_disclosed(self, rows: pl.DataFrame) -> tuple[Rows, Lexicon | None]:
        """Encode the disclosed rows, with their own words; suppressed columns are empty cells."""
        empty = k_anonymity.expand_categories(build_empty_table(self.columns, self.fitted))
        table = pl.concat([empty, rows], how="diagonal_relaxed")
        sources = gather_feature_sources(
            self.columns, self.plan.features, projection=self.fitted.projection
        )
        encoded = encode_tables(self.plan, self.columns, (table,), self.fitted, sources)
        return encoded.tables[0], encoded.lexicon


_MOST_DEVIATIONS = 20.0
"""By how many standard deviations noise may move a count; more has a probability below 1e-80."""


class SiteEvaluator:
    """Evaluates models on the server's own test rows if it has any, else on what the sites hold
    out.
    """

    def __init__(self, side: ServerSide) -> None:
        self.side = side
        self._told: set[tuple[str, str]] = set()

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """Evaluate a round's model, if this round is measured."""
        if self.side.test is not None:
            if not self.side.plan.server.is_evaluated(state.round_no):
                return Evaluation()
            return Evaluation(
                metrics=server.measure(
                    self.side.learner.predict(model, self.side.test.inputs), self.side.test.labels
                )
            )
        if not is_measured(self.side.plan, state.round_no):
            return Evaluation()
        return self.evaluation(
            self.side.arm.build_request_after(state.round_no, model, state.arrays), state.round_no
        )[0]

    def evaluation(self, request: Request, round_no: int) -> tuple[Evaluation, dict[str, bytes]]:
        """Evaluate the model after a round by the sites' counts, with the claims of these counts
        and the digest of the model at each site.

        A site that sends no counts is named in the record, once for each reason.
        """
        found, withheld = self.side.carrier.measured(request, round_no)
        claims, wrong = _read_claims(found, self.side.terms)
        for site, why in wrong.items():
            found.pop(site)
            withheld[site] = why
        new = sorted({*withheld.items()} - self._told)
        self._told |= {*new}
        notes = [
            record.Refused(
                arm=RUN, round_no=round_no, exchange=MEASURE, sender=f"site {site}", reason=why
            )
            for site, why in new
        ]
        counts = [one.counts for one in found.values() if one.counts is not None]
        evaluation = Evaluation(
            metrics=compute_accuracy(counts), entries=[*notes], claims=find_weakest_claim(claims)
        )
        return evaluation, {site: one.model for site, one in found.items()}

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """Nothing more: the last round was measured."""
        return Evaluation()


def compute_accuracy(found: list[Counts]) -> dict[str, float]:
    """Accuracy over all rows that sites counted; empty if they counted none, or noise leaves none.

    `accuracy_noise` is the standard deviation of the accuracy caused by noise in the counts.
    """
    rows, right = sum(one.rows for one in found), sum(one.right for one in found)
    if rows <= 0:
        return {}
    accuracy = min(1.0, max(0.0, right / rows))
    noise = math.hypot(*(one.noise for one in found)) * math.hypot(1, accuracy) / rows
    return {"accuracy": accuracy, **({"accuracy_noise": noise} if noise else {})}


def find_weakest_claim(claims: list[Claim]) -> tuple[Claim, ...]:
    """The claim with the least noise: a client belongs to one site, so none is charged for more
    than this.
    """
    return (min(claims, key=_multiplier),) if claims else ()


def _multiplier(claim: Claim) -> float:
    assert isinstance(claim.event, GaussianNoise)
    return claim.event.noise_multiplier


def _read_claims(
    found: dict[str, MeasureResponse], terms: Terms
) -> tuple[list[Claim], dict[str, str]]:
    """The claims of the sites' noisy counts, and the sites whose counts are impossible."""
    claims, wrong = list[Claim](), dict[str, str]()
    for site, one in found.items():
        if one.counts is None:
            continue
        counts, member = one.counts, terms.find_member(site)
        most, noise = member.rows + member.test_rows, _MOST_DEVIATIONS * counts.noise
        try:
            claim = noisy_counts.read_claim(counts.claim, counts.noise) if counts.claim else None
            if claim is None and (counts.noise or not 0 <= counts.right <= counts.rows):
                wrong[site] = "its counts contradict each other"
            elif max(counts.rows, counts.right) > most + noise:
                wrong[site] = "it counts more rows than it has"
            elif min(counts.rows, counts.right) < -noise:
                wrong[site] = "its counts are below zero by more than their noise"
            elif claim is not None:
                claims.append(claim)
        except ValueError as error:
            wrong[site] = str(error)
    return claims, wrong


def build_release_schema(plan: Plan, terms: Terms) -> pl.Schema:
    """Columns and types of the rows that sites disclose."""
    columns = plan.data.columns
    sources = gather_feature_sources(columns, plan.features, projection=terms.read_projection())
    fitted = fit_features(plan, terms.seen.statistics(), columns, sources)
    table = k_anonymity.expand_categories(build_empty_table(columns, fitted))
    assert plan.data.share is not None, "a plan without [data.share] discloses no rows"
    return k_anonymity.build_release_schema(table, columns, plan.data.share)
