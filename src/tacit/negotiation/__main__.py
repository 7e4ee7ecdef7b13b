"""A party as a process: it reads its job from stdin and writes the result to stdout, each as one
JSON object.

The range comes by stdin because every user of a machine can read the command lines of its
processes.
"""

from __future__ import annotations

import json
import socket
import sys

from tacit.errors import TacitError
from tacit.negotiation.addresses import Address
from tacit.negotiation.circle import PartyPlace
from tacit.negotiation.party import negotiate
from tacit.negotiation.result import to_text
from tacit.negotiation.terms import NegotiationTerms


def main() -> None:
    """Negotiate, and print the result or the error."""
    job = json.load(sys.stdin)
    place = PartyPlace(
        job["party"],
        tuple(Address(*one) for one in job["addresses"]),
        socket.socket(fileno=job["listener"]),
    )
    try:
        agreed = negotiate(
            place, tuple(job["range"]), NegotiationTerms(**job["terms"]), seconds=job["seconds"]
        )
        print(json.dumps({"agreed": to_text(agreed)}))
    except TacitError as error:
        print(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
