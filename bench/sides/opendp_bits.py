"""OpenDP's bit-vector randomised response over one update's bits; quantising is not even
counted.
"""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp

from bench.clock import measure
from bench.lines import serve
from bench.shapes import PARAMETERS

_MOST_ONES = PARAMETERS
"""The domain bounds how many bits are set; all of them may be."""


def main() -> None:
    """Serve the harness."""
    dp.enable_features("contrib")
    respond = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=_MOST_ONES), dp.discrete_distance(), f=0.25
    )
    bits = np.packbits(np.random.default_rng(0).random(PARAMETERS) < 0.5).tobytes()
    respond(bits)
    serve(lambda request: measure(lambda: respond(bits)).as_dict())


if __name__ == "__main__":
    main()
