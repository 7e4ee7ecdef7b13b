"""Every registered codec with the settings the laws try. A codec without a case here fails the first law."""

from tacit import plan

CASES: dict[str, list[plan.Codec]] = {
    "plain": [plan.Codec(name="plain")],
    "rr": [
        plan.Codec(name="rr", epsilon=0.1, clip=1e-3),
        plan.Codec(name="rr", epsilon=1.0, clip=3e-3),
        plan.Codec(name="rr", epsilon=10.0, clip=0.5),
        plan.Codec(name="rr", epsilon=1.0, clip=1e-3, clip_l1=0.01),
    ],
    "rr_sampled": [
        plan.Codec(name="rr_sampled", epsilon=0.5, clip=1e-3),
        plan.Codec(name="rr_sampled", epsilon=8.0, clip=0.1),
        plan.Codec(name="rr_sampled", epsilon=60.0, clip=0.1),
    ],
}
ALL = [case for cases in CASES.values() for case in cases]
PRIVATE = [case for case in ALL if case.name != "plain"]


def label(case: plan.Codec) -> str:
    return f"{case.name}-{case.epsilon}" + ("-l1" if case.clip_l1 else "")
