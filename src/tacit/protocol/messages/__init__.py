"""The typed, versioned, bounded messages between server and clients, as bytes; between sites they
travel in signed messages (`signed_message`).
"""

from tacit.protocol.messages.message import (
    Frame,
    Header,
    Message,
    compute_head_sizes,
    encode_head,
    expect,
    frame,
    parse,
    read_sender,
    size,
)

__all__ = [
    "Frame",
    "Header",
    "Message",
    "compute_head_sizes",
    "encode_head",
    "expect",
    "frame",
    "parse",
    "read_sender",
    "size",
]
