"""A simulated network in virtual time: who responds, and how long a round takes."""

from tacit.simulation.network.carrier import NetworkCarrier, attach_network

__all__ = ["NetworkCarrier", "attach_network"]
