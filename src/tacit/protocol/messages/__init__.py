"""The only thing that crosses: one typed, versioned, bounded message, as bytes; between sites in a
letter (`wire.letter`).
"""

from tacit.protocol.messages.message import (
    Frame,
    Header,
    Message,
    expect,
    frame,
    head_of,
    head_sizes,
    parse,
    sender_of,
    size,
)

__all__ = [
    "Frame",
    "Header",
    "Message",
    "expect",
    "frame",
    "head_of",
    "head_sizes",
    "parse",
    "sender_of",
    "size",
]
