"""What a policy gives away beyond the careful one that `tacit policy init` writes: each line of it,
with its consequence.
"""

from __future__ import annotations

from tacit.privacy.policy.policy import Policy

MARK = "GIVES AWAY: "
_ALLOW = {
    "baselines": "simulations train without protection beside the plan; sites never do",
    "user_code": "code that the plan names runs on this machine",
    "votes": "clients vote on each other, and the server learns the scores",
    "trust_server": (
        "the server sees single updates, and the promise rests on it; false refuses such plans"
    ),
    "simulation_noise": "anybody who knows the plan's seed can remove the noise",
}


def find_giveaways(policy: Policy) -> dict[str, str]:
    """Say for each line of a policy, as `table.key`, what it gives away; a line that gives nothing
    away is left out.
    """
    found = {f"allow.{key}": words for key, words in _ALLOW.items() if getattr(policy.allow, key)}
    told = [one for one in policy.allow.disclosures if one in ("rows", "exact_ranges", "words")]
    if told:
        found["allow.disclosures"] = f"told exactly and without noise: {', '.join(told)}"
    if policy.limits.no_epsilon:
        found["limits.no_epsilon"] = "answers leave that no epsilon bounds"
    if policy.limits.max_test_share > 0.5:
        found["limits.max_test_share"] = (
            "most rows may be held out, and such rows are never trained on"
        )
    if policy.share is not None:
        found["share.columns"] = "rows leave as they are, for good"
    return found
