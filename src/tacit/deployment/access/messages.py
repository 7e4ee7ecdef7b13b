"""Bodies of the calls that people make to a server, and of its responses, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tacit.deployment.access.roles import Role
from tacit.deployment.access.run_registry import RECORD_PART, CoordinatedRun, RunName

Name = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Length = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Word = Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{1,1000}\Z")]
"""Printable ASCII without a space: it cannot end a line of a terminal or an HTTP header."""
Line = Annotated[str, msgspec.Meta(pattern=r"\A[ -~]{1,1000}\Z")]
LARGEST_TEXT = 1_000_000
LARGEST_BODY = 8 * 2**20
"""Largest body of a call in bytes: a part of a record in base64, and more than a plan."""


class CallBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A body; unknown fields are refused."""


class Nothing(CallBody, frozen=True, kw_only=True):
    """An empty body."""


class Me(CallBody, frozen=True, kw_only=True):
    """Who the caller is to the server, the end of the certificate, and the server's version."""

    name: Name
    role: Role
    certificate_ends: str
    version: str


class ReplaceCertificate(CallBody, frozen=True, kw_only=True):
    """A new certificate (PEM) of the caller, in the form of a request for access."""

    request: Annotated[str, msgspec.Meta(max_length=16_384)]


class ListedSite(CallBody, frozen=True, kw_only=True):
    """A site: its public keys, Flower's id, its fingerprint, when it was revoked, and whether it is
    online (None: not asked).
    """

    public_key: Line
    node_id: Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{1,20}\Z")]
    signing_key: Word | None = None
    fingerprint: Hash | None = None
    revoked: Word | None = None
    online: bool | None = None


ListedSites = dict[Name, ListedSite]
"""Sites by name, as a server lists them."""


class ListSites(CallBody, frozen=True, kw_only=True):
    """Asks for the sites; with `online` also which of them are online."""

    online: bool = False


class ListedPerson(CallBody, frozen=True, kw_only=True):
    """A person: role, fingerprint, end of the certificate, and when the access was revoked."""

    role: Role
    fingerprint: Hash
    certificate_ends: Word
    revoked: Word | None = None


ListedPeople = dict[Name, ListedPerson]
"""People by name, as a server lists them."""


class Invite(CallBody, frozen=True, kw_only=True):
    """Asks for an invitation of a site, or with a role of a person."""

    name: Name
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 14
    role: Role | None = None
    address: Annotated[str, msgspec.Meta(max_length=300)] | None = None


class Invited(CallBody, frozen=True, kw_only=True):
    """The invitation as the text of its file, and the fingerprint of the server."""

    file: str
    fingerprint: Hash


class Admit(CallBody, frozen=True, kw_only=True):
    """The text of a request, and the fingerprint that people compared."""

    request: Annotated[str, msgspec.Meta(max_length=65_536)]
    fingerprint: Hash


class Named(CallBody, frozen=True, kw_only=True):
    """Names a site or a person."""

    name: Name


class Renew(CallBody, frozen=True, kw_only=True):
    """Asks for a new certificate of the server: if it ends soon, or at once."""

    at_once: bool = False


class Renewed(CallBody, frozen=True, kw_only=True):
    """Whether the server has a new certificate, until when it is valid, and for which hosts."""

    is_new: bool
    ends: str
    hosts: list[str]


class OpenRun(CallBody, frozen=True, kw_only=True):
    """Opens a run, or continues it: its name, the name for people, and its plan as TOML."""

    run: RunName
    title: Annotated[str, msgspec.Meta(max_length=200)]
    plan: Annotated[str, msgspec.Meta(max_length=LARGEST_TEXT)]


class OpenedRun(CallBody, frozen=True, kw_only=True):
    """What a process needs to carry messages of a run, and how much of its record the server has."""

    token: Word
    flower_run: int
    record_bytes: Length
    record_sha256: Hash

    def __post_init__(self) -> None:
        """Refuse an id that Flower cannot have."""
        if not 0 <= self.flower_run < 2**64:
            raise ValueError("flower_run must be a 64-bit integer")


class CloseRun(CallBody, frozen=True, kw_only=True):
    """Says how a run ended for the process that carried it on; `task` is the hash of its token."""

    run: RunName
    task: Hash
    state: Literal["interrupted", "finished"]


class NamedRun(CallBody, frozen=True, kw_only=True):
    """Names a run."""

    run: RunName


class SendRecord(CallBody, frozen=True, kw_only=True):
    """Whole lines of a record, and where they begin."""

    run: RunName
    offset: Length
    lines: Annotated[bytes, msgspec.Meta(max_length=RECORD_PART)]


class RecordLength(CallBody, frozen=True, kw_only=True):
    """How many bytes of a record the server has."""

    length: Length


class ReadRecord(CallBody, frozen=True, kw_only=True):
    """Asks for a record from an offset on."""

    run: RunName
    offset: Length = 0


class RecordPart(CallBody, frozen=True, kw_only=True):
    """A part of a record, its whole length, and the run's plan as TOML."""

    lines: bytes
    length: Length
    plan: str


class ListedRuns(CallBody, frozen=True, kw_only=True):
    """The runs of coordinators, without the hashes of their tasks."""

    runs: list[CoordinatedRun]


class CallRefusal(CallBody, frozen=True, kw_only=True):
    """Why a call failed: the kind of the error, and its message."""

    kind: str
    message: str
