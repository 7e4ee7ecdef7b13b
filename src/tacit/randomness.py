"""Random draws by address: the same address gives the same numbers, in any process and any order.

There is no generator to share, split or forget. A root is either a seed (simulation: runs can be
repeated and resumed to the bit) or a key from the operating system (deployment: kept only while a
run can continue). An address is a path of words and numbers below the root, such as (round, client,
"noise"); each address serves one purpose and is drawn once.

Who may know the numbers is part of the type. `ClientDraws` protect a client's message and stay on
its machine. `ServerDraws` protect a sum and stay with the party that decodes it. `PublicDraws` are
known to both sides and protect nobody: they are not `Draws`, so no function that draws noise takes
them, and `require` refuses a mix-up at run time.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_COUNTER_START = bytes(16)


@dataclass(frozen=True)
class AddressedDraws:
    """One address under one root key. With an empty key nothing can be drawn: it is a placeholder
    for draws that are never used.
    """

    key: bytes
    path: tuple[int | str, ...] = ()

    def at(self, *address: int | str) -> Self:
        """The random draws at a child address."""
        return type(self)(self.key, self.path + address)

    def stream(self) -> Keystream:
        """Open this address's AES-128-CTR keystream, to be read in order."""
        return Keystream(self._derive(16))

    def fill(self, buffer: NDArray[np.uint32] | NDArray[np.uint64]) -> None:
        """Overwrite a contiguous buffer with the beginning of this address's keystream."""
        self.stream().fill(buffer)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` uniform 64-bit words from the keystream."""
        words = np.empty(count, np.uint64)
        self.fill(words)
        return words

    def seed(self) -> int:
        """Draw 64 bits to seed a small generator, for the same uses as `generator`."""
        return int.from_bytes(self._derive(8), "little")

    def generator(self) -> np.random.Generator:
        """Create a numpy generator for work that protects nobody: splits, initial weights, cohorts."""
        return np.random.Generator(np.random.Philox(key=int.from_bytes(self._derive(16), "little")))

    def _derive(self, size: int, purpose: bytes = b"tacit-draws") -> bytes:
        if not self.key:
            raise ValueError("nothing can be drawn without a key; pass draws that have one")
        words = [f"{type(part).__name__[0]}{part}" for part in self.path]
        text = "/".join(words)
        if text.count("/") >= max(1, len(words)):
            # A word that contains the separator could make two addresses equal: such paths are written
            # with lengths instead.
            text, purpose = "".join(f"{len(word)}:{word}" for word in words), purpose + b"/"
        return hashlib.blake2b(
            text.encode(), digest_size=size, key=self.key, person=purpose
        ).digest()


class PublicDraws(AddressedDraws):
    """Randomness that server and clients both know, such as the sampled coordinates of a message.
    It protects nobody.
    """


class Draws(AddressedDraws):
    """Randomness of one party, or of a whole simulation: a root from which the draws of each role
    are derived.
    """

    @staticmethod
    def seeded(seed: int) -> Draws:
        """Root of a simulation: repeatable, and therefore not private against anybody who knows the
        seed.
        """
        return Draws(
            hashlib.blake2b(str(seed).encode(), digest_size=32, person=b"tacit-seed").digest()
        )

    @staticmethod
    def from_system() -> Draws:
        """Root that nobody can reproduce, with a key from the operating system."""
        return Draws(os.urandom(32))

    def sealed(self, *address: int | str) -> Draws:
        """Derive a new root whose key is drawn at an address below this one.

        Guarantees: a party that holds the new root can draw everything below it and nothing else;
        the key of this root cannot be computed from it. What both sides of an exchange may know is
        passed sealed.
        """
        return Draws(self.at(*address)._derive(32, b"tacit-sealed"))

    def publish(self, *address: int | str) -> PublicDraws:
        """Derive draws at a child address that both sides may know; the root cannot be computed from them."""
        return PublicDraws(self.sealed(*address).key)

    def for_client(self) -> ClientDraws:
        """The same address as a client's own randomness; raise TypeError if it belongs to the
        server.
        """
        require(self, Draws, but_not=ServerDraws)
        return ClientDraws(self.key, self.path)

    def for_server(self) -> ServerDraws:
        """The same address as randomness of the party that decodes; raise TypeError if it belongs
        to a client.
        """
        require(self, Draws, but_not=ClientDraws)
        return ServerDraws(self.key, self.path)


class ClientDraws(Draws):
    """A client's own randomness: the noise of its messages, which nobody else may know."""


class ServerDraws(Draws):
    """Randomness of the party that decodes a sum: the server, or a site that decodes for its
    clients.
    """


def require(
    draws: object,
    kind: type[AddressedDraws],
    but_not: type[AddressedDraws] | tuple[type[AddressedDraws], ...] = (),
) -> None:
    """Raise TypeError unless draws are of the right kind: noise from the wrong party's draws would
    protect nobody.
    """
    if not isinstance(draws, kind) or isinstance(draws, but_not):
        raise TypeError(
            f"randomness of type {type(draws).__name__} passed where {kind.__name__} belongs; check"
            " who may know it"
        )


class Keystream:
    """AES-128-CTR output under one key, from its beginning on."""

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(_COUNTER_START)).encryptor()

    def fill(self, buffer: NDArray[np.uint32] | NDArray[np.uint64]) -> None:
        """Overwrite a contiguous buffer with the next bytes of the stream."""
        out, zeros = buffer.data.cast("B"), memoryview(_ZEROS)
        for start in range(0, len(out), _BLOCK):
            size = min(_BLOCK, len(out) - start)
            self._cipher.update_into(zeros[:size], out[start : start + size])
