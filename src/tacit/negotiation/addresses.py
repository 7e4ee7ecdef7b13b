"""Addresses of parties. Only loopback addresses are accepted."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from tacit.errors import PlanError


class Address(NamedTuple):
    """A host, as an IP address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Parse the addresses of all parties, party 0 first, from `host:port,host:port,…`.

    Edge cases: raises PlanError for an address that is not loopback, appears twice, or cannot be
    read.

    >>> parse_addresses("127.0.0.1:7001,localhost:7002,[::1]:7003")[1]
    Address(host='127.0.0.1', port=7002)
    """
    addresses = tuple(_parse(word.strip()) for word in text.split(","))
    if len(set(addresses)) < len(addresses):
        raise PlanError(f"negotiate: each party must have its own address, got {text}")
    return addresses


def _parse(word: str) -> Address:
    host, _, port = word.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    if not (len(port) <= 5 and port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise PlanError(
            f"negotiate: the address of a party must be host:port, got {word!r}; write"
            " 127.0.0.1:7001,127.0.0.1:7002,…"
        )
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        raise _not_loopback(word) from None
    if not number.is_loopback:
        raise _not_loopback(word)
    return Address(host, int(port))


def _not_loopback(word: str) -> PlanError:
    return PlanError(
        f"negotiate: addresses must be loopback, got {word!r}: the channels are neither encrypted"
        " nor authenticated. Between machines, use an SSH or WireGuard tunnel that ends on"
        " 127.0.0.1"
    )
