"""An owner's machine in a run: it reads letters, obeys its policy, pays first, and answers for its clients.

For each letter the order is: policy, reserve, compute, randomise, store, send. A letter that was answered before gets the stored
bytes again. What goes wrong is told to the owner in full and to the server in one word.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import local
from tacit import plan as plans
from tacit.claim import Claim
from tacit.draws import Draws
from tacit.engine.deployed import bodies
from tacit.engine.deployed.bodies import Answers, Begun, Offer, Opened, Question, SeenRows, Terms
from tacit.engine.deployed.built import Built, build
from tacit.engine.deployed.offered import refuse_unless_offered
from tacit.engine.deployed.permission import check_rows, refuse_unless_allowed
from tacit.engine.deployed.site_rows import SiteRows, read_rows
from tacit.engine.exchanges import HelperSums
from tacit.errors import BudgetError, DataError, PlanError, PolicyError, RunError, TacitError, WireError
from tacit.features import look_at
from tacit.files import replace_file
from tacit.ledger.owner import Book, Policy, Receipt
from tacit.plan import HashComb, Plan
from tacit.secure_sum import HelperKey
from tacit.wire.letter import Letter, Status, Subject, read, write

Claims = tuple[Claim, ...]
_OPEN, _BEGIN, _ROOT = "offer", "terms", "root"
_NO_RECEIPT = Receipt(0, bytes(32))


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What an owner brings: a name, rows, a place on the disk, keys, and a policy that is read anew for every letter.

    `signs_with` is the key for helpers, `peers` the keys of other sites as this owner learned them, by their names. `agreed` is the
    file of what was negotiated (`tacit negotiate`), for plans whose codec needs it.
    """

    name: str
    source: str
    folder: Path
    key: EllipticCurvePrivateKey
    signs_with: Ed25519PrivateKey
    secret: bytes
    policy: Callable[[], Policy | None]
    book: Callable[[Policy, Plan], Book]
    agreed: str | None = None
    peers: Callable[[str], bytes | None] = lambda site: None
    tell: Callable[[str], None] = lambda sentence: None


@dataclass
class Taking:
    """One run the site takes part in, as far as it has come."""

    plan: Plan
    simulated_noise: bool
    folder: Path
    rows: SiteRows
    built: Built | None = None


class OwnerSite:
    """A site that answers letters."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._runs: dict[str, Taking] = {}

    def handle(self, data: bytes) -> bytes:
        """Return the reply to a letter; nothing if it is no letter."""
        try:
            letter = read(data)
            if letter.subject.site != self.owner.name:
                raise WireError(f"letter refused: needs site {self.owner.name!r}, got {letter.subject.site!r}")
        except WireError as error:
            self.owner.tell(f"a letter was refused: {error}")
            return b""
        body, rule, receipt = b"", "", _NO_RECEIPT
        status: Status = "ok"
        try:
            body, receipt = self._answered(letter)
        except TacitError as error:
            status, rule = _status_of(error), _rule_of(error)
            self.owner.tell(f"{letter.subject.kind} of run {letter.subject.run} refused: {error}")
        except Exception as error:  # what nobody foresaw may quote a cell of the data: the server hears that it failed
            status = "failed"
            self.owner.tell(f"{letter.subject.kind} of run {letter.subject.run} failed: {type(error).__name__}: {error}")
        return write(_reply(letter.subject, status, rule, receipt), body, self.owner.key)

    def _answered(self, letter: Letter) -> tuple[bytes, Receipt]:
        """Return the body of the reply, as it is stored, or made now and stored before it leaves; and how far the ledger came."""
        subject = letter.subject
        if subject.kind == "end":
            return self._ended(subject), _NO_RECEIPT
        if subject.kind == "open":
            return self._opened(letter), _NO_RECEIPT
        taking = self._taking(subject)
        if subject.kind == "begin":
            return self._begun(taking, letter), _NO_RECEIPT
        with closing(self.owner.book(self._policy(), taking.plan)) as book:
            book.check_receipt(subject.entries, subject.head)
            body = book.answer(subject.run, subject.round_no, subject.exchange, letter.digest)
            if body is None:
                body = self._made(taking, letter, book)
                self._check_size(body)
                book.store(subject.run, subject.round_no, subject.exchange, letter.digest, body)
            return body, book.receipt()

    def _policy(self) -> Policy:
        policy = self.owner.policy()
        if policy is None:
            raise PolicyError("policy: there is none, so nothing is allowed; `tacit policy init` writes one")
        return policy

    def _opened(self, letter: Letter) -> bytes:
        """Look at an offer, and only if the policy allows it at the rows."""
        offer = bodies.unpack(letter.body, Offer)
        plan = _plan_in(offer, letter.subject.plan)
        refuse_unless_allowed(self._policy(), plan, offer.simulated_noise)
        folder = self.owner.folder / "runs" / _file_name(letter.subject.run)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        taking = self._runs.get(letter.subject.run) or self._taken(plan, offer, folder)
        replace_file(folder / _OPEN, bytes(letter.body))
        self._runs[letter.subject.run] = taking
        root, rows = _root_of(taking), taking.rows
        sizes = rows.clients.sizes()
        held = plan.data.local_test * len(rows.clients.order)
        self.owner.tell(f"takes part in run {letter.subject.run}: {len(sizes):,} clients, plan {plan.name!r}")
        return bodies.pack(
            Opened(
                clients=len(sizes),
                rows=len(rows.clients.order),
                test_rows=rows.table.test.height or round(held),
                largest_weight=max(1, int(local.weights_for(plan.server, sizes).max(initial=1))),
                seen=SeenRows.of(look_at(rows.table.train, rows.table.columns, plan.features)),
                signs_with=self.owner.signs_with.public_key().public_bytes_raw(),
                helper_key=HelperKey.drawn(root.at("helper"), _post_quantum(plan)).public(),
            )
        )

    def _taken(self, plan: Plan, offer: Offer, folder: Path) -> Taking:
        root = Draws.seeded(plan.seed) if offer.simulated_noise else _kept_root(folder)
        if isinstance(plan.codec, HashComb) and plan.codec.agreed is not None:
            plan = replace(plan, codec=replace(plan.codec, agreed=self.owner.agreed or plan.codec.agreed))
        return Taking(plan, offer.simulated_noise, folder, read_rows(plan, self.owner.source, root))

    def _taking(self, subject: Subject) -> Taking:
        """Return a run this site takes part in; one from before a restart is taken up again, if the policy still allows it."""
        if subject.run not in self._runs:
            folder = self.owner.folder / "runs" / _file_name(subject.run)
            if not (folder / _OPEN).exists():
                raise RunError(f"run {subject.run}: was never opened here")
            offer = bodies.unpack((folder / _OPEN).read_bytes(), Offer)
            plan = _plan_in(offer, subject.plan)
            refuse_unless_allowed(self._policy(), plan, offer.simulated_noise)
            self._runs[subject.run] = self._taken(plan, offer, folder)
        return self._runs[subject.run]

    def _begun(self, taking: Taking, letter: Letter) -> bytes:
        terms, before = bodies.unpack(letter.body, Terms), taking.folder / _BEGIN
        if before.exists() and before.read_bytes() != bytes(letter.body):
            raise WireError("terms refused: need those the run began with, got others")
        taking.built = self._build(taking, terms)
        replace_file(taking.folder / _BEGIN, bytes(letter.body))
        built = taking.built
        with_rows = [name for name in built.site.names if built.site.weight(built.site.seat(name))]
        return bodies.pack(Begun(dim=built.learner.size, with_rows=np.array(with_rows, "<i8").tobytes()))

    def _ready(self, taking: Taking, subject: Subject) -> Built:
        if taking.built is None:
            if not (taking.folder / _BEGIN).exists():
                raise RunError(f"run {subject.run}: has not begun here")
            taking.built = self._build(taking, bodies.unpack((taking.folder / _BEGIN).read_bytes(), Terms))
        return taking.built

    def _build(self, taking: Taking, terms: Terms) -> Built:
        plan, owner = taking.plan, self.owner
        own = terms.of(owner.name)
        if own.clients != len(taking.rows.owners):
            raise WireError(f"terms refused: need {len(taking.rows.owners):,} clients of this site, got {own.clients:,}")
        built = build(plan, taking.rows, terms, owner.name, _root_of(taking), taking.folder, owner.peers)
        built.site.key = owner.signs_with
        refuse_unless_allowed(self._policy(), plan, taking.simulated_noise, built)
        return built

    def _made(self, taking: Taking, letter: Letter, book: Book) -> bytes:
        """Reserve, compute and randomise."""
        subject, built = letter.subject, self._ready(taking, letter.subject)
        if subject.kind == "rows":
            self._reserve(taking, book, subject, built.site.names, ())
            check_rows(self._policy(), built.disclosed())
            return bodies.pack(Answers(frames=built.rows_that_leave()))
        question = bodies.unpack(letter.body, Question)
        if not 1 <= subject.round_no <= taking.plan.server.rounds + (subject.kind == "measure"):
            raise WireError(f"question refused: needs a round up to {taking.plan.server.rounds:,}, got {subject.round_no:,}")
        if subject.kind == "measure":
            self._reserve(taking, book, subject, built.site.names, ())
            return bodies.pack(built.measured(question, subject.round_no))
        exchange = built.exchanges.get(subject.exchange)
        if exchange is None:
            raise WireError(f"question refused: needs an exchange of the plan, got {subject.exchange!r}")
        request = question.request(subject.exchange, subject.round_no)
        if subject.kind == "help":
            if not isinstance(exchange, HelperSums):
                raise WireError(f"question refused: needs an exchange that helpers answer, got {subject.exchange!r}")
            self._reserve(taking, book, subject, built.site.names, ())
            return bodies.pack(Answers(frames=[built.helped(exchange, request)]))
        names = request.to.tolist()
        strangers = [name for name in names if name not in built.names]
        if strangers or len(set(names)) != len(names) or isinstance(exchange, HelperSums):
            raise WireError(f"question refused: needs clients of this site, each once, got {strangers[:1] or 'others'}")
        claims = exchange.claims(max(1, question.everyone)) if names else ()
        refused = dict.fromkeys(self._reserve(taking, book, subject, names or built.site.names, claims), "budget")
        willing = request.part(np.array([name for name in names if name not in refused], np.int64))
        return bodies.pack(built.answers(exchange, willing, refused))

    def _check_size(self, body: bytes) -> None:
        """Refuse an answer that is larger than the owner lets go."""
        most = self._policy().limits.largest_message_bytes
        if len(body) > most:
            raise PolicyError(
                f"limits.largest_message_bytes = {most:,}: the answers have {len(body):,} bytes; with server.sum_at = 'site' a "
                "site adds its clients' answers up first"
            )

    def _reserve(self, taking: Taking, book: Book, subject: Subject, names: Sequence[int], claims: Claims) -> dict[int, str]:
        """Return who of the clients cannot pay, and why, after all others have; raise BudgetError if nobody can."""
        built = self._ready(taking, subject)
        persons = {self._person(built.owner_of(name)): name for name in names}
        found = book.reserve(subject.run, subject.round_no, subject.exchange, list(persons), claims)
        if found and len(found) == len(persons):
            raise BudgetError(next(iter(found.values())))
        for sentence in sorted(set(found.values())):
            self.owner.tell(f"{sum(why == sentence for why in found.values()):,} clients do not answer: {sentence}")
        return {persons[person]: why for person, why in found.items()}

    def _person(self, owner: str) -> bytes:
        """Return the pseudonym under which the ledger knows a client; nobody without the site's secret can make it."""
        return hmac.digest(self.owner.secret, owner.encode(), "sha256")[:16]

    def _ended(self, subject: Subject) -> bytes:
        """Let go of a run, also of one from before a restart; its charges stay."""
        folder = self.owner.folder / "runs" / _file_name(subject.run)
        if (folder / _OPEN).exists():
            plan = _plan_in(bodies.unpack((folder / _OPEN).read_bytes(), Offer), subject.plan)
            with closing(self.owner.book(self._policy(), plan)) as book:
                book.forget(subject.run)
            (folder / _OPEN).unlink()
            self.owner.tell(f"run {subject.run} has ended")
        self._runs.pop(subject.run, None)
        return b""


def _plan_in(offer: Offer, digest: bytes) -> Plan:
    if hashlib.sha256(offer.plan.encode()).digest() != digest:
        raise WireError("offer refused: needs the plan its hash is of, got another")
    try:
        plan = plans.parse(tomllib.loads(offer.plan))
        plans.check(plan)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"offer refused: its plan is no valid TOML ({error})") from None
    refuse_unless_offered(plan, offer.simulated_noise)
    return plan


def _status_of(error: TacitError) -> Status:
    kinds: tuple[tuple[type[TacitError], Status], ...] = (
        (PolicyError, "policy"), (BudgetError, "budget"), (DataError, "data"), (WireError, "question"), (PlanError, "question"),
        (RunError, "unknown run"),
    )  # fmt: skip
    return next((status for kind, status in kinds if isinstance(error, kind)), "failed")


def _rule_of(error: TacitError) -> str:
    """Return which lines of the policy refused, without their values."""
    if not isinstance(error, PolicyError | BudgetError):
        return ""
    heads = [line.strip().partition(":")[0].partition(" ")[0] for line in str(error).splitlines()]
    return ", ".join(dict.fromkeys(head for head in heads if "." in head or head == "policy"))[:200]


def _reply(subject: Subject, status: Status, rule: str, receipt: Receipt) -> Subject:
    return Subject(
        kind=subject.kind, run=subject.run, plan=subject.plan, site=subject.site, round_no=subject.round_no,
        exchange=subject.exchange, nonce=subject.nonce, status=status, rule=rule, entries=receipt.counter, head=receipt.head,
    )  # fmt: skip


def _root_of(taking: Taking) -> Draws:
    return Draws.seeded(taking.plan.seed) if taking.simulated_noise else _kept_root(taking.folder)


def _kept_root(folder: Path) -> Draws:
    """Return the root of a run's randomness here: from the operating system, kept so that a restart changes nothing."""
    path = folder / _ROOT
    if not path.exists():
        replace_file(path, os.urandom(32))
        path.chmod(0o600)
    key = path.read_bytes()
    if len(key) != 32:
        raise RunError(f"{path}: needs 32 bytes, got {len(key)}; it was damaged, and this run cannot go on here")
    return Draws(key)


def _post_quantum(plan: Plan) -> bool:
    return plan.secure_sum is not None and plan.secure_sum.post_quantum


def _file_name(run: str) -> str:
    if not run.replace("-", "").replace("_", "").isalnum():
        raise WireError(f"letter refused: needs a run's name of letters, digits and dashes, got {run!r}")
    return run
