"""LazyInf's claims, in our words, and the cells that decide them."""

from __future__ import annotations

from tacit_papers.checks import Above, AsPredicted, AtLeast, AtMost, Positive, Printed
from tacit_papers.claims import PaperClaim
from tacit_papers.lazyinf import printed
from tacit_papers.lazyinf.effect import LABEL_KINDS, gain_column
from tacit_papers.published import At

_METRICS = ("accuracy", "precision", "recall")
_ROW_NOISE, _ALL_ROWS_NOISE = "votes at 0.5, record noise", "votes at 0.5, client noise"
_SETS = ("MNIST", "CIFAR-10")
_LEAST_PRECISION = printed.DETECTED["cifar10", "noised"][1]
_CORRUPTED = 0.3
"""The share of corrupted clients, and so the precision of rejecting clients at random."""
_MOST = 0.5
"""Filtering out is read as rejecting most of the malicious clients; the paper names no number here,
and the printed 1.0 is compared as a size.
"""


def _list_detections(row: str, numbers: tuple[float, ...]) -> tuple[tuple[At, float], ...]:
    return tuple(
        (At("detection", row, name), number) for name, number in zip(_METRICS, numbers, strict=True)
    )


FINDING = (
    PaperClaim(
        claim="Without noise exactly the corrupted clients are found, on MNIST and CIFAR-10.",
        where="Section 4.2, Table 1",
        checks=tuple(
            AtLeast(at, number)
            for row, source in (("MNIST", "mnist"), ("CIFAR-10", "cifar10"))
            for at, number in _list_detections(
                f"{row}, no noise", printed.DETECTED[source, "clear"]
            )
        ),
    ),
    PaperClaim(
        claim="Randomised votes alone change nothing: noise averages out over many testers.",
        where="Section 3.3",
        limit="nothing changes: the accuracy stays 1.000",
        checks=(
            Printed(
                tuple((At("detection", f"{name}, votes at 0.5", "accuracy"), 1.0) for name in _SETS)
            ),
            AsPredicted(
                tuple(
                    At("decisions", f"{name}, votes at 0.5", "standard errors apart, mean")
                    for name in _SETS
                )
            ),
        ),
    ),
    PaperClaim(
        claim=(
            "On MNIST all corrupted clients are found at eps = 1 (0.5 per vote) for rows and votes."
        ),
        where="Sections 4.2 and 4.3, Table 1",
        checks=(
            Printed(_list_detections(f"MNIST, {_ROW_NOISE}", printed.DETECTED["mnist", "noised"])),
        ),
        correction=(
            "with noise that hides one row of a contributor, and a threshold between two groups of"
            " scores instead of zero"
        ),
        refuted="even with noise that hides only one row",
    ),
    PaperClaim(
        claim=(
            "On CIFAR-10 accuracy is .86, precision .86 and recall .63 at eps = 1 (0.5 per vote)"
            " for rows and votes."
        ),
        where="Sections 4.2 and 4.3, Table 1",
        checks=tuple(
            AtLeast(at, number)
            for at, number in _list_detections(
                f"CIFAR-10, {_ROW_NOISE}", printed.DETECTED["cifar10", "noised"]
            )
        ),
        limit=".86 is printed as .8636 for the precision",
        correction=(
            "or better, with noise that hides one row of a contributor, and a threshold between two"
            " groups of scores"
        ),
    ),
    PaperClaim(
        claim=(
            "Corrupted clients are still found under noise that hides all rows of a contributor, as"
            " in the cited work."
        ),
        where="Sections 3.2 and 4.3, Table 1",
        checks=tuple(
            AtLeast(at, number)
            for row, source in (("MNIST", "mnist"), ("CIFAR-10", "cifar10"))
            for at, number in _list_detections(
                f"{row}, {_ALL_ROWS_NOISE}", printed.DETECTED[source, "noised"]
            )[:2]
        ),
        limit="found: accuracy and precision as printed for noise of this kind",
        refuted=(
            "the noise drowns a step clipped to the required L2 norm; clip and variance are not"
            " printed"
        ),
    ),
    PaperClaim(
        claim=(
            "Corrupted data are found in a variety of applications (Table 1: at least .86 of those"
            " rejected are corrupted)."
        ),
        where="Abstract",
        checks=tuple(
            AtLeast(
                At("skew", f"alpha {alpha}, self_tuned, votes in the clear", "precision"),
                _LEAST_PRECISION,
            )
            for alpha in ("0.1", "0.5")
        ),
        limit="the least precision that Table 1 prints, .8636",
        refuted="if clients' labels differ, honest clients with skewed labels are rejected too",
    ),
    PaperClaim(
        claim="Malicious clients are filtered out, up to the share in the experiments (30 %).",
        where="Abstract; Sections 1 and 4",
        checks=tuple(
            AtLeast(At("detection", f"{name}, votes at 0.5", metric), least)
            for name in _SETS
            for metric, least in (("precision", _CORRUPTED), ("recall", _MOST))
        ),
        sizes=tuple(
            Printed(_list_detections(f"{name}, votes at 0.5", (1.0, 1.0, 1.0))) for name in _SETS
        ),
        limit="filtered out: more than half are rejected, at a precision above their share of .3",
        correction=(
            "read as: most are rejected; and if they vote like honest clients: clients that"
            " collude and do not randomise outvote"
            " the others from a fifth of all clients on"
        ),
    ),
)
"""Claims about detection."""

WORTH = (
    PaperClaim(
        claim="Randomly labelled data harm the model significantly.",
        where="Sections 2 and 5; no figure is printed",
        checks=(Positive(At("recovered", "no filter", "loss, random labels")),),
    ),
    PaperClaim(
        claim="Filtering recovers what bad data cost, also with randomised votes.",
        where="Section 5; no figure is printed",
        checks=tuple(
            Positive(At("recovered", row, gain_column(kind)))
            for kind in LABEL_KINDS
            for row in ("filter, votes in the clear", "filter, votes at 0.5")
        ),
    ),
    PaperClaim(
        claim="The vote has the sign of the exact influence.",
        where="Section 3.2",
        checks=(
            Above(
                At("influence", "votes", "signs that agree"),
                At("influence", "votes", "signs that agree if all are said to help"),
            ),
        ),
        correction=(
            "for about four clients in five; saying yes to all is right for seven in ten, because"
            " half-wrong labels still help an early model"
        ),
    ),
    PaperClaim(
        claim="Votes are far cheaper than exact influence.",
        where="Section 3.2",
        checks=(AtLeast(At("influence", "votes", "time of exact influence, votes = 1"), 1.0),),
        limit="cheaper: exact influence takes at least as long, a ratio of 1",
    ),
    PaperClaim(
        claim=(
            "It is the first practical way to score and filter data in federated learning under"
            " differential privacy."
        ),
        where="Sections 1 and 2",
        untestable="a statement about the literature, which no run decides",
    ),
)
"""Claims about the benefit and cost of filtering."""

PRIVACY = (
    PaperClaim(
        claim=(
            "A vote that is kept with probability .62 has an epsilon of at most 1 for its tester."
        ),
        where="Section 3.3, Equation 4",
        checks=(
            Printed(((At("promise", "tester", "epsilon by Eq. 4"), 1.0),), digits=0),
            AtMost(At("promise", "tester", "epsilon per vote"), 1.0),
        ),
        correction=(
            "its epsilon is half of that: the formula is for two different bits, but a vote is one"
            " bit"
        ),
    ),
    PaperClaim(
        claim="That 1 is a tester's worst-case guarantee for all its votes.",
        where="Abstract; Sections 3.3 and 4.3",
        checks=(AtMost(At("promise", "tester", "epsilon per round"), 1.0),),
        refuted="it votes on 99 contributors with the same rows in every round",
    ),
    PaperClaim(
        claim="The privacy of every agent's training data is fully preserved, at the same epsilon.",
        where="Sections 3.2, 4.3 and 5",
        checks=(
            Printed(((At("promise", "contributor", "messages without a bound"), 0.0),), digits=0),
        ),
        refuted=(
            "noise protects the layer that is voted on; an accepted client's update is averaged"
            " without noise"
        ),
    ),
)
"""Claims about privacy."""

CLAIMS = (*FINDING, *WORTH, *PRIVACY)
