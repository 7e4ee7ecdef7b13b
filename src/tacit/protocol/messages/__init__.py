"""The only thing that crosses: one typed, versioned, bounded message, as bytes; between sites in a
letter (`wire.letter`).
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
