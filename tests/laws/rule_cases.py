"""One case for each aggregation rule: the settings of `[server]` that a plan with this rule needs."""

from __future__ import annotations

from typing import Any

CASES: dict[str, dict[str, Any]] = {
    "mean": {},
    "median": {},
    "trimmed_mean": {"assumed_bad": 0.3},
    "multi_krum": {"assumed_bad": 0.3},
    "geometric_median": {},
    "centred_clipping": {"bound": 2.0},
    "norm_bound": {"bound": 2.0},
    "foolsgold": {},
    "fltrust": {},
    "zeno": {"assumed_bad": 0.3},
}
