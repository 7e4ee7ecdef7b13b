"""Lines of a policy that allow more than the careful policy of `tacit site policy init`, each with its
consequence.
"""

from __future__ import annotations

from tacit.privacy.policy.policy import ANY, Policy

MARK = "GIVES AWAY: "
_ALLOW = {
    "baselines": "simulations also train baselines without protection; sites never do",
    "user_code": "code that the plan names runs on this machine",
    "votes": "clients vote on each other's updates, and the server learns the scores",
    "negotiation": (
        "the other sites of a run learn how far the values here reach, together with their own"
    ),
    "trust_server": (
        "the server sees individual updates and must be trusted; false refuses such plans"
    ),
    "simulation_noise": "anybody who knows the plan's seed can remove the noise",
}


def find_giveaways(policy: Policy) -> dict[str, str]:
    """Say what each line of a policy (as `table.key`) reveals; lines that reveal nothing are left
    out.
    """
    found = {f"allow.{key}": words for key, words in _ALLOW.items() if getattr(policy.allow, key)}
    sends_counts = policy.measures.counts == "exact"
    revealing = ("rows", "exact_ranges", "words", *(("measures",) if sends_counts else ()))
    exact = [one for one in policy.allow.disclosures if one in revealing]
    if exact:
        found["allow.disclosures"] = f"sent exactly, without noise: {', '.join(exact)}"
    if ANY in policy.allow.schemas:
        found["allow.schemas"] = (
            "the server can try schemas, and which rows fit each of them reveals values"
        )
    if policy.limits.no_epsilon:
        found["limits.no_epsilon"] = "responses are sent that no epsilon bounds"
    if policy.limits.max_test_share > 0.5:
        found["limits.max_test_share"] = (
            "most rows may be held out, and held-out rows are never trained on"
        )
    if policy.share is not None:
        found["share.columns"] = "rows are released in full and cannot be taken back"
    return found
