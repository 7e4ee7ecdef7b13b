"""PartFed's Figures 3 to 8 as pictures; Figures 1 and 2 are diagrams."""

from __future__ import annotations

from tacit_papers.partfed import printed
from tacit_papers.partfed.settings import CENTRAL, ENCODINGS, FEDAVG, SIZES
from tacit_papers.partfed.tables import MATCHED_K, K, L, k_row, l_row, threshold
from tacit_papers.pictures import Line, Panel, Picture
from tacit_papers.published import At

_EPOCHS = SIZES["full"].epochs
_ALL_EPOCHS = (*_EPOCHS, *SIZES["full"].later)
_LARGEST_WITH_LABEL = 403


def _course(table: str, row: str, epochs: tuple[int, ...] = _EPOCHS) -> Line:
    return Line(
        label=row, points=tuple((epoch, At(table, row, f"epoch {epoch}")) for epoch in epochs)
    )


def _line_of_shared(rule: str, label: str) -> Line:
    points = tuple(
        (k, At("fig4", threshold(rule, k), "rows shared")) for k in printed.THRESHOLDS[rule]
    )
    return Line(label=label, points=points)


def _part(label: str, column: str) -> Line:
    return Line(label=label, points=tuple((l, At("fig8", f"l={l}", column)) for l in MATCHED_K))  # noqa: E741


def _at_100() -> Line:
    ends = {FEDAVG: _LARGEST_WITH_LABEL}
    points = tuple(
        (ends.get(least, least), At("fig7", l_row(least), "epoch 100"))
        for least in (CENTRAL, *L, FEDAVG)
    )
    return Line(label="sharing by l", points=points)


PICTURES = (
    Picture(
        name="fig3",
        title="Figure 3. Accuracy by epoch for two encodings",
        panels=(
            Panel(
                title="federated averaging", across="epoch", up="accuracy",
                lines=tuple(_course("fig3", encoding, _ALL_EPOCHS) for encoding in ENCODINGS),
            ),
        ),
    ),
    Picture(
        name="fig4",
        title="Figure 4. Rows that clients need not train on",
        panels=(
            Panel(
                title="rows shared", across="k or l", up="share of rows",
                lines=(_line_of_shared("k_anonymity", "by k"), _line_of_shared("label_k", "by l")),
            ),
        ),
    ),
    Picture(
        name="fig5",
        title="Figure 5. Accuracy by k",
        panels=(
            Panel(
                title="k equal rows in age, race and sex", across="epoch", up="accuracy",
                lines=tuple(_course("fig5", k_row(k)) for k in K),
            ),
        ),
    ),
    Picture(
        name="fig6",
        title="Figure 6. Accuracy by l",
        panels=(
            Panel(
                title="l equal rows of one label", across="epoch", up="accuracy",
                lines=tuple(_course("fig7", l_row(l)) for l in (CENTRAL, 100, 200, 300, FEDAVG)),  # noqa: E741
            ),
        ),
    ),
    Picture(
        name="fig7",
        title="Figure 7. Accuracy after 100 epochs by l",
        panels=(Panel(title="l equal rows of one label", across="l", up="accuracy", lines=(_at_100(),)),),
    ),
    Picture(
        name="fig8",
        title="Figure 8. Two components of the loss",
        panels=(
            Panel(
                title="loss against one place", across="l", up="accuracy",
                lines=(
                    _part("all of it", "loss against one place"), _part("1: federation", "1: federation"),
                    _part("2: labels on different sides", "2: labels on different sides"),
                ),
            ),
        ),
    ),
)  # fmt: skip
