"""One owner's machine: its clients, their rows, and their state between rounds.

A phone is a site with one client; a hospital is a site with a client per patient. A simulation is
one site with all clients.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from tacit import training
from tacit.client import ClientRandomness, ClientSlot
from tacit.codecs import Codec, Memory
from tacit.errors import WireError
from tacit.privacy.claim import Claim
from tacit.privacy.ledger.client_ledgers import ClientLedgers
from tacit.protocol import messages
from tacit.protocol.agreement import Agreement
from tacit.protocol.promised_updates import PromisedUpdates
from tacit.protocol.round import Request
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector
from tacit.training import Update
from tacit.training.private.store import PrivateStore

MODEL, SUM = "model", "sum"
"""What a request carries: the model itself, or the sum of the round before, which only clients can
read.
"""

_SITE, _FROM, _AT_ENDS = "site", "from", "at_ends"


class OwnRows(NamedTuple):
    """The rows of a site's clients by block: those they train on, and those they hold out to test
    others' heads.
    """

    train: Rows
    train_clients: Clients
    tests: Rows
    test_clients: Clients


class Honest:
    """How clients behave: each trains on its own rows and sends the result. Only a simulation gives
    a site another behaviour.
    """

    def __init__(self) -> None:
        self.common: dict[str, Vector] = {}

    def trains(self, slot: ClientSlot, round_no: int) -> ClientSlot:
        """Choose the client whose rows a client trains on in a round: its own."""
        return slot

    def sends(self, slot: ClientSlot, update: Update, round_no: int, exchange: str) -> Update:
        """The update, or the head, that a client sends in an exchange, given the one it trained."""
        return update

    def all_honest(self, names: NDArray[np.int64], round_no: int) -> bool:
        """Whether each of these clients sends what it trained."""
        return True

    def votes(
        self, slot: ClientSlot, helped: NDArray[np.bool_], on: NDArray[np.int64], round_no: int
    ) -> NDArray[np.bool_] | None:
        """The votes of a cheating tester on these contributors, sent without noise; None from an
        honest one.
        """
        return None

    def colluders(self, cohort: NDArray[np.int64], round_no: int) -> NDArray[np.int64]:
        """The clients of a cohort whose honest updates are needed before anybody responds."""
        return np.empty(0, np.int64)

    def collude(self, seen: dict[str, NDArray[np.float32]], clients: int, round_no: int) -> None:
        """Take what the colluders would honestly send in each exchange, one row each; `clients` is
        the size of the cohort.
        """


class Site:
    """Clients on one machine, by name; the rows of the first name are block 0, and so on."""

    def __init__(
        self,
        agreement: Agreement,
        names: Sequence[int],
        root: Draws,
        rows: NDArray[np.int64],
        learner: training.Learner | None = None,
        folder: Path | None = None,
    ) -> None:
        self.agreement, self.names, self.root, self.learner = agreement, names, root, learner
        self.weights = training.compute_weights(agreement.server, rows)
        self.client_ledgers: ClientLedgers | None = (
            None  # its clients' own ledgers, which may refuse
        )
        self.behaviour, self.promised = Honest(), PromisedUpdates()
        self._blocks = (
            None
            if isinstance(names, range) and names.start == 0
            else {name: n for n, name in enumerate(names)}
        )
        self._kept = PrivateStore(folder) if folder else None
        self._model: tuple[int, Vector] | None = None
        # drawn when a real site starts; then noise is new, whatever was asked before
        self.epoch = ""
        self.key: Ed25519PrivateKey | None = None  # the site's own, where its clients share one
        self._keys: dict[int, Ed25519PrivateKey] = {}
        self.own_rows: OwnRows | None = None
        self.at_ends: float | None = (
            None  # of the last round decoded here, what share of values lay in outermost channels
        )
        self.use_secret(root.sealed("clients").key, agreement.codec)
        self._beginning = root.at("initial")

    def use_secret(self, secret: bytes, codec: Codec) -> None:
        """Use a secret and a codec that all clients of the run share and the server does not know,
        such as negotiated ones.

        The secret is bound to the run. A first model that the server must not read is drawn from it
        too. Without this call both follow from the site's root, which all clients of a simulation
        share.
        """
        self._secret = hmac.digest(
            secret, f"tacit run {self.agreement.run} {self.agreement.identity}".encode(), "sha256"
        )
        self._client_codec = codec
        self._beginning = Draws(self._secret).at("initial")

    def codec(self, round_no: int) -> Codec:
        """The agreed codec as clients hold it in a round: with their secret, if it needs one."""
        return (
            self._client_codec
            if self._client_codec.keyed is None
            else self._client_codec.keyed(self._secret, round_no)
        )

    def slot(self, name: int) -> ClientSlot:
        """Look up a client of this site by name."""
        return ClientSlot(
            name,
            name if self._blocks is None else self._blocks[name],
            ClientRandomness(self.root, name, self.epoch),
        )

    def client(self, name: int, worker: training.Worker | None = None) -> Client:
        """A client of this site with a worker to train for it."""
        return Client(self, self.slot(name), worker)

    def signing_key(self, slot: ClientSlot) -> Ed25519PrivateKey:
        """The key with which a client's site signs messages to helpers; in a simulation each client
        has its own.
        """
        if self.key is not None:
            return self.key
        if slot.name not in self._keys:
            self._keys[slot.name] = Ed25519PrivateKey.from_private_bytes(
                slot.own.private("site").sealed("signing").key
            )
        return self._keys[slot.name]

    def all_have_rows(self, names: NDArray[np.int64]) -> bool:
        """Whether each of these clients has rows to train on."""
        return bool((self.get_weights(names) > 0).all())

    def get_weights(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """The weights of these clients."""
        blocks = names if self._blocks is None else [self._blocks[name] for name in names.tolist()]
        return self.weights[blocks]

    def weight(self, slot: ClientSlot) -> int:
        """The weight of a client, computed from its own rows."""
        return int(self.weights[slot.block])

    def memory(self, slot: ClientSlot, before: int) -> Memory:
        """The codec state of a client from earlier rounds."""
        return (self._kept.read(slot.name, before) if self._kept else None) or {}

    def remember(self, slot: ClientSlot, round_no: int, memory: Memory) -> None:
        """Store the codec state of a client after a round."""
        if memory and self._kept:
            self._kept.write(slot.name, round_no, memory)

    def refusals(self, request: Request, claims: tuple[Claim, ...]) -> dict[int, str]:
        """Charge the clients' own ledgers; return which clients refuse, and why."""
        if self.client_ledgers is None:
            return {}
        blocks = (
            request.to
            if self._blocks is None
            else np.array([self._blocks[name] for name in request.to.tolist()], np.int64)
        )
        refused = self.client_ledgers.charge(blocks, claims, request.round_no)
        return {self.names[block]: why for block, why in refused.items()}

    def forget(self) -> None:
        """Remove state of an earlier start."""
        if self.client_ledgers is not None:
            self.client_ledgers.reset()
        if self._kept:
            self._kept.clear()

    def compute_model_digest(self, model: Vector) -> bytes:
        """A digest by which sites can compare the models they decoded.

        Where the server cannot decode the model, the digest is keyed with the clients' secret: from
        a plain hash of a sum that the server chose, it could find by trial what a client sent. The
        noise of a simulation is known, and so is its digest.
        """
        if self.agreement.codec.decoded_by == "clients" and self.epoch:
            return hmac.digest(self._secret, b"tacit model " + model.tobytes(), "sha256")
        return hashlib.sha256(model.tobytes()).digest()

    def model(self, request: Request) -> Vector:
        """The model in a request: as it was sent, or decoded here from a sum the server cannot
        decode.
        """
        terms = self.agreement
        kind = MODEL if terms.codec.decoded_by == "server" else SUM
        message = messages.expect(
            messages.parse(*request.frame),
            run=terms.run,
            round_no=request.round_no,
            codec=kind,
            dim=terms.dim,
        )
        if kind == MODEL:
            messages.expect(message, payload_size=4 * terms.dim)
            return message.payload.view(np.float32)
        if self._model is None or self._model[0] != request.round_no:
            self._model = (request.round_no, self._take_step(message, request.round_no))
        return self._model[1]

    def read_decoded_model(self, rounds: int) -> Vector | None:
        """The model after the run's last round as it was decoded here; None if it was not. The
        caller compares its digest: a site that missed the last sum has an older model.
        """
        kept = self._kept.read(_SITE, rounds + 1) if self._kept else None
        return kept[MODEL] if kept else None

    def compute_head_inputs(
        self,
        model: Vector,
        slot: ClientSlot,
        round_no: int,
        tests: NDArray[np.int64] | None = None,
    ) -> tuple[training.Matrix, NDArray[np.int32]]:
        """The inputs of the model's last layer for a client's rows, and their labels: rows it
        trains on, or those of the rows it holds out that `tests` numbers.

        Where a part of the model stays with the client, the layers below are its own, as they are
        when the round begins.
        """
        learner, some = cast(training.HeadedLearner, self.learner), self._take_rows(slot, tests)
        return training.append_ones(learner.below(model, some.inputs, slot, round_no)), some.labels

    def read_part(
        self,
        model: Vector,
        size: int,
        slot: ClientSlot,
        round_no: int,
        tests: NDArray[np.int64] | None = None,
    ) -> training.PartRows:
        """The same rows as inputs of the model's last layers, which have `size` parameters."""
        learner, some = cast(training.HeadedLearner, self.learner), self._take_rows(slot, tests)
        return learner.read_part(model, some, size, slot, round_no)

    def _take_rows(self, slot: ClientSlot, tests: NDArray[np.int64] | None) -> Rows:
        own = self.own_rows
        assert own is not None
        if tests is None:
            starts = own.train_clients.starts
            return own.train.take(np.arange(starts[slot.block], starts[slot.block + 1]))
        return own.tests.take(own.test_clients.starts[slot.block] + tests)

    def count_tests(self, slot: ClientSlot) -> int:
        """Number of rows that a client holds out to evaluate others on."""
        assert self.own_rows is not None
        starts = self.own_rows.test_clients.starts
        return int(starts[slot.block + 1] - starts[slot.block])

    def compute_first_model(self) -> Vector:
        """The first model, where all sites derive it by themselves."""
        assert self.learner is not None
        return self.learner.initial(self._beginning)

    def _take_step(self, message: messages.Message, round_no: int) -> Vector:
        """The model after the server's step, taken here. Round 1 begins with the first model that
        all sites derive.
        """
        terms = self.agreement
        if round_no == 1:
            model = self.compute_first_model()
            return self._keep(round_no, model, terms.optimizer.init(model), b"")
        assert self._kept is not None, "a site that decodes keeps the model between rounds"
        digest = hashlib.sha256(f"{round_no} ".encode() + message.payload.tobytes()).digest()
        done = self._kept.read(_SITE, round_no) or {}
        if done and done[_FROM].tobytes() == digest:
            self.at_ends = float(done[_AT_ENDS][0])
            return done[MODEL]  # taken before, by another process of this site or before a stop
        if self._kept.find_last_round(_SITE, round_no - 1) != round_no - 2:
            raise WireError(
                f"round {round_no:,}: this site has not received the sum of every round before, so"
                " its model would differ from the others'"
            )
        kept = self._kept.read(_SITE, round_no - 1) or {}
        model, state = (
            kept[MODEL],
            {name: array for name, array in kept.items() if name not in (MODEL, _FROM, _AT_ENDS)},
        )
        total = terms.codec.empty(terms.dim)
        total.add_packed(message.payload, message.header.weight)
        if total.weight:
            public, own = (
                terms.public.at(round_no - 1),
                self.root.at("decode", round_no - 1).for_server(),
            )
            mean = self.codec(round_no - 1).decode(total, public=public, own=own)
            self.at_ends = terms.codec.at_ends(total) if terms.codec.at_ends else None
            update = terms.codec.compute_update(model, mean)
            model, state = terms.optimizer.update(model, update, state)
        return self._keep(round_no, model, state, digest)

    def _keep(
        self, round_no: int, model: Vector, state: dict[str, Vector], digest: bytes
    ) -> Vector:
        """Store the model a round begins with and the sum it came from; return the model."""
        if self._kept is not None:
            at_ends = np.array([np.nan if self.at_ends is None else self.at_ends])
            facts = {_FROM: np.frombuffer(digest, np.uint8), _AT_ENDS: at_ends}
            self._kept.write(_SITE, round_no - 1, {MODEL: model, **state, **facts})
        return model


class Client(NamedTuple):
    """A client with its site and a worker that trains on its rows."""

    site: Site
    slot: ClientSlot
    worker: training.Worker | None = None
