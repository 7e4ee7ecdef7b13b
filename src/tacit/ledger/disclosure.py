"""Rows that were handed over: listed with their counts, never given a number that would sound like protection."""

from __future__ import annotations

from tacit.claim import ApproximateDP, Disclosed, Open
from tacit.record import RUN, DisclosedRows, Released

_RULES = {
    "k_anonymity": "at least {k} rows look alike in {key}",
    "label_k": "at least {k} rows look alike in {key} and in the label itself",
    "distinct_l": "at least {k} rows look alike in {key}, with at least {l} different labels",
    "entropy_l": "at least {k} rows look alike in {key}, with labels as mixed as {l} equal ones",
}


def disclosures(shared: DisclosedRows) -> list[Released]:
    """Return the ledger's entries for rows that were shared: the rows themselves, and what counting them told others."""
    found = []
    if shared.rows:
        found.append(
            Released(
                arm=RUN, round_no=0, clients=sum(count > 0 for count in shared.rows_per_client),
                mechanism=f"{shared.rows:,} of {shared.of_rows:,} rows in full ({', '.join(shared.columns)}); {_rule(shared)}",
                loss=Disclosed().word, epsilon=None, unit="row", count=shared.rows, relation="replace one row", view="server",
                trust=["the server and everyone who reads its traffic"],
                source="none: k-anonymity and l-diversity are rules about a table, not differential privacy",
            )
        )  # fmt: skip
    return [*found, *_counting(shared)]


def _counting(shared: DisclosedRows) -> list[Released]:
    """Return what was told by counting together; clients that count alone tell nobody anything."""
    if shared.counts == "local":
        return []
    clients = len(shared.rows_per_client)
    if shared.counts == "stable":
        assert shared.epsilon is not None
        assert shared.delta is not None
        loss = ApproximateDP(shared.epsilon, shared.delta)
        return [
            Released(
                arm=RUN, round_no=0, clients=clients,
                mechanism=f"which classes of rows are shared, decided on noisy counts of {', '.join(shared.key)}",
                loss=loss.word, epsilon=loss.epsilon, unit=f"decision (delta={loss.delta:g})", count=1,
                relation="add or remove one row", view="everyone", trust=["whoever adds the counts up, and the noise to them"],
                source="stability histogram: count + Laplace(1/epsilon) >= k + ln(1/(2 delta))/epsilon; rows are not covered",
            )
        ]  # fmt: skip
    with_test = " and the test rows" if shared.counts == "with_test" else ""
    return [
        Released(
            arm=RUN, round_no=0, clients=clients,
            mechanism=f"how many rows of all clients{with_test} look alike in each class of {', '.join(shared.key)}",
            loss=Open().word, epsilon=None, unit="run", count=1, relation="replace one row", view="peers",
            trust=["the secure sum that adds the counts up"], source="none: exact counts reach every client",
        )
    ]  # fmt: skip


def disclosure(shared: DisclosedRows) -> str:
    """Return the sentences a data owner must read beside the statement about updates."""
    if not shared.rows:
        return f"No row is shared: nowhere do enough rows look alike ({_rule(shared)})."
    share = shared.rows / shared.of_rows
    rest = "the label" if shared.release == "whole_row" else "the other columns or of the label"
    return (
        f"Shared rows are disclosed to the server in full: {shared.rows:,} of {shared.of_rows:,} rows ({100 * share:.1f} %). "
        f"In them {_rule(shared)}{_fewer(shared)}; no differential privacy, no protection of {rest}: "
        f"{100 * shared.unique_share:.0f} % of them are unique in all their columns, and for "
        f"{100 * shared.single_label_share:.0f} % whoever knows {', '.join(shared.key[:3])}"
        f"{' …' if len(shared.key) > 3 else ''} knows the label. "
        "What is stated about updates covers the kept rows only, and which rows are kept is visible."
    )


def _fewer(shared: DisclosedRows) -> str:
    """Return how few rows may look alike at the server where more were counted than were sent, or with noise."""
    if shared.smallest_class >= shared.k:
        return ""
    how = "with noise" if shared.counts == "stable" else "with rows that were not sent"
    return f" (counted {how}; at the server the fewest are {shared.smallest_class:,})"


def _rule(shared: DisclosedRows) -> str:
    key = ", ".join(shared.key) if shared.release == "columns" else "every column but the label"
    return _RULES[shared.rule].format(k=f"{shared.k:,}", l=f"{shared.l or 0:g}", key=key)
