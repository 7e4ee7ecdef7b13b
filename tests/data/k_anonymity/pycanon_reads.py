"""Run by another Python that has pycanon: read one release after the other and print what pycanon says of it.

Usage: pycanon_reads.py, with lines of JSON on standard input: {"file": …, "key": […], "label": …}.
"""

import json
import sys

import pandas as pd
from pycanon import anonymity

for line in sys.stdin:
    asked = json.loads(line)
    rows = pd.read_csv(asked["file"], dtype=str, keep_default_na=False)
    said = {
        "k": anonymity.k_anonymity(rows, asked["key"]),
        "l": anonymity.l_diversity(rows, asked["key"], [asked["label"]]),
        "entropy_l": anonymity.entropy_l_diversity(rows, asked["key"], [asked["label"]]),
    }
    print(json.dumps({name: int(value) for name, value in said.items()}), flush=True)
