"""HashComb's claims, in our words, and the cells that decide them."""

from __future__ import annotations

from tacit_papers.checks import Above, Alike, AtLeast, AtMost, Best, Positive, Printed
from tacit_papers.claims import PaperClaim
from tacit_papers.hashcomb import printed
from tacit_papers.hashcomb.noise import PROGRAM_NOISE, name_gain_column
from tacit_papers.hashcomb.tables import BEST
from tacit_papers.published import At

_SETS = tuple(printed.SETS.values())
_SPAM, _OKIRU, _HPS, _CORONARY = _SETS
_GAIN, _GAIN_OVER_NOISE = printed.GAIN_OVER["NoHC"], printed.GAIN_OVER["DP"]


def _lost(row: str, arm: str) -> At:
    """The cell with the difference between an arm of Table 3 and weights in the clear."""
    return At("3-differences", row, arm)


def _gain_over(noise: str) -> At:
    """The cell with the mean gain of HC8 over one reading of the noise, at the best round, which
    the paper prints.
    """
    return At("5", "mean of the sets", name_gain_column(noise, BEST))


def _printed_gain(name: str, arm: str) -> float:
    """The printed difference between an arm of Table 3 and weights in the clear."""
    return round(printed.FOUR_ROUNDS[name][arm] - printed.FOUR_ROUNDS[name]["NoHC"], 4)


ACCURACY = (
    PaperClaim(
        claim=(
            "Training on four clients with plain averaging is slightly better than central"
            " training."
        ),
        where="Section 7.1.1, Tables 2 and 3",
        checks=tuple(Above(At("3", row, "NoHC"), At("2", row, "F1")) for row in _SETS),
        refuted="one place is at least as good; nor does it hold in the printed tables for Coronary",
    ),
    PaperClaim(
        claim="The program gives what scikit-learn's MLPClassifier gives.",
        where="Section 6.2.1, Table 2",
        limit="the same: within .006, the mean gain that the paper claims",
        checks=tuple(
            Alike(
                At("2-baselines", row, "one place"), At("2-baselines", row, "scikit-learn"), _GAIN
            )
            for row in _SETS
        ),
    ),
    PaperClaim(
        claim="With eight levels nothing is lost compared with weights in the clear.",
        where="Abstract; Section 7.1.1, Table 3",
        limit="nothing: at most .006, the mean gain that the paper claims",
        checks=tuple(AtLeast(_lost(row, "HC8"), -_GAIN) for row in _SETS),
    ),
    PaperClaim(
        claim="With eight levels F1 is better than with weights in the clear, on all four sets.",
        where="Section 7.1.1, Table 3",
        checks=tuple(Positive(_lost(row, "HC8")) for row in _SETS),
        sizes=tuple(
            AtLeast(_lost(row, "HC8"), _printed_gain(name, "HC8"))
            for name, row in printed.SETS.items()
        ),
        refuted="rounding adds noise and nothing else; the printed gains are of one run each",
    ),
    PaperClaim(
        claim="From six levels on F1 is significantly better than with weights in the clear.",
        where="Section 7.1.1, Table 3",
        checks=tuple(Positive(_lost(row, "HC6")) for row in _SETS),
        sizes=(AtLeast(_lost(_SPAM, "HC6"), _printed_gain("spam", "HC6")),),
        refuted="in the printed table, too, six levels lose on three of the four sets",
    ),
    PaperClaim(
        claim="Four levels are too few: F1 falls on Spam, HPS and Coronary.",
        where="Section 7.1.1, Table 3",
        checks=tuple(
            Above(_lost(row, "HC8"), _lost(row, "HC4")) for row in (_SPAM, _HPS, _CORONARY)
        ),
    ),
    PaperClaim(
        claim="Eight levels are enough: more do not help.",
        where="Sections 4 and 7.1.1, Table 3",
        checks=tuple(
            Best(_lost(row, "HC8"), tuple(_lost(row, arm) for arm in ("HC4", "HC6", "HC10")))
            for row in (_SPAM, _HPS, _CORONARY)
        ),
    ),
    PaperClaim(
        claim="Too few levels make the model overfit.",
        where="Section 7.1.1, Figure 4",
        checks=tuple(
            Above(At("fig4-gap", row, "HC4, gap"), At("fig4-gap", row, "NoHC, gap"))
            for row in _SETS
        ),
        refuted=(
            "coarse weights are also worse on the training rows: that is noise, not overfitting"
        ),
    ),
    PaperClaim(
        claim=(
            "Over many rounds eight levels are better than weights in the clear, by .6 % of F1 on"
            " average."
        ),
        where="Sections 7.1.2 and 7.2, Tables 4 and 5",
        checks=(Positive(At("gains-many", "mean of the sets", "best round")),),
        sizes=(AtLeast(At("gains-many", "mean of the sets", "best round"), _GAIN),),
        refuted=(
            "the best of many rounds, chosen on the test rows, favours the arm with more variance"
        ),
    ),
    PaperClaim(
        claim="Eight levels learn in fewer rounds than weights in the clear.",
        where="Sections 1 and 7.1.2, Table 4",
        checks=tuple(
            Above(At("4", row, "NoHC, which round"), At("4", row, "HC8, which round"))
            for row in _SETS
        ),
        refuted=(
            "nor in the printed table, where HC8 reaches its best later on two sets and earlier on"
            " none"
        ),
    ),
    *(
        PaperClaim(
            claim=f"Random levels with a mean of eight keep the accuracy, by {words} (`{coins}`).",
            where="Sections 3 and 4; no figure is printed",
            limit="kept: within a point of F1, .01",
            checks=tuple(
                Alike(At("levels", row, f"{coins}, L=10"), At("levels", row, "NoHC"), 0.01)
                for row in (_SPAM, _OKIRU, _HPS)
            ),
            refuted="a weight that is sent at a coarse level is decoded far from its value",
        )
        for coins, words in (
            ("last_head", "the coins of the authors' code"),
            ("subset", "the coins of Section 3"),
        )
    ),
    PaperClaim(
        claim="The representation suits training data as well as parameters.",
        where="Sections 2 and 6; no figure is printed",
        limit="suits: within a point of F1, .01",
        checks=tuple(
            Alike(At("columns", row, "8 levels"), At("columns", row, "not quantised"), 0.01)
            for row in _SETS
        ),
    ),
)
"""Claims about F1."""

PRIVACY = (
    PaperClaim(
        claim=(
            "HashComb is differentially private: epsilon is twice the logarithm of the fullest"
            " channel's share, 4 to 7."
        ),
        where="Section 3.1, Equation 11",
        checks=(
            AtLeast(At("formulas", "Eq. 11, fullest channel 1/256", "epsilon per value"), 4.0),
        ),
        refuted=(
            "the formula is never above zero, but a bound must be: a ratio became a product in"
            " Equation 4"
        ),
    ),
    PaperClaim(
        claim="Choosing levels at random makes the representation differentially private.",
        where="Abstract; Sections 1, 3 and 8",
        limit="private: at a delta of at most .001, that of the comparison",
        checks=tuple(
            AtMost(At("apart", row, "least delta per value"), 1e-3)
            for row in ("finest, L=8", "last_head, L=10", "subset, L=10")
        ),
        refuted="two values in different channels never have the same token",
    ),
    PaperClaim(
        claim="The Gaussian noise of the comparison is (2, 1e-3)-differentially private.",
        where="Section 7.2, Equations 16 to 18",
        limit="the printed variance is .08",
        checks=(
            Printed(((At("formulas", "Eq. 16, natural logarithm", "variance"), 0.08),), digits=2),
            AtMost(
                At("formulas", "Eq. 16, logarithm to base ten", "epsilon per run of 40 rounds"), 2.0
            ),
        ),
        refuted=(
            "rounds are not composed, .08 requires a logarithm to base ten, and no update is"
            " clipped to the assumed L2 norm"
        ),
    ),
    PaperClaim(
        claim="HashComb is better than that noise, by 1.92 % of F1 on average.",
        where="Section 7.2, Table 5",
        checks=(Positive(_gain_over("DP")), Positive(_gain_over(PROGRAM_NOISE))),
        sizes=(Printed(((_gain_over("DP"), _GAIN_OVER_NOISE),)),),
        refuted=(
            "it depends on what .08 is: the text calls it the variance, the program draws a"
            " deviation of .08; neither side is differentially private"
        ),
    ),
    PaperClaim(
        claim=(
            "Compared with differential privacy it has the better balance of privacy and accuracy."
        ),
        where="Section 8",
        untestable=(
            "HashComb has no epsilon to compare; table budget shows DP-FedAvg at epsilon 2 per run"
            " and delta 1e-3 next to it"
        ),
    ),
    PaperClaim(
        claim="Hashes hide parameters from the server.",
        where="Sections 1, 4 and 6",
        limit="hidden: a rank correlation of at most .1",
        checks=(AtMost(At("tokens", "keyed tokens, 6 rounds seen", "order of channels"), 0.1),),
        correction=(
            "only with new tokens for each round and parameter; the published ones reveal the order"
            " of channels"
        ),
    ),
    PaperClaim(
        claim="A secret of 128 bits in addition to the range cannot be guessed.",
        where="Section 5.3",
        limit="ranges have 104 or 106 bits, the secret 128",
        checks=(
            Printed(
                tuple(
                    (At("guesses", row, "bits"), bits)
                    for row, bits in (
                        ("two bounds, any double from .5 to 1", 104.0),
                        ("two bounds, any double from .25 to 1", 106.0),
                        ("any range under the negotiated secret", 128.0),
                    )
                ),
                digits=0,
            ),
            AtMost(
                At("tokens", "published tokens under a secret", "weights read by trying ranges"),
                0.0,
            ),
        ),
        correction=(
            "the secret itself must be random and 128 bits long; without it, a range that people"
            " write down is found at once"
        ),
    ),
    PaperClaim(
        claim="Messages are much smaller than with classic differential privacy.",
        where="Section 8",
        checks=(
            Above(
                At("1", "NoHC: 32-bit floats", "bits per parameter"),
                At("1", "HC8, keyed tokens", "bits per parameter"),
            ),
        ),
        correction=(
            "with keyed tokens of 8 bits; hashes of 128 bits are four times as long as floats"
        ),
    ),
    PaperClaim(
        claim=(
            "Parties agree on the range without revealing their own, if fewer than half of them are"
            " curious."
        ),
        where="Section 5.2",
        untestable=(
            "no figure decides it; the paper does not specify the comparison protocol; ours is"
            " checked by tests (negotiation)"
        ),
    ),
)
"""Claims about what is hidden, and about the loss of accuracy."""

CLAIMS = (*ACCURACY, *PRIVACY)
