"""Disclose or keep: which rows look like enough others to be handed over, and what handing them over would show."""

from tacit.data.disclose.findings import Findings, Look, examine
from tacit.data.disclose.growing import Differences, differences
from tacit.data.disclose.release import Offer, offer
from tacit.data.disclose.similar import keyed, similarity_key
from tacit.data.disclose.transfer import check_kinds, pack_rows, unpack_rows, written_out

__all__ = [
    "Differences",
    "Findings",
    "Look",
    "Offer",
    "check_kinds",
    "differences",
    "examine",
    "keyed",
    "offer",
    "pack_rows",
    "similarity_key",
    "unpack_rows",
    "written_out",
]
