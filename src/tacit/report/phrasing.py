"""Formatting of percentages, bytes and durations, the same on the terminal and on the page."""

from __future__ import annotations

NONE = "–"
METRICS = {"accuracy": "accuracy", "auc": "AUC", "f1": "F1", "loss": "loss"}
_ARMS = {
    "run": "this run",
    "features": "features, bought",
    "fedavg": "FedAvg, unprotected",
    "central": "central",
    "local_only": "local only",
    "noiseless": "this run without noise",
    "same_features": "central, same features",
    "local": "local only",  # as records of earlier versions name it
}

LEAST_WORDS_SEEN = 0.65
"""English prose reaches 0.76 or more with 5,000 words of the English list; German and Spanish prose
at most 0.57 with 50,000.
"""


READ_ALL_WORDS = (
    "Read all words, hashed: features.text = 'binary' and features.words = 'unicode'. "
    "Remove features.list and features.rarity if the plan has them."
)
"""Advice where a plan's word list leaves texts out."""


KEEP_SCALE = (
    "Set features.constant = 1: rows of numbers then keep their scale, although all have the same"
    " L2 norm."
)
"""Advice where the rows of a table lose information."""


def name_arm(name: str) -> str:
    """Display name of an arm."""
    return _ARMS.get(name, name)


def describe_experiment(kind: str, corrupted: int, clients: int) -> str:
    """Say that some clients were corrupted on purpose, so that nobody mistakes the figures for
    those of honest clients.
    """
    share = 100 * corrupted / max(1, clients)
    return (
        f"An experiment: {corrupted:,} of {clients:,} clients ({share:.0f} %) were corrupted on"
        f" purpose ({kind})."
    )


def format_metric(name: str, value: float | None) -> str:
    """Format a metric: accuracy in percent, the others as decimals."""
    if value is None:
        return NONE
    return f"{100 * value:.1f} %" if name == "accuracy" else f"{value:.3f}"


def format_gap(name: str, ours: float, theirs: float) -> str:
    """Format the signed distance between two values of a metric; accuracies differ in points."""
    difference = ours - theirs
    sign = "+" if difference > 0 else "−" if difference < 0 else "±"
    return (
        f"{sign}{100 * abs(difference):.1f} points"
        if name == "accuracy"
        else f"{sign}{abs(difference):.3f}"
    )


def format_size(count: float | None) -> str:
    """Format a number of bytes with three digits and a decimal unit."""
    if count is None:
        return NONE
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return (
        f"{value:.0f} {units[0]}"
        if units[0] == "B" or value >= 99.95
        else f"{value:#.3g} {units[0]}"
    )


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def warn_of_unread_words(words_seen: float) -> str:
    """Warn if the model reads too few words of the training texts; else empty."""
    if words_seen >= LEAST_WORDS_SEEN:
        return ""
    return (
        f"the model reads {words_seen:.0%} of the words in a sample of the training texts; use"
        " hashed words, which cover all (features.text = 'binary' with words = 'unicode'), or name"
        " the list of another language in features.list"
    )


def warn_of_wordless_texts(texts: int, of: int) -> str:
    """Warn if more than a twentieth of the texts have no word that the model reads; else empty."""
    if texts <= of / 20:
        return ""
    return f"{texts:,} of {of:,} texts ({texts / of:.0%}) have no word that the model reads"
