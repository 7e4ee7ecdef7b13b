"""A site in a process of its own: it is given its own rows and nothing of anybody else's, and answers what it is asked."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit import codec, data, features, local, plan
from tacit.aggregate import Intake
from tacit.data import disclose
from tacit.draws import Draws
from tacit.engine.agreement import Agreement
from tacit.engine.exchanges import SecureTrain, Train
from tacit.engine.exchanges.disclose_rows import Discloser, DiscloseRows
from tacit.engine.exchanges.sharing import sharing_for
from tacit.engine.exchanges.site_sums import site_sum
from tacit.engine.negotiated import held
from tacit.engine.round import Request, gather
from tacit.engine.simulated_helpers import helper_keys
from tacit.engine.site import Client, Site
from tacit.rows import Clients, Lexicon, Rows
from tacit.seat import Own, Seat


def serve(wire: Connection) -> None:
    """Answer until the other side closes."""
    site: OneSite | None = None
    while True:
        try:
            command, given = wire.recv()
        except EOFError:
            return
        if command == "open":
            site = OneSite(**given)
            wire.send(None)
        else:
            wire.send(getattr(site, command)(**given))


class OneSite:
    """Some clients' rows on one machine, read from a file that holds no others."""

    def __init__(self, number: int, rows: str, sizes: list[int], names: list[int], job: dict, terms: dict, folder: str) -> None:
        self.number, self.names, self.folder = number, names, Path(folder)
        self.plan, self.terms = plan.parse(job), terms
        agreed = held(self.plan)  # then nothing a server might know, such as a seed, decides what is secret
        self.root, self.fitted = (
            Draws.from_system() if agreed else Draws.seeded(self.plan.seed),
            features.Fitted.from_dict(terms["fitted"]),
        )
        self.columns = plan.Columns(**{key: tuple(v) if isinstance(v, list) else v for key, v in terms["columns"].items()})
        self.frame = data_frame(rows, self.columns.label, self.fitted.classes)
        self.clients = Clients(order=np.arange(sum(sizes)), starts=np.concatenate([[0], np.cumsum(sizes)]))
        self.charged: list[tuple[int, str, int]] = []
        self.offer = None

    def disclose(self, kinds: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        """Return one message per client with the rows it may disclose, decided here."""
        table = data.Table(train=self.frame, test=self.frame.clear(), columns=self.columns, source="")
        self.offer = disclose.offer(table, self.clients, self.plan.data.share, self.root.at("share"))
        exchange = DiscloseRows(self.plan.name, self.offer.rows.schema)
        weights = local.weights_for(self.plan.server, self.offer.kept().sizes())
        holders = [
            Discloser(Seat(name, block, Own(self.root, name)), self.offer.released_by(block), int(weights[block]))
            for block, name in enumerate(self.names)
        ]
        return [_sent(exchange.answer(holder, None)) for holder in holders]

    def begin(self) -> list[int]:
        """Build the learner over the rows that stay, and return which clients have any."""
        clients, frame = self.clients, self.frame
        if self.offer is not None:
            kept = self.offer.kept()
            clients, frame = Clients(order=np.arange(len(kept.order)), starts=kept.starts), disclose.written_out(frame[kept.order])
        rows, home = self._encoded(frame)
        learner = local.build(self.plan.model, self.plan.local, rows, clients, None, home)
        assert learner.size == self.terms["dim"]
        agreement = Agreement(
            run=self.terms["run"],
            identity=self.terms["identity"],
            dim=learner.size,
            codec=codec.build(self.plan.codec, self._extent()),
            public=Draws(self.terms["public"]),
            server=self.plan.server,
            largest_weight=self.terms["largest_weight"],
            sum_at_site=self.terms["sum_at_site"],
        )
        self.site = Site(agreement, self.names, self.root, clients.sizes(), learner, self.folder / "codec")
        agreed = held(self.plan)
        if agreed:
            self.site.use_secret(agreed.secret, agreed.codec)
        self.site.charge = lambda seat, exchange, round_no: self.charged.append((seat.name, exchange, round_no))
        self.exchange, self.worker = Train(agreement, self.root), learner.worker()
        if self.plan.secure_sum:
            keys = helper_keys(self.plan.secure_sum, self.root)
            sharing = sharing_for(self.plan.secure_sum, agreement, keys, Train.name, agreement.codec, agreement.dim)
            self.exchange = SecureTrain(agreement, self.root, sharing)
        return [name for name in self.names if self.site.weight(self.site.seat(name))]

    def _extent(self) -> codec.Extent:
        return codec.Extent.of(self.plan, self.terms["clients"])

    def _encoded(self, frame: pl.DataFrame) -> tuple[Rows, local.Home | None]:
        if self.plan.features.text != "words":
            return features.encode(frame, self.columns, self.plan.features, self.fitted), None
        split = features.plain_words(self.plan.features.stop_words)
        reading = features.Reading(columns=self.columns, settings=self.plan.features, fitted=self.fitted, split=split)
        (rows,), words = features.encode_words((frame,), reading)
        beginning = self.root.at("initial")
        lexicon = Lexicon(words=words)
        return rows, local.Home(
            private=self.plan.private, folder=self.folder, beginning=beginning, lexicon=lexicon, buckets=self.plan.features.buckets
        )

    def read(self, round_no: int, head: bytes, payload: bytes) -> bytes:
        """Return the model a request stands for, as the clients here read it."""
        frame = (head, memoryview(bytearray(payload)))
        return self.site.model(Request(exchange="train", round_no=round_no, to=np.empty(0, np.int64), frame=frame)).tobytes()

    def answer(self, round_no: int, to: list[int], head: bytes, payload: bytes) -> list[tuple[bytes, bytes]]:
        """Return the messages of those asked who sit here; with sums at the site, one message for all of them."""
        frame = (head, memoryview(bytearray(payload)))
        request = Request(exchange=self.exchange.name, round_no=round_no, to=np.array(to), frame=frame)
        here = [name for name in to if name in self.names]
        frames = [self.exchange.answer(Client(self.site, self.site.seat(name), self.worker), request) for name in here]
        assert [name for name, _, at in self.charged if at == round_no] == here, "charged before it left"
        if not self.site.agreement.sum_at_site:
            return [_sent(one) for one in frames]
        intake = Intake(here, round_no, self.site.agreement.largest_weight)
        total = gather(self.exchange, intake, frames).total
        return [_sent(site_sum(self.site.agreement, self.number, round_no, here, total))] if here else []


def data_frame(rows: str, label: str, classes: tuple[str, ...]) -> pl.DataFrame:
    """Return the site's own rows; the names of the classes are public."""
    frame = pl.read_parquet(rows)
    return frame.with_columns(pl.col(label).cast(pl.String).cast(pl.Enum(list(classes))))


def _sent(frame: tuple[bytes, memoryview]) -> tuple[bytes, bytes]:
    return bytes(frame[0]), bytes(frame[1])
