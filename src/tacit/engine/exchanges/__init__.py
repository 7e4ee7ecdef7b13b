"""Everything that may cross between a server and its clients, one file each."""

from tacit.engine.exchanges.follow_up import FollowUp
from tacit.engine.exchanges.train import Train, exchanges_of

__all__ = ["FollowUp", "Train", "exchanges_of"]
