"""A party as a process: its job comes in on stdin as one JSON object, and what came of it goes out
on stdout as another.

The range comes by stdin because every user of a machine can read the command lines of its
processes.
"""

from __future__ import annotations

import json
import socket
import sys

from tacit.errors import TacitError
from tacit.negotiation.addresses import Address
from tacit.negotiation.agreed import as_text
from tacit.negotiation.circle import Place
from tacit.negotiation.party import negotiate
from tacit.negotiation.terms import Terms


def main() -> None:
    """Do the job, and say what came of it."""
    job = json.load(sys.stdin)
    place = Place(
        job["party"],
        tuple(Address(*one) for one in job["addresses"]),
        socket.socket(fileno=job["listener"]),
    )
    try:
        agreed = negotiate(
            place, tuple(job["range"]), Terms(**job["terms"]), seconds=job["seconds"]
        )
        print(json.dumps({"agreed": as_text(agreed)}))
    except TacitError as error:
        print(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
