"""What a server does with a cohort's messages: count one bit per parameter, or tally 8-bit
tokens.
"""

from __future__ import annotations

import sys

from bench.clock import measure
from bench.lines import serve
from bench.rows import DRAWS
from bench.shapes import CLIENTS, PARAMETERS, PASSES
from tacit import codecs, plan

CODECS: dict[str, plan.Codec] = {
    "bits": plan.RR(epsilon=1.0, clip=1e-3),
    "tokens": plan.HashComb(x_min=-0.02, x_max=0.02, levels=8),
}


def main(which: str) -> None:
    """Serve the harness: from packed messages to the bytes of their sum, several times over."""
    made = codecs.build(CODECS[which])
    size = made.payload_size(PARAMETERS)
    public = DRAWS.publish("sums")
    payloads = DRAWS.at("payloads").generator().integers(0, 256, (CLIENTS, size), "uint8")

    def add_up() -> None:
        for _ in range(PASSES):
            total = made.empty(PARAMETERS)
            for payload in payloads:
                total.add(payload, 1, public)
            total.pack()

    add_up()
    serve(lambda request: measure(add_up).as_dict())


if __name__ == "__main__":
    main(*sys.argv[1:])
