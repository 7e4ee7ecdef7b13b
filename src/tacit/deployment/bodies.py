"""The bodies of signed messages, as strict types: an offer and the response to it, the terms of the
run, requests and responses.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np

from tacit.assembly.agreement import RunFacts
from tacit.column_statistics.number_format import NumberFormat
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.deployment.shared_projection import ProjectionBody
from tacit.errors import WireError
from tacit.features import Projection
from tacit.printable import is_plain_name
from tacit.protocol.messages import Frame
from tacit.protocol.round import Names, Request
from tacit.randomness import PublicDraws
from tacit.runs.record import SignedHead
from tacit.secure_aggregation.site_sum import SealedVector, SumPart

MAX_CLIENTS = 10_000_000
"""Clients of all sites of a run. Server and sites hold a few numbers for each; a larger count is
refused before they do.
"""
MAX_VALUES = 10_000
"""Classes, and categories of one column."""

NonNegative = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Signed = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Clients = Annotated[int, msgspec.Meta(ge=0, le=MAX_CLIENTS)]
Word = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Key = Annotated[bytes, msgspec.Meta(max_length=4096)]
Value = Annotated[str, msgspec.Meta(max_length=1000)]
Values = Annotated[list[Value], msgspec.Meta(max_length=MAX_VALUES)]
CountsMode = Literal["off", "noisy", "exact"]
"""How a site answers measures: with no counts, with noisy ones, with exact ones."""
Body = TypeVar("Body", bound=msgspec.Struct)
Nonce = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Signature = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
TacitVersion = Annotated[str, msgspec.Meta(max_length=40, pattern=r"\A[0-9A-Za-z.+-]*\Z")]
WIRE_FORMAT = 1
"""Format of the messages between server and sites. It changes when an older version could
misunderstand a newer one.
"""
_LARGEST = 1e300
"""Ends of a range: a difference of two of them is finite."""


class _Strict(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """Fields with their defaults are not sent, so an older version refuses only fields in use."""


class Offer(_Strict, frozen=True, kw_only=True):
    """The offer of a run: its plan, whether noise comes from the plan's seed as in a simulation,
    and whether sites are asked to measure models on held-out rows.

    `plan` holds the settings that differ from their defaults, `settings` every setting as the
    server reads the plan, as JSON. `tacit` and `wire` are the server's version and message format.
    """

    plan: Annotated[str, msgspec.Meta(max_length=1 << 20)]
    settings: Annotated[str, msgspec.Meta(max_length=1 << 20)] = ""
    tacit: TacitVersion = ""
    wire: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = WIRE_FORMAT
    simulated_noise: bool = False
    measures: bool = True


class StatisticsBody(_Strict, frozen=True, kw_only=True):
    """Column statistics of a site's rows, in the clear. `encoder` is the hash of the frozen network
    that reads texts.
    """

    classes: Values
    ranges: Annotated[dict[Word, tuple[float, float]], msgspec.Meta(max_length=MAX_VALUES)]
    categories: Annotated[dict[Word, Values], msgspec.Meta(max_length=MAX_VALUES)]
    pixels: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)] | None = None
    missing: Values = []
    formats: Annotated[dict[Word, tuple[bool, bool]], msgspec.Meta(max_length=MAX_VALUES)] = {}
    encoder: Annotated[str, msgspec.Meta(pattern="^(?:[0-9a-f]{32})?$")] = ""

    def __post_init__(self) -> None:
        if not all(map(is_plain_name, self.classes)) or len(set(self.classes)) < len(self.classes):
            raise ValueError(
                "names of classes must differ and have no control or invisible characters and no"
                " blanks at their ends"
            )
        if not all(is_plain_name(one) for known in self.categories.values() for one in known):
            raise ValueError(
                "names of categories must have no control or invisible characters and no blanks at"
                " their ends"
            )
        for name, (low, high) in self.ranges.items():
            if not -_LARGEST <= low <= high <= _LARGEST:  # also refuses NaN
                raise ValueError(
                    f"the range of column {name!r} must be finite and in order, got {low} to {high}"
                )

    @staticmethod
    def of(seen: ColumnStatistics) -> StatisticsBody:
        """Build the body from column statistics."""
        return StatisticsBody(
            classes=list(seen.classes),
            ranges=dict(seen.ranges),
            categories={name: list(known) for name, known in seen.categories.items()},
            pixels=seen.pixels,
            missing=list(seen.missing),
            formats={name: (one.comma, one.unclear) for name, one in seen.formats.items()},
            encoder=seen.encoder,
        )

    def statistics(self) -> ColumnStatistics:
        """Build the column statistics from the body."""
        categories = {name: tuple(known) for name, known in self.categories.items()}
        return ColumnStatistics(
            classes=tuple(self.classes),
            ranges=self.ranges,
            categories=categories,
            pixels=self.pixels,
            missing=tuple(self.missing),
            formats={name: NumberFormat(*flags) for name, flags in self.formats.items()},
            encoder=self.encoder,
        )


class OfferResponse(_Strict, frozen=True, kw_only=True):
    """A site joins a run: its numbers of clients, training rows and (approximately) held-out rows,
    largest weight, column statistics, nonce, public key as a helper, and how it answers evaluation
    requests.
    """

    clients: Clients
    rows: NonNegative
    test_rows: NonNegative
    largest_weight: NonNegative
    seen: StatisticsBody
    nonce: Nonce
    helper_key: bytes
    measures: CountsMode = "off"


class Member(_Strict, frozen=True, kw_only=True):
    """One site of a run: its nonce, its clients (`clients` names from `first` on), their rows, and
    how it responds to measures.
    """

    site: Word
    first: Clients
    clients: Clients
    rows: NonNegative
    test_rows: NonNegative
    nonce: Nonce
    measures: CountsMode = "off"


class Terms(_Strict, frozen=True, kw_only=True):
    """Public parameters of a run, fixed before round one. `run` is its public name, `public` the
    key of the public randomness. `helpers` are public keys, and `helps` lists the site of each
    helper in the same order. `identity` is set only in runs with simulated noise; otherwise each
    party computes it (`run_digest`). `read_record_key` is the public key that verifies the
    signature of the server's record. `projection` is fitted on the server's public rows.
    """

    run: Word
    identity: Word | None = None
    public: bytes
    largest_weight: NonNegative
    seen: StatisticsBody
    members: Annotated[list[Member], msgspec.Meta(min_length=1, max_length=10_000)]
    helpers: list[bytes] = []
    helps: list[Word] = []
    read_record_key: Annotated[bytes, msgspec.Meta(max_length=32)] = b""
    projection: ProjectionBody | None = None

    def __post_init__(self) -> None:
        first, names = 0, set[str]()
        for member in self.members:
            if member.first != first or member.site in names:
                raise ValueError(
                    f"site {member.site!r} must be listed once, with clients numbered from"
                    f" {first:,}"
                )
            first += member.clients
            names.add(member.site)
        if first > MAX_CLIENTS:
            raise ValueError(f"a run has at most {MAX_CLIENTS:,} clients, got {first:,}")

    @property
    def clients(self) -> int:
        """Number of clients of all sites."""
        return sum(member.clients for member in self.members)

    def read_projection(self) -> Projection | None:
        """Build the projection of image features; None if the terms have none."""
        return self.projection.read() if self.projection else None

    def facts(self, digest: str) -> RunFacts:
        """The facts of the run; `digest` is that of plan and terms, as the caller computed it."""
        return RunFacts(
            run=self.run,
            identity=self.identity or digest,
            digest=digest,
            clients=self.clients,
            public=PublicDraws(self.public),
            largest_weight=self.largest_weight,
            helpers=tuple(self.helpers),
            sites=len(self.members),
        )

    def find_member(self, site: str) -> Member:
        """Find the entry of a site."""
        for member in self.members:
            if member.site == site:
                return member
        raise WireError(f"terms refused: need a line for site {site!r}, got none")

    def find_site(self, client: int) -> str | None:
        """Find the site of a client."""
        found = (
            member.site
            for member in self.members
            if member.first <= client < member.first + member.clients
        )
        return next(found, None)


class BeginRequest(_Strict, frozen=True, kw_only=True):
    """A run begins: its terms as bytes, and, once all sites have them, the confirmation that each
    site signed. Where sites count equivalence classes together, `parts` are those of the helpers.
    """

    terms: bytes
    confirmations: dict[Word, Signature] = {}
    parts: Annotated[list[SumPart], msgspec.Meta(max_length=100)] = []

    def read(self) -> Terms:
        """Decode the terms; raise WireError if they are malformed."""
        return unpack(self.terms, Terms)


class BeginResponse(_Strict, frozen=True, kw_only=True):
    """A site is ready: the size of the model it built, which of its clients have rows to train on,
    and its signature on the run's digest, for the other sites.
    """

    dim: NonNegative
    with_rows: bytes
    confirmation: Signature

    def __post_init__(self) -> None:
        if len(self.with_rows) % 8:
            raise ValueError("names of clients have 8 bytes each")


class NegotiationRequest(_Strict, frozen=True, kw_only=True):
    """A step of the sites' negotiation: the messages of all sites in the step before, in the order
    of the terms.
    """

    received: Annotated[list[bytes], msgspec.Meta(max_length=10_000)] = []


class NegotiationResponse(_Strict, frozen=True, kw_only=True):
    """A site's message in a step of the negotiation; empty after the last step."""

    message: bytes = b""


class ClassVectors(_Strict, frozen=True, kw_only=True):
    """The counts of equivalence classes of every site, as sealed shares, for a helper to add up."""

    vectors: Annotated[dict[Word, SealedVector], msgspec.Meta(max_length=10_000)]


class ClassParts(_Strict, frozen=True, kw_only=True):
    """The helpers' parts of the sum of class counts."""

    parts: Annotated[list[SumPart], msgspec.Meta(max_length=100)]


class RecordHead(_Strict, frozen=True, kw_only=True):
    """The end of a run: the length of the server's record, the checksum of its last line, and the
    signature on it.
    """

    length: NonNegative
    head: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    signature: Signature

    @staticmethod
    def of(signed: SignedHead) -> RecordHead:
        """Build the body from a signed head."""
        return RecordHead(
            length=signed.length,
            head=bytes.fromhex(signed.head),
            signature=bytes.fromhex(signed.signature),
        )

    def signed(self) -> SignedHead:
        """Build the signed head from the body."""
        return SignedHead(length=self.length, head=self.head.hex(), signature=self.signature.hex())


class SiteRequest(_Strict, frozen=True, kw_only=True):
    """One exchange's request to the clients of a site; `everyone` is the number of clients that are
    asked at all sites.
    """

    to: bytes
    everyone: NonNegative
    head: bytes
    payload: bytes

    @staticmethod
    def of(request: Request, to: Names, everyone: int) -> SiteRequest:
        """Build the request to some clients of a site."""
        head, payload = request.frame
        return SiteRequest(
            to=to.astype("<i8").tobytes(),
            everyone=everyone,
            head=bytes(head),
            payload=bytes(payload),
        )

    def request(self, exchange: str, round_no: int) -> Request:
        """Build the request as an exchange takes it."""
        if len(self.to) % 8:
            raise WireError(
                f"request refused: names of clients have 8 bytes each, got {len(self.to)} bytes"
            )
        return Request(
            exchange=exchange,
            round_no=round_no,
            to=np.frombuffer(self.to, "<i8").copy(),
            frame=self.frame(),
        )

    def frame(self) -> Frame:
        """The message in the request."""
        return self.head, memoryview(bytearray(self.payload))


class SiteResponse(_Strict, frozen=True, kw_only=True):
    """The responses of a site's clients: one message each, or one for all; and the clients that
    refuse, with a word for the reason.
    """

    frames: list[tuple[bytes, bytes]]
    refused: list[tuple[int, str]] = []


class Counts(_Strict, frozen=True, kw_only=True):
    """The number of held-out rows a site counted, and how many of them the model predicts
    correctly; `noise` is the standard deviation of the noise in each count, and `claim` its privacy
    claim as JSON, empty where counts are exact.
    """

    rows: Signed
    right: Signed
    noise: Annotated[float, msgspec.Meta(ge=0, le=2**53)] = 0.0
    claim: Annotated[bytes, msgspec.Meta(max_length=10_000)] = b""


class MeasureResponse(_Strict, frozen=True, kw_only=True):
    """A site's evaluation of a model: a digest of the model as its clients decode it
    (`Site.compute_model_digest`), and counts on held-out rows. Without counts `withheld` names the
    policy key. A loss is never sent: it reveals single rows.
    """

    model: bytes
    counts: Counts | None = None
    withheld: Annotated[str, msgspec.Meta(max_length=200)] = ""


def pack(body: msgspec.Struct) -> bytes:
    """Encode a body."""
    return msgspec.msgpack.encode(body)


def unpack(data: memoryview | bytes, kind: type[Body]) -> Body:
    """Decode a body of the expected type; raise WireError on anything else."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"the message body is not a valid {kind.__name__} ({error})") from None


def read_names(data: bytes) -> Any:
    """Decode names of clients."""
    if len(data) % 8:
        raise WireError(f"names refused: {len(data)} bytes are not a multiple of 8")
    return np.frombuffer(data, "<i8").astype(np.int64)
