"""Every registered codec with the settings the laws try. A codec without a case here fails the first law."""

from dataclasses import asdict

from tacit import codecs, plan
from tacit.privacy.claim import Open
from tacit.testing import Subject

CASES: dict[str, list[plan.Codec]] = {
    "plain": [plan.Plain(), plan.Plain(clip_l2=0.5)],
    "rr": [
        plan.RR(epsilon=0.1, clip=1e-3),
        plan.RR(epsilon=1.0, clip=3e-3),
        plan.RR(epsilon=10.0, clip=0.5),
        plan.RR(epsilon=1.0, clip=1e-3, clip_l1=0.01),
    ],
    "rr_sampled": [
        plan.RRSampled(epsilon=0.5, clip=1e-3),
        plan.RRSampled(epsilon=8.0, clip=0.1),
        plan.RRSampled(epsilon=60.0, clip=0.1),
    ],
    "rqm": [
        plan.RQM(clip=1e-3, margin=1e-3, levels=4, keep=0.5),
        plan.RQM(clip=0.1, margin=0.033, levels=16, keep=0.57),
        plan.RQM(clip=0.5, margin=1.0, levels=2, keep=0.5),
        plan.RQM(clip=1e-3, margin=2e-3, levels=11, keep=0.3),
        plan.RQM(clip=0.1, margin=0.1, levels=200, keep=0.1),
        plan.RQM(clip=0.1, margin=0.1, levels=8, keep=0.5, coordinates=30),
        plan.RQM(clip=0.1, margin=0.1, levels=11, keep=0.5, tokens=True),
    ],
    "projunit": [
        plan.ProjUnit(epsilon=4.0, clip=1.0, coordinates=40),
        plan.ProjUnit(epsilon=0.5, clip=0.01),
        plan.ProjUnit(epsilon=14.0, clip=30.0, coordinates=64),
    ],
    "hashcomb": [
        plan.HashComb(x_min=-0.1, x_max=0.2, levels=8),
        plan.HashComb(x_min=-0.3, x_max=0.3, levels=1),
        plan.HashComb(of="weights", x_min=0.1, x_max=0.3, levels=6),
        plan.HashComb(x_min=-0.3, x_max=0.3, levels=10, selection="last_head", mean_level=8.0),
        plan.HashComb(
            x_min=-0.3, x_max=0.3, levels=9, selection="subset", mean_level=6.0, tokens="paper"
        ),
        plan.HashComb(x_min=-0.3, x_max=0.3, levels=5, tokens="paper", token_bits=128, hash="sha3"),
        plan.HashComb(
            x_min=-0.3, x_max=0.3, levels=6, path=True, selection="last_head", mean_level=4.0
        ),
        plan.HashComb(of="weights", x_min=-0.3, x_max=0.3, levels=4, path=True, tokens="paper"),
    ],
    "gaussian": [
        plan.Gaussian(epsilon=50.0, delta=0.4, clip=0.01),
        plan.Gaussian(epsilon=0.001, delta=1e-9, clip=30.0),
    ],
    "dp_sum": [
        plan.DPSum(epsilon=2.0, delta=1e-3, clip=1.0),
        plan.DPSum(epsilon=50.0, delta=0.4, clip=0.01),
    ],
    "onebit": [
        plan.OneBit(epsilon=0.2, delta=1e-3, clip=1.0),
        plan.OneBit(epsilon=0.05, delta=1e-2, clip=0.01, reporters=0.5),
    ],
    "skellam": [
        plan.Skellam(epsilon=2.0, delta=1e-3, clip=1.0, bits=28),
        plan.Skellam(epsilon=0.3, delta=1e-2, clip=0.01, bits=32, reporters=0.5),
    ],
    "qsgd": [
        plan.QSGD(bits=1),
        plan.QSGD(bits=2, norm="max"),
        plan.QSGD(bits=16, norm="max"),
    ],
}
ROUNDS = 3
ALL = [case for cases in CASES.values() for case in cases]


def built(case: plan.Codec, cohort: int = 1) -> codecs.Codec:
    """Return the codec as agreement and server hold it, in a run of a few rounds."""
    return codecs.build(case, codecs.Extent(rounds=ROUNDS, cohort=cohort))


def at_client(case: plan.Codec, round_no: int = 1, cohort: int = 1) -> codecs.Codec:
    """Return the codec as a client holds it: with the clients' secret, if it needs one."""
    made = built(case, cohort)
    return made if made.keyed is None else made.keyed(bytes(range(16)), round_no)


def subject(case: plan.Codec) -> Subject:
    """Return a case as the checks of `tacit.testing` take it."""
    return Subject(lambda extent: codecs.build(case, extent), getattr(case, "clip", 1.0))


PRIVATE = [case for case in ALL if not isinstance(at_client(case).claims(10, 1)[0].event, Open)]
BITS = [case for case in PRIVATE if isinstance(case, plan.RR | plan.RRSampled)]
"""Cases whose output is one randomised bit per coordinate, with an integer threshold."""


def label(case: plan.Codec) -> str:
    return "-".join(str(value) for value in asdict(case).values() if value is not None)
