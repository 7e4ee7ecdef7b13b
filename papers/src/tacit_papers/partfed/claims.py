"""PartFed's claims, and the cells that decide them."""

from __future__ import annotations

from tacit_papers.checks import Above, AtLeast, AtMost, Best, Positive, Printed, Rises
from tacit_papers.claims import PaperClaim
from tacit_papers.partfed.further import (
    ACCURACY,
    BALANCED_K,
    IMAGE_K,
    image_row,
    name_difference,
)
from tacit_papers.partfed.measured import AVERAGING, ONE_PLACE
from tacit_papers.partfed.ours import PAPERS_RULE, RAW, SENSITIVITY, SPECIFICITY, growing_row
from tacit_papers.partfed.settings import CENTRAL, FEDAVG
from tacit_papers.partfed.tables import GAIN, TRAIN_LESS_TEST, K, gain, k_row, l_row
from tacit_papers.partfed.times import ON_THE_LINK, SLOW_TOTAL, TOTAL
from tacit_papers.published import At

HALF_OF_THE_LAST_DIGIT = 0.005
"""The paper states accuracies with two digits: values that it calls equal may differ by this much.
"""
_TWO_DIGITS = "the paper's accuracies have two digits: equal values differ by at most .005"
_RATIO = "times are relative to central training, whose time is 1"


def _cells_by_k(epoch: int, *thresholds: int) -> tuple[At, ...]:
    return tuple(At("fig5", k_row(k), f"epoch {epoch}") for k in thresholds)


def _cell_by_l(l: int, epoch: int = 100) -> At:  # noqa: E741 (the paper's name for it)
    return At("fig7", l_row(l), f"epoch {epoch}")


def _times(table: str, column: str, *rows: str) -> tuple[At, ...]:
    return tuple(At(table, row, column) for row in rows)


def _fact(row: str) -> At:
    return At("facts", row, "rows")


_FALLING_K = tuple(reversed(K))
_DECILES = (
    "with clients of equal size; with age intervals of equal width, averaging is better and the"
    " gain is smaller"
)
_SIDES = "2: labels on different sides"
_BETWEEN = ("k=500", "k=400", "k=300", "k=200", "k=100")

_ACCURACY = (
    PaperClaim(
        claim=(
            "After 100 epochs accuracy is about .80 with federated averaging and about .83 with"
            " central training"
        ),
        where="Sections 5.3, 5.4 and 6, Figure 5",
        checks=(Above(_cells_by_k(100, CENTRAL)[0], _cells_by_k(100, FEDAVG)[0]),),
        sizes=(
            Printed(
                ((_cells_by_k(100, FEDAVG)[0], 0.80), (_cells_by_k(100, CENTRAL)[0], 0.83)),
                digits=2,
            ),
        ),
        correction=_DECILES,
    ),
    PaperClaim(
        claim="Sharing rows improves on the accuracy of federated averaging by up to 3.75 %",
        where="Section 6",
        checks=(Above(_cells_by_k(100, CENTRAL)[0], _cells_by_k(100, FEDAVG)[0]),),
        sizes=(Printed(((At("fig5", GAIN, "epoch 100"), 0.0375),), digits=4),),
        correction=(
            f"{_DECILES}; with one-hot columns, averaging achieves the same without sharing a row"
            " (E2 of Figure 3)"
        ),
    ),
    PaperClaim(
        claim=(
            "The smaller k, the higher the accuracy, from federated averaging to central training"
        ),
        where="Section 5.4, Figure 5",
        checks=(
            Rises(_cells_by_k(100, *_FALLING_K)),
            Best(_cells_by_k(100, CENTRAL)[0], _cells_by_k(100, *K)),
        ),
    ),
    PaperClaim(
        claim="The smaller k, the fewer epochs are needed",
        where="Section 5.4, Figure 5",
        checks=(
            Rises(_cells_by_k(10, *_FALLING_K)),
            Best(_cells_by_k(10, CENTRAL)[0], _cells_by_k(10, *K)),
        ),
    ),
    PaperClaim(
        claim="Averaging gains .02 more from epoch 100 to 400, and nothing after",
        where="Section 5.3, Figure 3",
        checks=(
            Positive(At("fig3", "E1", gain(100, 400))),
            AtMost(At("fig3", "E1", gain(400, 600)), HALF_OF_THE_LAST_DIGIT),
        ),
        limit=_TWO_DIGITS,
        sizes=(Printed(((At("fig3", "E1", gain(100, 400)), 0.02),), digits=2),),
        correction="interpreted as E1, the encoding used afterwards; the text says E2",
        refuted="interpreted as E1, the encoding used afterwards; the text says E2",
    ),
    PaperClaim(
        claim="Accuracy on test rows equals that on training rows",
        where="Section 5.3, Figure 3",
        checks=(
            AtMost(At("fig3", "E1", TRAIN_LESS_TEST), HALF_OF_THE_LAST_DIGIT),
            AtLeast(At("fig3", "E1", TRAIN_LESS_TEST), -HALF_OF_THE_LAST_DIGIT),
        ),
        limit=_TWO_DIGITS,
    ),
    PaperClaim(
        claim="One-hot columns (E2) give lower accuracy than integer codes (E1)",
        where="Section 5.3, Figure 3",
        checks=(Above(At("fig3", "E1", "epoch 100"), At("fig3", "E2", "epoch 100")),),
        refuted=(
            "one-hot columns are better here with every setting we tried; in central training both"
            " are equal (table e1-e2)"
        ),
    ),
    PaperClaim(
        claim=(
            "Accuracy suffices to compare the approaches: sensitivity and specificity are not"
            " needed"
        ),
        where="Section 6",
        checks=(
            Rises(tuple(At("errors", k_row(k), SENSITIVITY) for k in _FALLING_K)),
            Rises(tuple(At("errors", k_row(k), SPECIFICITY) for k in _FALLING_K)),
        ),
        refuted="the order by one kind of error differs from the order by accuracy",
    ),
)
_BY_LABEL = (
    PaperClaim(
        claim="Sharing by l improves accuracy for l up to 200",
        where="Section 5.4, Figure 7",
        checks=tuple(Above(_cell_by_l(l), _cell_by_l(FEDAVG)) for l in (100, 200)),  # noqa: E741
        refuted="the gain ends at a smaller l",
    ),
    PaperClaim(
        claim="At l = 300 accuracy is below federated averaging",
        where="Section 5.4, Figure 6",
        checks=(Above(_cell_by_l(FEDAVG), _cell_by_l(300)),),
    ),
    PaperClaim(
        claim="At l = 200 accuracy falls after about epoch 20",
        where="Section 5.4, Figure 6",
        checks=(Above(_cell_by_l(200, 20), _cell_by_l(200, 100)),),
    ),
    PaperClaim(
        claim="At l = 100 accuracy falls after about epoch 20",
        where="Section 5.4, Figure 6",
        checks=(Above(_cell_by_l(100, 20), _cell_by_l(100, 100)),),
    ),
    PaperClaim(
        claim="Separating labels costs most at about l = 200, where half of the rows are shared",
        where="Section 5.4, Figure 8",
        checks=(
            Printed(((At("fig4", "l=200", "rows shared"), 0.5),), digits=1),
            Above(At("fig8", "l=200", _SIDES), At("fig8", "l=100", _SIDES)),
            Above(At("fig8", "l=200", _SIDES), At("fig8", "l=300", _SIDES)),
        ),
        limit="half of the rows: a share of .5 with one digit",
        correction=(
            "the paper says that this cannot be measured; sharing the same number of rows"
            " regardless of label measures it"
        ),
    ),
)
_COST = (
    PaperClaim(
        claim="The smaller k, the less a client computes",
        where="Sections 5.4 and 6, Figure 4, Table 1",
        checks=(Rises(_times("1", "client", *reversed(_BETWEEN))),),
    ),
    PaperClaim(
        claim=(
            "With equal computers, federated averaging takes less total time than central training"
        ),
        where="Section 5.4, Table 1",
        checks=(
            Rises(_times("1", TOTAL, AVERAGING, *_BETWEEN)),
            AtMost(At("1", _BETWEEN[-1], TOTAL), 1.0),
        ),
        limit=_RATIO,
    ),
    PaperClaim(
        claim="With a server ten times as fast, central training is fastest",
        where="Section 5.4, Table 2",
        checks=tuple(AtLeast(At("2", row, SLOW_TOTAL), 1.0) for row in (AVERAGING, *_BETWEEN)),
        limit=_RATIO,
        sizes=tuple(AtLeast(At("2", row, TOTAL), 1.0) for row in (AVERAGING, *_BETWEEN)),
        correction=(
            "if training is as slow relative to the link as in the paper; compiled training is"
            " faster, and sending the rows then takes most of the time"
        ),
    ),
    PaperClaim(
        claim="The time to send rows is negligible: at most 5.9 % of the total",
        where="Section 5.4, Tables 1 and 2",
        checks=(
            AtMost(At("1", ONE_PLACE, ON_THE_LINK), 0.059),
            AtMost(At("2", ONE_PLACE, ON_THE_LINK), 0.059),
        ),
        refuted=(
            "it depends on how fast the machine trains: compiled training is many times faster, the"
            " link is the same"
        ),
    ),
)
_PRIVACY = (
    PaperClaim(
        claim="Everything is shared at k = 1, nothing from k = 554 and l = 402 on",
        where="Section 5.4, Figure 4",
        checks=(
            Printed(
                (
                    (_fact("largest class in age, race, sex"), 554),
                    (_fact("largest class with the label too"), 402),
                    (_fact("shared at k=1, k equal rows"), 30_162),
                    (_fact("shared at k=554, k other equal rows"), 0),
                    (_fact("shared at l=402, k other equal rows"), 0),
                ),
                digits=0,
            ),
        ),
        limit="everything: 30,162 rows",
        correction=(
            "each end requires another definition of k: by Algorithm 1 (k rows) the largest class"
            " is still shared at 554 and 402, by the text (k other samples) some rows stay at k ="
            " 1; test rows were also counted"
        ),
    ),
    PaperClaim(
        claim=(
            "A row that shares age, race and sex with k others can be sent without violating"
            " privacy"
        ),
        where="Sections 1, 4.2 and 6",
        checks=(AtMost(At("rules", RAW, "unique"), 0.0),),
        refuted="the whole row is sent, and its other columns can identify people",
    ),
    PaperClaim(
        claim=(
            "If k people are indistinguishable, data about one of them can be disclosed (a name, a"
            " city and a diagnosis)"
        ),
        where="Section 4.2",
        checks=(AtMost(At("fig4", "k=100", "with one label"), 0.0),),
        refuted="a class with a single label reveals the label of everyone in it",
    ),
    PaperClaim(
        claim=(
            "The second rule is l-diversity: each class has l well-represented values of the label"
        ),
        where="Sections 4.2 and 5.2, Algorithm 2",
        checks=(AtMost(At("fig4", "l=300", "in one-label classes"), 0.0),),
        refuted=(
            "it requires l rows of the same label, which is the opposite; Algorithm 2 also compares"
            " with k"
        ),
    ),
    PaperClaim(
        claim="Clients can decide again during training, with the same privacy",
        where="Section 1, steps 2 to 4",
        checks=(
            AtMost(At("growing", growing_row(12, PAPERS_RULE), "left in a group below k"), 0.0),
            AtMost(At("growing", growing_row(52, PAPERS_RULE), "left alone"), 0.0),
        ),
        refuted="an attacker who kept the previous release can subtract it",
    ),
    PaperClaim(
        claim="The rules also work for images, by a measure of similarity",
        where="Section 4.2",
        checks=tuple(
            Above(At("images", image_row(k), ACCURACY), At("images", image_row(FEDAVG), ACCURACY))
            for k in IMAGE_K[1:-1]
        ),
        correction=(
            "with a measure of ours, since the paper names none; a released image is seen whole"
        ),
    ),
    PaperClaim(
        claim="With balanced classes, sharing by l is as good as sharing by k",
        where="Section 6",
        checks=tuple(
            AtLeast(At("balanced", name_difference(l), ACCURACY), -HALF_OF_THE_LAST_DIGIT)
            for l in BALANCED_K  # noqa: E741
        ),
        limit=_TWO_DIGITS,
        refuted="sharing by l separates the labels, balanced or not",
    ),
)

CLAIMS = (*_ACCURACY, *_BY_LABEL, *_COST, *_PRIVACY)
