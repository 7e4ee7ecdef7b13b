"""Sums that a site computes over its own clients: one message with the sum and the names of the
clients in it.
"""

from __future__ import annotations

import numpy as np

from tacit.codecs import Sum
from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.agreement import Agreement
from tacit.protocol.messages import Frame


def name_site_sum(agreement: Agreement) -> str:
    """The codec name in such a message."""
    return f"{agreement.codec.name}.sum"


def build_site_sum(
    agreement: Agreement, site: int, round_no: int, names: list[int], total: Sum
) -> Frame:
    """The message of a site about some of its clients: their number, their names, the packed sum."""
    listed = np.array([len(names), *names], "<i8").view(np.uint8)
    payload = np.concatenate([listed, total.pack()])
    header = messages.Header(
        agreement.run,
        round_no,
        site,
        name_site_sum(agreement),
        agreement.dim,
        total.weight,
        payload.nbytes,
    )
    return messages.frame(header, payload)


def receive_site_sum(
    agreement: Agreement, intake: Intake, total: Sum, frame: Frame, clients: range | None = None
) -> int:
    """Check a site's message, add its sum, and return the number of clients in it; `clients` are
    those of the site (None: all).

    The clients in it are noted in the round's intake: no other sum or response can count them
    again.
    """
    message = messages.parse(*frame)
    header = messages.expect(
        message,
        run=agreement.run,
        round_no=intake.round_no,
        codec=name_site_sum(agreement),
        dim=agreement.dim,
    ).header
    if header.payload_size < 8:
        raise WireError(f"sum from site {header.sender} refused: it has no list of clients")
    count = int(message.payload[:8].view("<i8")[0])
    if not 0 <= count <= (header.payload_size - 8) // 8:
        raise WireError(f"sum from site {header.sender} refused: it has fewer names than it states")
    names = message.payload[8 : 8 + 8 * count].view("<i8").tolist()
    stranger = next((name for name in names if clients is not None and name not in clients), None)
    if stranger is not None:
        raise WireError(
            f"sum from site {header.sender} refused: client {stranger} belongs to another site"
        )
    intake.check_all(names, header.weight)
    total.add_packed(message.payload[8 + 8 * count :].copy(), header.weight)
    intake.note(*names)
    return count
