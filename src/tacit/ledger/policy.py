"""What a data owner allows to be shared, and in what way a release goes beyond it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tacit.errors import PlanError
from tacit.record import DisclosedRows

_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class SharePolicy:
    """The most a data owner lets go. What is not said is not limited."""

    min_k: Annotated[int, Ge(1)] | None = None
    max_share: Annotated[float, Ge(0), Le(1)] | None = None
    forbidden_columns: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Policy:
    """One TOML file of a data owner."""

    share: SharePolicy = field(default_factory=SharePolicy)


def load_policy(path: Path) -> Policy:
    """Read a policy file; raise a PlanError that names every problem, for a policy half understood protects nobody."""
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
        return TypeAdapter(Policy).validate_json(json.dumps(tree, default=str))
    except OSError as error:
        raise PlanError(f"{path}: cannot be read ({error.strerror}); give the file of your policy") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: is not valid TOML: {error}") from None
    except ValidationError as error:
        problems = "\n".join(f"  {_said(problem)}" for problem in error.errors())
        raise PlanError(f"{path}: is no policy that can be kept\n{problems}") from None


def _said(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{key}: unknown key; a policy has [share] with min_k, max_share, forbidden_columns"
    return f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}; got {problem['input']!r}"


def violations(policy: Policy, shared: DisclosedRows) -> list[str]:
    """Return a sentence for each way in which a release goes beyond the policy.

    Classes are judged by the rows that would really leave, not by the k a plan asks for: noise and counts that include
    rows of others can let smaller classes through.
    """
    limits, found = policy.share, []
    if limits.min_k is not None and shared.rows and shared.smallest_class < limits.min_k:
        found.append(f"share.min_k = {limits.min_k:,}: the smallest class that would leave has {shared.smallest_class:,} rows")
    share = shared.rows / shared.of_rows if shared.of_rows else 0.0
    if limits.max_share is not None and share > limits.max_share:
        found.append(f"share.max_share = {limits.max_share:g}: {share:.4f} of the rows would leave")
    if shared.rows:
        present = [name for name in limits.forbidden_columns if name in shared.columns]
        found += [f"share.forbidden_columns: {name!r} would leave; suppress it in data.share.generalise" for name in present]
    return found
