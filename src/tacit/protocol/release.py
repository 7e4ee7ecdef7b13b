"""The model that is measured and kept: the trained one, with the public noise in it taken into
account if the plan says so.
"""

from __future__ import annotations

from tacit import server
from tacit.protocol.agreement import Agreement
from tacit.rows import Vector


def released(
    terms: Agreement, cohort: int, model: Vector, state: server.ServerState, rounds: int
) -> Vector:
    """Return a model as it is released after so many rounds of so many clients; training goes on
    from the model itself.
    """
    if not terms.server.soften or terms.codec.known_noise is None:
        return model
    return server.softened(
        terms.server,
        model,
        state[server.FIRST],
        terms.codec.known_noise(terms.dim) / cohort,
        rounds,
    )
