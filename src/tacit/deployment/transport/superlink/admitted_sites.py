"""The admitted sites of a server's folder, read again when the file changes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from tacit.deployment.transport.certificates import parse_node_key
from tacit.deployment.transport.server.registry import SITES, read_sites


class AdmittedSites:
    """Keys of the sites that are admitted now. A running server notices a revocation at the next
    request.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._sites: dict[str, dict[str, str]] = {}
        self._nodes: dict[bytes, int] = {}

    def has_key(self, public_key: bytes) -> bool:
        """Whether a public key, as Flower encodes it, is that of an admitted site."""
        return self.find_node(public_key) is not None

    def confirm_with(self, is_registered: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
        """A check that a key is admitted now and was registered with Flower, which is asked once:
        a key that Flower no longer accepts is not admitted either.
        """
        registered = set[bytes]()

        def check(public_key: bytes) -> bool:
            if not self.has_key(public_key):
                return False
            if public_key not in registered and is_registered(public_key):
                registered.add(public_key)
            return public_key in registered

        return check

    def find_node(self, public_key: bytes) -> int | None:
        """Flower's id of the admitted site with this public key."""
        with self._lock:
            self._refresh()
            return self._nodes.get(public_key)

    def read_roster(self) -> bytes:
        """Names and public keys of the admitted sites, as JSON. Sites without a signing key are left
        out.
        """
        with self._lock:
            self._refresh()
            roster = {
                name: {"node_key": facts["public_key"], "signing_key": facts["signing_key"]}
                for name, facts in self._sites.items()
                if "signing_key" in facts
            }
        return json.dumps(roster).encode()

    def _refresh(self) -> None:
        try:
            found = os.stat(self._folder / SITES)
            version = found.st_mtime_ns, found.st_ino
        except FileNotFoundError:
            version = (0, 0)
        if version != self._version:
            self._sites = read_sites(self._folder)
            self._nodes = {
                public_key_to_bytes(parse_node_key(facts["public_key"])): int(facts["node_id"])
                for facts in self._sites.values()
            }
            self._version = version
