"""A data owner: what the owner contributes to a run, and what never leaves the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.column_statistics.number_format import DecimalMark
from tacit.errors import PolicyError
from tacit.log_lines import Level, log_context
from tacit.plan import Plan
from tacit.privacy.policy import Policy, PrivacyUnit, SiteLedger
from tacit.runs.client_numbers import compute_pseudonym


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The owner's name, rows, folder and keys, and a policy that is read again for every request.

    `signs_with` is the key with which the site confirms terms and signs for helpers. `peers` are
    the public signing keys of sites by name, as this owner learned them out of band, with the
    site's own; `helpers` says which of them may be helpers (None: all). Both are read again
    whenever they are needed. `agreed` is the file that `tacit negotiate` wrote, for plans whose
    codec needs it. `unit` says who the clients are, `encoding` and `header` how the file of rows is
    read: a plan that could choose them would choose whose budget is charged. `decimal` is the
    decimal mark of its numbers, if the owner states it. `server` is the address that the site joins,
    `authority` the SHA-256 of the certificate of the server's authority (empty without TLS). `tell` writes to the owner's log, and
    `on_model` is called with the folder of each model that the site received.
    """

    name: str
    source: str
    folder: Path
    key: EllipticCurvePrivateKey
    signs_with: Ed25519PrivateKey
    secret: bytes
    policy: Callable[[], Policy | None]
    open_ledger: Callable[[Policy, Plan], SiteLedger]
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    encoding: str | None = None
    header: bool | None = None
    decimal: DecimalMark | None = None
    agreed: str | None = None
    server: str = ""
    authority: str = ""
    peers: Callable[[], Mapping[str, bytes]] = dict
    helpers: Callable[[], tuple[str, ...] | None] = lambda: None
    tell: Callable[[str], None] = lambda sentence: None
    on_model: Callable[[Path], None] = lambda folder: None

    def warn(self, sentence: str, level: Level = "WARNING") -> None:
        """Write a sentence into the owner's log at a higher level."""
        with log_context(level=level):
            self.tell(sentence)

    def require_policy(self) -> Policy:
        """The current policy; raise PolicyError if there is none."""
        policy = self.policy()
        if policy is None:
            raise PolicyError(
                "policy: there is none, so nothing is allowed; `tacit site policy init` writes one"
            )
        return policy

    def pseudonym(self, client: str) -> bytes:
        """The name of a client in the ledger, the same in every run and under every plan; it cannot
        be computed without the site's secret.
        """
        return compute_pseudonym(self.secret, client)
