"""Share or keep: which rows look like enough others to be handed over, and what handing them over would show."""

from tacit.data.share.findings import Findings, Look, examine
from tacit.data.share.release import Offer, offer
from tacit.data.share.similar import keyed, similarity_key

__all__ = ["Findings", "Look", "Offer", "examine", "keyed", "offer", "similarity_key"]
