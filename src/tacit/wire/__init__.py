"""The only thing that crosses: one typed, versioned, bounded message, as bytes."""

from tacit.wire.message import Header, Message, expect, frame, parse, size, split

__all__ = ["Header", "Message", "expect", "frame", "parse", "size", "split"]
